"""Routes in a cluster: the portal's own, and one rule of somebody else's that it keeps in step."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from apps.catalog.reconcile import reconcile_class
from apps.deployments import gateway_settings, handover, pools, services, surge
from apps.deployments.models import Deployment
from apps.deployments.reconcile import reconcile_deployment
from apps.inventory import connections
from apps.inventory.models import Cluster
from apps.quotas import services as quota_services
from apps.quotas.models import TenantNamespace
from apps.quotas.reconcile import reconcile_namespace
from domain.errors import IllegalTransition, InvalidValue
from kube import client, kinds
from kube.errors import AlreadyExists
from kube.kinds import Kind
from simulator.fleet.gatewayapi import installed
from tests.apps.conftest import make_cluster
from tests.apps.deployments.conftest import asked
from tests.apps.inventory.conftest import Told

pytestmark = pytest.mark.django_db
GATEWAY = {"namespace": "gateways", "name": "shared", "domain": "models.example.com"}
BETA = {"matches": [{"headers": [{"name": "x-beta", "value": "1"}]}], "backendRefs": []}
FILTER = {"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": []}}
PATHS = {"matches": [{"path": {"type": "PathPrefix", "value": "/llm"}}], "filters": [FILTER]}


@pytest.fixture
def cluster(simulated: Any, db: None) -> Cluster:
    made = make_cluster(kubeconfig=Path(simulated.kubeconfig).read_text())
    with connections.opened(made) as connection:
        for kind, body in installed("gateways", "shared"):
            body |= {"apiVersion": kind.version, "kind": kind.kind}
            try:
                connection.create(body)
            except AlreadyExists:
                continue
    Cluster.objects.filter(pk=made.pk).update(features={"routes": True, "inference-pools": True})
    made.refresh_from_db()
    return made


@pytest.fixture
def api(cluster: Cluster) -> Iterator[client.Cluster]:
    with connections.opened(cluster) as connection:
        yield connection


@pytest.fixture
def namespace(tenant: Any, cluster: Cluster, admin: Any) -> TenantNamespace:
    return quota_services.give_cluster(
        actor=admin, tenant=tenant, cluster=cluster, namespace=f"vision-{uuid4().hex[:8]}"
    )


@pytest.fixture
def llama(
    alice: Any, admin: Any, tenant: Any, ready: Any, namespace: Any, pattern: Any, monkeypatch: Any
) -> Deployment:
    """Two pools behind a gateway, applied."""
    monkeypatch.setattr(surge, "WAIT_MS", 0)
    image = "registry.example.com/epp:v1"
    gateway_settings.set_gateway(
        actor=admin, cluster=namespace.cluster, picker_image=image, **GATEWAY
    )
    reconcile_class(namespace.cluster.classes.get().pk)
    reconcile_namespace(namespace.pk)
    made = services.create_deployment(actor=alice, tenant=tenant, asked=asked())
    pools.add_pool(
        actor=None,
        deployment=made,
        name="new",
        path="dra",
        pattern_version=pattern,
        parameters={},
        replicas=1,
    )
    return applied(made)


def applied(deployment: Deployment) -> Deployment:
    reconcile_deployment(deployment.pk)
    return Deployment.objects.get(pk=deployment.pk)


def made_route(api: client.Cluster, llama: Deployment, told: Told) -> dict[str, Any]:
    """The tenant's own route, as the watch has told of it."""
    parent = {"name": "shared", "namespace": "gateways", "kind": "Gateway"}
    refs = [{"kind": "Service", "name": "llama", "port": 8000}]
    route = api.create(
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "HTTPRoute",
            "metadata": {"name": "theirs", "namespace": llama.namespace},
            "spec": {"parentRefs": [parent], "rules": [BETA, PATHS | {"backendRefs": refs}]},
        }
    )
    told.listed(httproutes=[route])
    return route


def rules(api: client.Cluster, llama: Deployment, name: str = "theirs") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.get(kinds.HTTP_ROUTES, llama.namespace, name)["spec"]["rules"]
    return found


def weights(rule: dict[str, Any]) -> dict[str, int]:
    return {ref["name"]: ref["weight"] for ref in rule["backendRefs"]}


def names(api: client.Cluster, llama: Deployment, kind: Kind) -> set[str]:
    found = api.list_all(kind, namespace=llama.namespace)
    return {str(one["metadata"]["name"]) for one in found}


def test_a_change_of_weights_reaches_the_route_and_nothing_else(
    llama: Deployment, api: client.Cluster
) -> None:
    assert llama.is_settled, llama.conditions
    assert weights(rules(api, llama, "llama")[0]) == {"llama-main": 100, "llama-new": 0}
    before = api.get(kinds.DEPLOYMENTS, llama.namespace, "llama-main")["metadata"]
    pools.set_weights(actor=None, deployment=llama, weights={"main": 95, "new": 5})
    changed = applied(llama)
    assert changed.is_settled
    assert weights(rules(api, llama, "llama")[0]) == {"llama-main": 95, "llama-new": 5}
    after = api.get(kinds.DEPLOYMENTS, llama.namespace, "llama-main")["metadata"]
    assert after["resourceVersion"] == before["resourceVersion"]


def test_a_pool_that_was_removed_leaves_nothing_behind(
    llama: Deployment, api: client.Cluster
) -> None:
    assert names(api, llama, kinds.INFERENCE_POOLS) == {"llama-main", "llama-new"}
    pools.remove_pool(actor=None, pool=llama.pools.get(name="new"))
    settled = applied(llama)
    assert settled.is_settled and settled.pools.count() == 1
    assert names(api, llama, kinds.INFERENCE_POOLS) == {"llama-main"}
    assert weights(rules(api, llama, "llama")[0]) == {"llama-main": 100}
    left = names(api, llama, kinds.DEPLOYMENTS) | names(api, llama, kinds.ROLE_BINDINGS)
    assert not {one for one in left if "llama-new" in one}


def test_without_a_gateway_routes_and_pickers_go(
    llama: Deployment, api: client.Cluster, admin: Any
) -> None:
    gateway_settings.set_gateway(actor=admin, cluster=llama.cluster, is_on=False)
    assert applied(llama).is_settled
    assert names(api, llama, kinds.HTTP_ROUTES) == set()
    assert names(api, llama, kinds.INFERENCE_POOLS) == set()
    assert names(api, llama, kinds.DEPLOYMENTS) == {"llama-main", "llama-new"}


def test_a_rule_handed_over_is_kept_in_step_and_the_rest_stays(
    llama: Deployment, api: client.Cluster, alice: Any
) -> None:
    told = Told(llama.cluster)
    made_route(api, llama, told)
    handover.hand_over(actor=alice, deployment=llama, route="theirs", rule=1)
    settled = applied(llama)
    assert settled.is_settled and settled.condition("Applied")["status"] == "True"  # type: ignore[index]
    first, second = rules(api, llama)
    assert first == BETA
    assert weights(second) == {"llama-main": 100, "llama-new": 0}
    assert second["filters"] == [FILTER]
    assert names(api, llama, kinds.HTTP_ROUTES) == {"theirs"}

    pools.set_weights(actor=None, deployment=settled, weights={"main": 60, "new": 40})
    applied(llama)
    assert weights(rules(api, llama)[1]) == {"llama-main": 60, "llama-new": 40}


def test_a_rule_that_became_another_is_told_and_left_alone(
    llama: Deployment, api: client.Cluster, alice: Any
) -> None:
    told = Told(llama.cluster)
    made_route(api, llama, told)
    handover.hand_over(actor=alice, deployment=llama, route="theirs", rule=1)
    changed = [{"op": "replace", "path": "/spec/rules/1/matches/0/path/value", "value": "/else"}]
    api.patch_json(kinds.HTTP_ROUTES, llama.namespace, "theirs", changed)
    seen = applied(llama).condition("Applied")
    assert seen and seen["reason"] == "RuleGone"
    assert rules(api, llama)[1]["backendRefs"][0]["name"] == "llama"
    handover.take_back(actor=alice, deployment=Deployment.objects.get(pk=llama.pk))
    assert applied(llama).condition("Applied")["status"] == "True"  # type: ignore[index]
    assert names(api, llama, kinds.HTTP_ROUTES) == {"theirs", "llama"}


def test_what_cannot_be_handed_over_is_named(llama: Deployment, alice: Any, api: Any) -> None:
    told = Told(llama.cluster)
    made_route(api, llama, told)
    for route, rule, field in (("nowhere", 0, "route"), ("theirs", 2, "rule")):
        with pytest.raises(InvalidValue) as refused:
            handover.hand_over(actor=alice, deployment=llama, route=route, rule=rule)
        assert refused.value.field == field
    with pytest.raises(IllegalTransition):
        handover.take_back(actor=alice, deployment=llama)
