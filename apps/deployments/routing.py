"""How the requests of a deployment are really shared, and what its gateway says of that."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from string import Template
from typing import Any

from django.utils import timezone

from apps.deployments.gateways import gateway_of, host_of, is_routed, parent_of
from apps.deployments.models import ClusterGateway, Deployment, ModelPool
from apps.deployments.rendering import standing
from apps.inventory import selectors as inventory
from apps.inventory.models import Cluster
from apps.telemetry import measure
from apps.telemetry.scopes import Scope
from domain import conditions, gateways, serving
from domain.figures import Figure, State
from domain.gateways import PoolSeen, RouteSeen
from domain.manifests import labels
from domain.manifests.routing import picker_value, pool_name
from domain.manifests.routing_patch import RuleGone, rule_index, weights_in

__all__ = ["is_routed", "measured_share", "observe", "routed_condition"]

Raw = Mapping[str, Any]
BY_GATEWAY = "Counted by the gateway"
BY_SERVERS = (
    "Counted by the model servers: requests that were finished; what was refused before a server "
    "had it is not in here"
)


def routed_condition(deployment: Deployment) -> dict[str, Any] | None:
    """The condition Routed as last seen; None where no gateway carries the deployment."""
    found: dict[str, Any] | None = deployment.routing.get("condition")
    return found


# --- Measured shares
def measured_share(deployment: Deployment, start: datetime, end: datetime) -> dict[str, Figure]:
    """The share (0 to 1) of requests that each pool got between two moments, by pool name.

    `known` of `total` requests were the pool's. A share needs the counts of all pools: while one
    of them is not known, no pool has a share. The detail says who counted.
    """
    pools = standing(deployment)
    gateway = gateway_of(deployment.cluster)
    if gateway is not None and gateway.counter:
        counts = {pool.name: _by_gateway(gateway, pool, start, end) for pool in pools}
        return _shares(counts, BY_GATEWAY)
    counts = {pool.name: _by_servers(deployment, pool, start, end) for pool in pools}
    return _shares(counts, BY_SERVERS)


def _by_gateway(gateway: ClusterGateway, pool: ModelPool, start: datetime, end: datetime) -> Figure:
    query = Template(gateway.counter).safe_substitute(
        namespace=pool.deployment.namespace,
        inference_pool=pool_name(pool.deployment.name, pool.name),
        window=f"{max(int((end - start).total_seconds()), 1)}s",
    )
    return measure.promql(gateway.cluster, query, end)


def _by_servers(deployment: Deployment, pool: ModelPool, start: datetime, end: datetime) -> Figure:
    if pool.replicas == 0 and not pool.pods:
        return Figure(0.0, State.LIVE, "The pool has no server.", at=end)
    return measure.requests(deployment.cluster, Scope.of_pool(pool), start, end)


def _shares(counts: Mapping[str, Figure], who: str) -> dict[str, Figure]:
    for name, count in counts.items():
        if not count.usable:
            text = (
                f"The requests of {name} are not known: {count.detail or count.state.words}. {who}."
            )
            blank = Figure(None, count.state, text, at=count.at, query=count.query)
            return dict.fromkeys(counts, blank)
    total = sum(count.value or 0.0 for count in counts.values())
    if total < 0.5:
        return {
            name: Figure(None, State.NO_TRAFFIC, f"{who}.", count.at, "", count.query, 0, 0)
            for name, count in counts.items()
        }
    return {
        name: Figure(
            (count.value or 0.0) / total,
            State.LIVE,
            f"{who}.",
            at=count.at,
            query=count.query,
            known=round(count.value or 0.0),
            total=round(total),
        )
        for name, count in counts.items()
    }


# --- What the gateway says, from what the watch mirrored
def observe(cluster: Cluster, deployments: Iterable[Deployment]) -> int:
    """Note what route, pools and pickers say of these deployments; returns how many changed."""
    gateway = gateway_of(cluster)
    theirs = list(deployments)
    if gateway is None:
        stale = [one.pk for one in theirs if one.routing]
        return Deployment.objects.filter(pk__in=stale).update(routing={}) if stale else 0
    spaces = {one.namespace for one in theirs}
    kinds = ("httproutes", "inferencepools", "pods")
    held: dict[tuple[str, str, str], Raw] = {}
    pickers: dict[tuple[str, str], list[Raw]] = {}
    for kind, body in inventory.bodies_in(cluster, spaces, kinds):
        meta = body["metadata"]
        if kind == "pods":
            value = (meta.get("labels") or {}).get(labels.PICKER)
            if value:
                pickers.setdefault((meta["namespace"], value), []).append(body)
        else:
            held[(kind, meta["namespace"], meta["name"])] = body
    own = {
        body["metadata"]["name"]: body
        for _, body in inventory.bodies_in(cluster, {gateway.namespace}, ("gateways",))
    }
    return sum(_note(one, gateway, own.get(gateway.name), held, pickers) for one in theirs)


def _note(
    deployment: Deployment,
    gateway: ClusterGateway,
    own: Raw | None,
    held: Mapping[tuple[str, str, str], Raw],
    pickers: Mapping[tuple[str, str], list[Raw]],
) -> int:
    name = deployment.handed_over.get("route") or deployment.name
    route = held.get(("httproutes", deployment.namespace, name))
    rule, problem = _rule(deployment, route)
    pools = [_pool(deployment, pool, held, pickers) for pool in standing(deployment)]
    parent = parent_of(gateway)
    condition = gateways.routed(parent, RouteSeen(own, route, rule, problem), pools)
    before = deployment.routing.get("condition")
    [merged] = conditions.merge(
        [before] if before else [], [condition], now=timezone.now().isoformat()
    )
    controller = gateways.told(route, parent).controller if route else ""
    failure = gateways.on_failure(gateway.failure_mode, controller)
    seen = {
        "condition": merged,
        "host": host_of(deployment, gateway),
        "gateway": f"{gateway.namespace}/{gateway.name}",
        "controller": controller,
        "addresses": gateways.addresses(own) if own else [],
        "port": gateways.listener_port(own, gateway.section) if own else None,
        "route": name,
        "generation": int(route["metadata"].get("generation") or 0) if route else 0,
        "failure": {"wished": gateway.failure_mode, "refuses": failure.refuses}
        | {"text": failure.text},
        "pools": {one.name: _told(one, rule, parent) for one in pools},
    }
    seen["since"] = since_of(deployment.routing, seen)
    if seen == deployment.routing:
        return 0
    Deployment.objects.filter(pk=deployment.pk).update(routing=seen, updated_at=timezone.now())
    deployment.routing = seen
    return 1


def since_of(before: Mapping[str, Any], seen: Mapping[str, Any]) -> str:
    """Since when the route has had these weights; what was measured before is not theirs."""
    had, has = (
        {name: one["share"] for name, one in told.get("pools", {}).items()}
        for told in (before, seen)
    )
    if had == has and "since" in before:
        kept: str = before["since"]
        return kept
    return timezone.now().isoformat()


def _rule(deployment: Deployment, route: Raw | None) -> tuple[Raw | None, str]:
    if route is None:
        return None, ""
    rules = (route.get("spec") or {}).get("rules") or ()
    if not deployment.handed_over:
        return (rules[0], "") if rules else (None, "Somebody took the rules out of the route.")
    try:
        return rules[rule_index(route, deployment.handed_over)], ""
    except RuleGone as error:
        return None, str(error)


def _pool(
    deployment: Deployment,
    pool: ModelPool,
    held: Mapping[tuple[str, str, str], Raw],
    pickers: Mapping[tuple[str, str], list[Raw]],
) -> PoolSeen:
    name = pool_name(deployment.name, pool.name)
    found = held.get(("inferencepools", deployment.namespace, name))
    pods = pickers.get((deployment.namespace, picker_value(deployment.name, pool.name)), [])
    ready = any(serving.is_ready(pod) for pod in pods)
    problem = "" if ready else next((serving.pod_state(pod)[1] for pod in pods), "It has no pod.")
    return PoolSeen(pool.name, pool.weight, found, ready, problem)


def _told(pool: PoolSeen, rule: Raw | None, parent: gateways.Parent) -> dict[str, Any]:
    said = gateways.told(pool.inference_pool, parent) if pool.inference_pool else None
    name = pool.inference_pool["metadata"]["name"] if pool.inference_pool else ""
    return {
        "taken": said.is_taken if said else False,
        "problem": said.problem if said else "The InferencePool is missing.",
        "picker_ready": pool.picker_ready,
        "picker_problem": pool.picker_problem,
        "share": weights_in(rule).get(name) if rule else None,
    }
