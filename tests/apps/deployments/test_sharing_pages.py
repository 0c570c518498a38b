"""Pools side by side on page and API: the wish, what is measured, and who may change it."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.deployments import gateway_settings, pools, routing, services, sharing
from apps.deployments.models import ClusterGateway, Deployment
from apps.deployments.routing import measured_share
from apps.inventory.models import Cluster
from domain.errors import InvalidValue
from domain.figures import Figure, State
from tests.apps.deployments.conftest import asked

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ready")]
URL = "/t/vision/deployments/llama/"
API = "/api/v1/tenants/vision/deployments/llama/"
GATEWAY = {
    "namespace": "infra",
    "name": "shared",
    "domain": "models.example.com",
    "picker_image": "registry.example.com/epp:v1",
}


@pytest.fixture
def llama(alice: Any, tenant: Any, pattern: Any) -> Deployment:
    made = services.create_deployment(actor=alice, tenant=tenant, asked=asked())
    pools.add_pool(
        actor=alice,
        deployment=made,
        name="new",
        path="dra",
        pattern_version=pattern,
        parameters={},
        replicas=1,
    )
    return Deployment.objects.get(pk=made.pk)


@pytest.fixture
def served(llama: Deployment) -> Cluster:
    """A cluster that serves what a gateway needs."""
    Cluster.objects.filter(pk=llama.cluster_id).update(
        features={"routes": True, "inference-pools": True}
    )
    return Cluster.objects.get(pk=llama.cluster_id)


def test_without_a_gateway_the_part_says_who_shares(llama: Deployment, client: Client) -> None:
    client.force_login(llama.tenant.members.get(user__username="alice").user)
    page = client.get(URL + "sharing/").content.decode()
    assert "knows no weights" in page
    assert "100 %" in page and "0 %" in page
    whole = client.get(URL).content.decode()
    assert "Weight of main, %" in whole and "Weight of new, %" in whole


def test_an_editor_shares_anew_and_a_viewer_cannot(
    llama: Deployment, alice: Any, bob: Any, client: Client
) -> None:
    client.force_login(bob)
    given = {"weight-main": "60", "weight-new": "40"}
    assert client.post(URL + "weights/", given).status_code in (403, 404)
    client.force_login(alice)
    client.post(URL + "weights/", {"weight-main": "60", "weight-new": "41"})
    assert dict(llama.pools.values_list("name", "weight")) == {"main": 100, "new": 0}
    client.post(URL + "weights/", given)
    assert dict(llama.pools.values_list("name", "weight")) == {"main": 60, "new": 40}


def test_a_stale_page_shares_nothing(llama: Deployment, alice: Any, client: Client) -> None:
    client.force_login(alice)
    given = {"weight-main": "60", "weight-new": "40", "generation": str(llama.generation - 1)}
    answer = client.post(URL + "weights/", given, follow=True)
    assert "has been changed since" in answer.content.decode()
    assert llama.pools.get(name="main").weight == 100


def test_a_pool_with_weight_is_not_removed_from_the_page(
    llama: Deployment, alice: Any, client: Client
) -> None:
    client.force_login(alice)
    client.post(URL + "pools/main/remove/")
    assert llama.pools.get(name="main").retiring_at is None
    client.post(URL + "pools/new/remove/")
    assert llama.pools.get(name="new").retiring_at is not None


def test_the_api_does_what_the_page_does(llama: Deployment, alice: Any, client: Client) -> None:
    client.force_login(alice)
    kind = "application/json"
    answer = client.post(API + "weights/", {"weights": {"main": 95, "new": 5}}, kind)
    assert answer.status_code == 200, answer.content
    assert {one["name"]: one["weight"] for one in answer.json()["pools"]} == {"main": 95, "new": 5}
    told = client.get(API + "sharing/").json()
    assert "knows no weights" in told["note"]
    assert [one["weight"] for one in told["pools"]] == [95, 5]
    assert client.delete(API + "pools/new/").status_code in (400, 409, 422)
    added = {"pattern": "h100-cards", "name": "third", "replicas": 1}
    assert client.post(API + "pools/", added, kind).status_code == 201


def test_a_share_without_figures_is_no_share(llama: Deployment) -> None:
    now = timezone.now()
    shares = measured_share(llama, now, now)
    assert {one.value for one in shares.values()} == {None}
    assert all(one.state is not State.LIVE for one in shares.values())
    assert [one.follows for one in sharing.sharing(llama)] == [None, None]


def test_a_gateway_is_followed_by_every_deployment(
    llama: Deployment, served: Cluster, admin: Any
) -> None:
    before = llama.generation
    gateway_settings.set_gateway(actor=admin, cluster=served, **GATEWAY)
    llama.refresh_from_db()
    assert llama.generation == before + 1
    gateway_settings.set_gateway(actor=admin, cluster=served, **GATEWAY)
    llama.refresh_from_db()
    assert llama.generation == before + 1
    with pytest.raises(InvalidValue):
        gateway_settings.set_gateway(actor=admin, cluster=served, picker_image="Not An Image")


def test_only_the_platform_team_sets_a_gateway(
    llama: Deployment, served: Cluster, alice: Any, admin: Any, client: Client
) -> None:
    url = f"/clusters/{served.slug}/gateway/"
    client.force_login(alice)
    assert client.get(url).status_code in (403, 404)
    client.force_login(admin)
    assert "PromQL that counts" in client.get(url).content.decode()
    wanted = GATEWAY | {"is_on": "on", "failure_mode": "FailClose"}
    assert client.post(url, wanted | {"domain": "Not A Domain"}).status_code == 422
    assert not ClusterGateway.objects.exists()
    assert client.post(url, wanted).status_code == 302
    assert ClusterGateway.objects.get().domain == "models.example.com"
    told = client.get(f"/api/v1/clusters/{served.slug}/gateway/").json()
    assert told["picker_image"] == "registry.example.com/epp:v1"


def _since(pods: Deployment, seconds: float) -> Deployment:
    changed = timezone.now() - timedelta(seconds=seconds)
    Deployment.objects.filter(pk=pods.pk).update(routing={"since": changed.isoformat()})
    return Deployment.objects.get(pk=pods.pk)


@pytest.mark.parametrize(
    ("seconds", "window", "follows"),
    [(20, 20, None), (44, 44, None), (60, 60, False), (900, 300, False)],
)
def test_a_share_is_measured_since_the_weights_are_what_they_are(
    llama: Deployment,
    monkeypatch: pytest.MonkeyPatch,
    seconds: int,
    window: int,
    follows: bool | None,
) -> None:
    """Requests of the weights before are no evidence against those of now."""
    asked_for: list[timedelta] = []

    def counted(deployment: Deployment, start: datetime, end: datetime) -> dict[str, Figure]:
        asked_for.append(end - start)
        half = Figure(0.5, State.LIVE, known=500, total=1000)
        return dict.fromkeys(("main", "new"), half)

    monkeypatch.setattr(sharing, "measured_share", counted)
    found = sharing.sharing(_since(llama, seconds))
    assert asked_for[0].total_seconds() == pytest.approx(window, abs=2)
    assert [one.follows for one in found] == [follows, follows]


def test_what_the_route_has_changed_begins_the_time_anew() -> None:
    def told(share: float, **more: str) -> dict[str, Any]:
        return {"pools": {"main": {"share": share}}, **more}

    old = "2026-01-01T00:00:00+00:00"
    assert routing.since_of(told(0.9, since=old), told(0.9)) == old
    assert routing.since_of(told(0.9, since=old), told(0.5)) > old
    assert routing.since_of({}, told(0.9)) > old
