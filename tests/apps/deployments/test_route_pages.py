"""Handing over one rule of a tenant's own HTTPRoute, on page and API, by role."""

import json
from typing import Any

import pytest
from django.test import Client

from apps.audit.models import Entry
from apps.deployments import gateway_settings, handover, services
from apps.deployments.models import Deployment
from apps.inventory.models import Cluster
from apps.tenancy.models import User
from domain.errors import InvalidValue
from tests.apps.deployments.conftest import asked
from tests.apps.inventory.conftest import Told

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ready")]
URL = "/t/vision/deployments/llama/route/"
API = "/api/v1/tenants/vision/deployments/llama/route/"
GATEWAY = {
    "namespace": "infra",
    "name": "shared",
    "domain": "models.example.com",
    "picker_image": "registry.example.com/epp:v1",
}
MIRROR = {"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "shadow"}}}
HEADER = {"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": []}}
BACKEND = {"kind": "Service", "name": "old", "port": 8000, "weight": 7}
RULES: list[dict[str, Any]] = [
    {
        "matches": [{"path": {"type": "PathPrefix", "value": "/llm"}, "method": "POST"}],
        "filters": [HEADER],
        "backendRefs": [BACKEND],
    },
    {"matches": [{"headers": [{"name": "x-beta", "value": "1"}]}], "filters": [MIRROR]},
    {"backendRefs": [BACKEND | {"filters": [MIRROR]}]},
]


@pytest.fixture
def llama(alice: User, admin: User, tenant: Any, pattern: Any) -> Deployment:
    """Behind a gateway, beside a route of the tenant's and one of another Gateway."""
    made = services.create_deployment(actor=alice, tenant=tenant, asked=asked())
    Cluster.objects.filter(pk=made.cluster_id).update(
        features={"routes": True, "inference-pools": True}
    )
    cluster = Cluster.objects.get(pk=made.cluster_id)
    gateway_settings.set_gateway(actor=admin, cluster=cluster, **GATEWAY)
    Told(cluster).listed(
        httproutes=[
            _route(made, "theirs", "shared", RULES),
            _route(made, "elsewhere", "another", RULES),
        ]
    )
    return Deployment.objects.get(pk=made.pk)


def _route(
    deployment: Deployment, name: str, gateway: str, rules: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {
            "name": name,
            "namespace": deployment.namespace,
            "uid": name,
            "resourceVersion": "7",
            "generation": 1,
        },
        "spec": {
            "parentRefs": [{"name": gateway, "namespace": "infra", "kind": "Gateway"}],
            "rules": rules,
        },
    }


def put(client: Client, body: dict[str, Any], **headers: str) -> Any:
    return client.put(API, json.dumps(body), content_type="application/json", headers=headers)


def test_rules_are_told_in_words_with_what_is_in_their_way(llama: Deployment) -> None:
    first, second, third = handover.rules_of(llama)
    assert (first.route, first.index, first.why_not) == ("theirs", 0, "")
    assert (first.matches, first.filters) == (
        "PathPrefix /llm and POST",
        ("RequestHeaderModifier",),
    )
    assert first.sends_to == "Service old (7)"
    assert second.matches == "PathPrefix / and header x-beta = 1"
    assert third.matches == "PathPrefix /"
    assert "mirrors" in second.why_not and "mirrors" in third.why_not


def test_an_editor_hands_over_and_takes_back_on_the_page(
    llama: Deployment, alice: User, client: Client
) -> None:
    client.force_login(alice)
    page = client.get(URL).content.decode()
    assert "Rules of your routes" in page and "elsewhere" not in page
    given = {"route": "theirs", "rule": "0", "generation": str(llama.generation)}
    assert client.post(URL + "hand-over/", given).status_code == 302
    held = Deployment.objects.get(pk=llama.pk)
    assert (held.handed_over["route"], held.handed_over["index"]) == ("theirs", 0)
    assert held.generation == llama.generation + 1
    assert "was handed over" in client.get(URL).content.decode()
    again = client.post(URL + "hand-over/", given, follow=True)
    assert "has been changed since" in again.content.decode()
    client.post(URL + "take-back/")
    assert Deployment.objects.get(pk=llama.pk).handed_over == {}
    verbs = list(Entry.objects.order_by("pk").values_list("verb", flat=True))[-2:]
    assert verbs == ["handed over a route of", "took back a route of"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"route": "theirs", "rule": "1"}, "mirrors"),
        ({"route": "theirs", "rule": "9"}, "has rules 0 to 2"),
        ({"route": "elsewhere", "rule": "0"}, "There is no HTTPRoute"),
        ({"route": "theirs", "rule": "first"}, "Choose a rule"),
        ({}, "Choose a rule"),
    ],
)
def test_what_cannot_be_handed_over_is_refused_with_the_reason(
    given: dict[str, str], text: str, llama: Deployment, alice: User, client: Client
) -> None:
    client.force_login(alice)
    assert text in client.post(URL + "hand-over/", given, follow=True).content.decode()
    assert Deployment.objects.get(pk=llama.pk).handed_over == {}


def test_one_rule_is_for_one_deployment(llama: Deployment, alice: User, tenant: Any) -> None:
    handover.hand_over(actor=alice, deployment=llama, route="theirs", rule=0)
    other = services.create_deployment(actor=alice, tenant=tenant, asked=asked(name="second"))
    assert handover.rules_of(other)[0].why_not == "It is handed over for llama."
    with pytest.raises(InvalidValue, match="handed over for llama"):
        handover.hand_over(actor=alice, deployment=other, route="theirs", rule=0)


def test_the_api_does_the_same(llama: Deployment, alice: User, client: Client) -> None:
    client.force_login(alice)
    told = client.get(API).json()
    assert (told["route"], told["rule"], told["is_own"]) == ("llama", None, True)
    assert [one["why_not"] == "" for one in told["rules"]] == [True, False, False]
    refused = put(client, {"route": "theirs", "rule": 2})
    assert refused.status_code == 400 and "mirrors" in refused.content.decode()
    assert put(client, {"route": "theirs"}).status_code == 400
    stale = put(client, {"route": "theirs", "rule": 0}, **{"If-Match": '"g0.x"'})
    assert stale.status_code == 412
    assert put(client, {"route": "theirs", "rule": 0}).status_code == 200
    told = client.get(API).json()
    assert (told["route"], told["rule"], told["is_own"]) == ("theirs", 0, False)
    assert client.delete(API).status_code == 200
    assert client.delete(API).status_code == 409
    assert client.get(API).json()["is_own"]


@pytest.mark.parametrize(
    ("who", "seen", "acted"),
    [("", 302, 302), ("mallory", 404, 404), ("bob", 200, 403), ("auditor", 200, 403)],
)
def test_by_role(
    who: str,
    seen: int,
    acted: int,
    llama: Deployment,
    bob: User,
    mallory: User,
    auditor: User,
    client: Client,
) -> None:
    if who:
        client.force_login(User.objects.get(username=who))
    given = {"route": "theirs", "rule": "0"}
    assert client.get(URL).status_code == seen
    assert client.get(API).status_code == (seen if who else 401)
    for path in ("hand-over/", "take-back/"):
        assert client.post(URL + path, given).status_code == acted
    assert put(client, {"route": "theirs", "rule": 0}).status_code == (acted if who else 401)
    assert client.delete(API).status_code == (acted if who else 401)
    assert Deployment.objects.get(pk=llama.pk).handed_over == {}
