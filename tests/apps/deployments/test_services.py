"""What a tenant asks for is recorded and charged as one, or not at all."""

import threading
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from apps.audit.models import Entry
from apps.catalog import services as catalog
from apps.catalog.models import PatternVersion
from apps.deployments import services
from apps.deployments.models import Deployment, ModelPool
from apps.deployments.rendering import standing
from apps.quotas import selectors as quotas
from apps.quotas.models import Charge
from domain.errors import IllegalTransition, InvalidValue, QuotaExceeded
from tests.apps.deployments.conftest import asked, pools

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ready")]


def created(alice: Any, tenant: Any, **changes: Any) -> Deployment:
    return services.create_deployment(actor=alice, tenant=tenant, asked=asked(**changes))


def test_create_charges_the_quota_audits_and_sends_on_commit(
    alice: Any, tenant: Any, sent: Any, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        made = created(alice, tenant, pools=pools(2, count=2))
        assert "reconcile_deployment" not in sent

    assert ("reconcile_deployment", (made.pk,)) in sent.messages
    assert quotas.used_by(tenant, made.cluster) == {"h100": 4}
    assert str(Entry.objects.first()) == "alice created deployments.deployment llama"
    assert not made.is_settled


def test_over_quota_is_refused_with_numbers_and_leaves_no_trace(alice: Any, tenant: Any) -> None:
    entries = Entry.objects.count()
    with pytest.raises(QuotaExceeded, match="h100: asked for 6, 4 of 4 left"):
        created(alice, tenant, pools=pools(3, count=2))
    assert not Deployment.objects.exists()
    assert not Charge.objects.exists()
    assert Entry.objects.count() == entries


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"cluster": "elsewhere"}, "cluster"),
        ({"pools": [{"pattern": "unknown"}]}, "pools[0].pattern"),
        ({"pools": [{"pattern": "h100-cards", "version": 9}]}, "pools[0].pattern"),
        ({"pools": pools(1, count=9)}, "pools[0].params.count"),
        ({"pools": pools(1, selector="true")}, "pools[0].params.selector"),
        ({"image": "Not An Image"}, "image"),
        ({"model": "--trust-remote-code"}, "model"),
        ({"args": ["one\ntwo"]}, "args[0]"),
        ({"env": [{"name": "A", "value": "1", "secret": "s", "key": "k"}]}, "env[0]"),
        ({"memory": "lots"}, "memory"),
    ],
)
def test_what_cannot_be_used_is_named(
    alice: Any, tenant: Any, changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidValue) as refused:
        created(alice, tenant, **changes)
    assert refused.value.field == field


@pytest.mark.parametrize("name", ["", "9lives", "UPPER", "a" * 41, "a-", "x;rm -rf", "ü"])
def test_a_name_that_no_service_can_have_is_refused(alice: Any, tenant: Any, name: str) -> None:
    with pytest.raises(ValidationError):
        created(alice, tenant, name=name)


def test_a_name_is_used_once_and_free_again_after_retirement(alice: Any, tenant: Any) -> None:
    first = created(alice, tenant)
    with pytest.raises(ValidationError):
        created(alice, tenant)
    Deployment.objects.filter(pk=first.pk).update(retired_at=first.created_at)
    assert created(alice, tenant).pk != first.pk


def test_scaling_down_frees_and_up_must_fit(alice: Any, tenant: Any) -> None:
    made = created(alice, tenant, pools=pools(4))
    pool = made.pools.get()
    services.scale_pool(actor=alice, pool=pool, replicas=1)
    assert quotas.used_by(tenant, made.cluster) == {"h100": 1}
    with pytest.raises(QuotaExceeded):
        services.scale_pool(actor=alice, pool=pool, replicas=5)
    pool.refresh_from_db()
    made.refresh_from_db()
    assert (pool.replicas, made.generation) == (1, 2)


def test_a_limit_below_use_takes_nothing_away(alice: Any, admin: Any, tenant: Any) -> None:
    from apps.quotas import services as quota_services

    made = created(alice, tenant, pools=pools(3))
    quota_services.set_quotas(actor=admin, tenant=tenant, cluster=made.cluster, limits={"h100": 1})
    pool = services.scale_pool(actor=alice, pool=made.pools.get(), replicas=2)
    assert pool.replicas == 2
    with pytest.raises(QuotaExceeded):
        services.scale_pool(actor=alice, pool=pool, replicas=3)


def test_a_change_is_refused_when_somebody_was_faster(alice: Any, tenant: Any) -> None:
    made = created(alice, tenant)
    services.restart_deployment(actor=alice, deployment=made, generation=1)
    with pytest.raises(services.Outdated):
        services.restart_deployment(actor=alice, deployment=made, generation=1)


def test_update_replaces_pools_and_keeps_the_charge_right(alice: Any, tenant: Any) -> None:
    made = created(alice, tenant, pools=pools(1))
    two = [*pools(1, count=2), {"name": "plugin", "path": "device-plugin", **pools(1)[0]}]
    services.update_deployment(actor=alice, deployment=made, asked=asked(pools=two))
    assert quotas.used_by(tenant, made.cluster) == {"h100": 3}
    services.update_deployment(actor=alice, deployment=made, asked=asked(pools=pools(1)))
    # What the removed pool has is charged until nothing of it is left in the cluster.
    assert quotas.used_by(tenant, made.cluster) == {"h100": 2}
    assert [pool.name for pool in standing(made)] == ["main"]


def test_a_pool_keeps_a_withdrawn_version_but_no_new_one_may_use_it(
    alice: Any, admin: Any, tenant: Any, pattern: PatternVersion
) -> None:
    made = created(alice, tenant)
    catalog.withdraw(actor=admin, version=pattern, text="replaced")
    kept = [{"pattern": "h100-cards", "version": 1, "params": {"count": 2}}]
    services.update_deployment(actor=alice, deployment=made, asked=asked(pools=kept))
    with pytest.raises(InvalidValue, match="no approved pattern"):
        created(alice, tenant, name="second")


def test_a_pattern_for_others_is_as_if_it_were_not(
    alice: Any, admin: Any, tenant: Any, mallory: Any, pattern: PatternVersion
) -> None:
    other = mallory.memberships.get().tenant
    catalog.set_pattern_tenants(actor=admin, pattern=pattern.pattern, tenants=[other])
    with pytest.raises(InvalidValue, match="no approved pattern"):
        created(alice, tenant)


def test_a_retiring_deployment_takes_no_more_changes(alice: Any, tenant: Any) -> None:
    made = created(alice, tenant)
    services.retire_deployment(actor=alice, deployment=made)
    assert quotas.used_by(tenant, made.cluster) == {"h100": 1}  # until nothing is left
    with pytest.raises(IllegalTransition):
        services.scale_pool(actor=alice, pool=made.pools.get(), replicas=2)


@pytest.mark.django_db(transaction=True)
def test_the_last_device_goes_to_one_of_two_who_race_for_it(alice: Any, tenant: Any) -> None:
    created(alice, tenant, name="first", pools=pools(3))
    gate = threading.Barrier(2)
    outcomes: list[str] = []

    def race(name: str) -> None:
        try:
            gate.wait(timeout=10)
            created(alice, tenant, name=name)
            outcomes.append("won")
        except QuotaExceeded:
            outcomes.append("refused")
        finally:
            connection.close()

    threads = [threading.Thread(target=race, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    assert sorted(outcomes) == ["refused", "won"]
    assert ModelPool.objects.count() == 2
    assert sum(Charge.objects.values_list("amount", flat=True)) == 4
