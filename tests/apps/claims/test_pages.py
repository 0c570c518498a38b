"""Claims as their owners and the platform see them, and devices in use over time."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.claims.models import Claim, Use
from apps.claims.selectors import in_use_over_time
from apps.claims.tasks import sweep_uses
from apps.inventory.models import Cluster
from apps.tenancy.models import Tenant, User
from tests.apps.inventory.conftest import Told

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def use(row: Cluster, start: int, end: int | None, **changes: object) -> Use:
    """Minutes relative to noon."""
    values: dict[str, object] = {
        "cluster": row,
        "kind": "claim",
        "uid": f"u{start}{changes}",
        "namespace": "n",
        "name": "c",
        "device": "gpu-0",
        "device_class": "gpu",
        "tenant": "alpha",
        "created_at": NOON,
        "allocated_at": NOON + timedelta(minutes=start),
        "ended_at": None if end is None else NOON + timedelta(minutes=end),
    }
    return Use.objects.create(**values | changes)


def chart(user: User, by: str = "class") -> dict[str, list[int]]:
    found = in_use_over_time(
        user, by=by, start=NOON, end=NOON + timedelta(minutes=5), step_seconds=60
    )
    return {name: [amount for _, amount in points] for name, points in found.items()}


def test_devices_in_use_are_counted_at_each_step(admin: User, cluster: Cluster) -> None:
    use(cluster, -10, 2)
    use(cluster, 1, None, amount=3)
    use(cluster, -30, -20)  # over before
    use(cluster, 9, None)  # not yet
    assert chart(admin) == {"gpu": [1, 4, 3, 3, 3, 3]}


def test_the_chart_groups_by_tenant_and_names_those_without(
    admin: User,
    cluster: Cluster,
) -> None:
    use(cluster, -1, None)
    use(cluster, -1, None, tenant="")
    assert chart(admin, "tenant") == {"alpha": [1] * 6, "no tenant": [1] * 6}


def test_many_small_series_become_one(admin: User, cluster: Cluster) -> None:
    for number in range(12):
        use(cluster, -1, None, tenant=f"t{number:02}", amount=12 - number)
    found = chart(admin, "tenant")
    assert len(found) == 9 and found[""] == [4 + 3 + 2 + 1] * 6


def test_a_tenants_chart_shows_its_own_devices_only(
    alice: User,
    tenant: Tenant,
    cluster: Cluster,
) -> None:
    use(cluster, -1, None)
    use(cluster, -1, None, tenant=tenant.slug)
    assert chart(alice, "tenant") == {tenant.slug: [1] * 6}


def test_claims_of_others_are_not_found(
    client: Client,
    alice: User,
    fleet_told: Told,
) -> None:
    client.force_login(alice)
    claim = Claim.objects.first()
    assert claim is not None
    assert "team-a" not in client.get("/claims/").text
    assert client.get(f"/claims/{claim.pk}/").status_code == 404
    assert client.get(f"/claims/of/lab/{claim.uid}/").status_code == 404


def test_a_claims_own_tenant_sees_it(
    client: Client,
    alice: User,
    fleet_told: Told,
) -> None:
    Claim.objects.update(tenant="vision")
    client.force_login(alice)
    claim = Claim.objects.get(name="one")
    text = client.get(f"/claims/of/lab/{claim.uid}/", follow=True).text
    assert "gpu-0" in text and "gpu.nvidia.com" in text and "server" in text


def test_a_claim_that_nobody_uses_is_named_as_a_leak(
    client: Client,
    admin: User,
    fleet_told: Told,
) -> None:
    old = timezone.now() - timedelta(hours=1)
    Claim.objects.filter(name="one").update(state="allocated", idle_since=old)
    client.force_login(admin)
    assert "no pod has used it" in client.get(f"/claims/{Claim.objects.get(name='one').pk}/").text
    assert "one" in client.get("/claims/?idle=true").text


def test_uses_end_with_their_clusters_retirement(cluster: Cluster) -> None:
    use(cluster, 0, None)
    Cluster.objects.update(retired_at=NOON + timedelta(hours=1))
    sweep_uses()
    assert Use.objects.get().ended_at == NOON + timedelta(hours=1)


def test_rows_and_filter_of_the_list_say_the_same_of_a_claim(
    client: Client, admin: User, cluster: Cluster
) -> None:
    for state in Claim.State:
        Claim.objects.create(
            cluster=cluster, uid=state.value, namespace="n", name=f"c-{state.value}", state=state
        )
    client.force_login(admin)
    page = client.get("/claims/").text.lower()
    for state in Claim.State:
        assert page.count(str(state.label).lower()) >= 2, state


def test_the_overview_leads_from_the_claim_that_waits_longest_to_its_reason(
    client: Client, admin: User, cluster: Cluster
) -> None:
    made = [
        Claim.objects.create(
            cluster=cluster,
            uid=f"c{minutes}",
            namespace="n",
            name=f"waits-{minutes}",
            state=Claim.State.PENDING,
            device_class="gpu",
            devices=2,
            created_at=NOON - timedelta(minutes=minutes),
        )
        for minutes in (1, 9)
    ]
    client.force_login(admin)
    part = client.get("/parts/claims/").text
    assert part.index("waits-9") < part.index("waits-1")
    assert f"/claims/{made[1].pk}/why/" in part
