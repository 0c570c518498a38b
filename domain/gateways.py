"""What a gateway says of a route and its pools, and what it really does when a picker is away.

Only conditions of the parent that is ours count, and only at the current generation: an older one
tells of what was asked before. A gateway that says nothing is waited for, never assumed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from domain.conditions import Condition
from domain.manifests.routing import GATEWAY_GROUP
from domain.manifests.routing_patch import weights_in

Raw = Mapping[str, Any]
#: Shares of a live route that differ from the wish by less are the same (weights are integers).
SAME_SHARE = 0.005


@dataclass(frozen=True, slots=True)
class Parent:
    """The Gateway that a deployment hangs on."""

    namespace: str
    name: str
    section: str = ""

    def is_meant(self, ref: Raw, default_namespace: str) -> bool:
        """A reference without a section is to all listeners; those of InferencePools have none."""
        return (
            ref.get("kind", "Gateway") == "Gateway"
            and ref.get("group", GATEWAY_GROUP) == GATEWAY_GROUP
            and ref.get("name") == self.name
            and ref.get("namespace", default_namespace) == self.namespace
            and (not self.section or ref.get("sectionName", self.section) == self.section)
        )


@dataclass(frozen=True, slots=True)
class Told:
    """What our parent tells of one object. `problem` "" means that it took it as it is now."""

    is_current: bool
    problem: str
    reason: str
    controller: str = ""

    @property
    def is_taken(self) -> bool:
        return self.is_current and not self.problem


_SILENT = Told(False, "", "Pending")


def told(found: Raw, parent: Parent) -> Told:
    """Of an HTTPRoute or InferencePool: both have status.parents with conditions."""
    generation = int(found["metadata"].get("generation") or 0)
    namespace = str(found["metadata"].get("namespace") or "")
    for one in (found.get("status") or {}).get("parents") or ():
        if not parent.is_meant(one.get("parentRef") or {}, namespace):
            continue
        controller = str(one.get("controllerName") or "")
        conditions = {each.get("type"): each for each in one.get("conditions") or ()}
        return _of_conditions(conditions, generation, controller)
    return _SILENT


def _of_conditions(conditions: Mapping[Any, Raw], generation: int, controller: str) -> Told:
    """Both Accepted and ResolvedRefs must be there for this generation."""
    for kind in ("Accepted", "ResolvedRefs"):
        one = conditions.get(kind)
        if one is None or int(one.get("observedGeneration") or 0) < generation:
            return Told(False, "", "Pending", controller)
        if one.get("status") == "False":
            text = f"{kind}: {one.get('message') or one.get('reason') or 'no'}"
            return Told(True, text, str(one.get("reason") or kind), controller)
        if one.get("status") != "True":
            return Told(False, "", "Pending", controller)
    return Told(True, "", "Accepted", controller)


def is_programmed(gateway: Raw) -> bool:
    """Whether the Gateway listens: its condition Programmed at its current generation."""
    generation = int(gateway["metadata"].get("generation") or 0)
    conditions = (gateway.get("status") or {}).get("conditions") or ()
    return any(
        one.get("type") == "Programmed"
        and one.get("status") == "True"
        and int(one.get("observedGeneration") or 0) >= generation
        for one in conditions
    )


def addresses(gateway: Raw) -> list[str]:
    found = (gateway.get("status") or {}).get("addresses") or ()
    return [str(one["value"]) for one in found if one.get("value")]


def listener_port(gateway: Raw, section: str) -> int | None:
    """The port of the listener of that name, or of the first plain HTTP one."""
    listeners: Sequence[Raw] = (gateway.get("spec") or {}).get("listeners") or ()
    named = [one for one in listeners if one.get("name") == section]
    plain = [one for one in listeners if one.get("protocol") == "HTTP"]
    chosen = named or plain or list(listeners)
    return int(chosen[0]["port"]) if chosen else None


@dataclass(frozen=True, slots=True)
class PoolSeen:
    """One model pool's part: its InferencePool, None if there is none, and its picker."""

    name: str
    weight: int
    inference_pool: Raw | None
    picker_ready: bool
    picker_problem: str = ""


@dataclass(frozen=True, slots=True)
class RouteSeen:
    """`rule` is the rule of the route that carries the deployment; None if it has none."""

    gateway: Raw | None
    route: Raw | None
    rule: Raw | None
    problem: str = ""


def routed(parent: Parent, seen: RouteSeen, pools: Iterable[PoolSeen]) -> Condition:
    """The condition Routed: does the gateway share requests as the weights say?"""
    route = seen.route
    if route is None:
        return _no("RouteMissing", seen.problem or "The route is not in the cluster yet.")
    generation = int(route["metadata"].get("generation") or 0)
    if seen.problem or seen.rule is None:
        return _no("RuleGone", seen.problem or "The route has no rule for it.", generation)
    if seen.gateway is None:
        text = f"There is no Gateway {parent.namespace}/{parent.name} in the cluster."
        return _no("GatewayMissing", text, generation)
    if not is_programmed(seen.gateway):
        text = f"Gateway {parent.namespace}/{parent.name} does not listen yet."
        return _no("GatewayNotProgrammed", text, generation)
    return _carried(parent, route, seen.rule, list(pools), generation)


def _carried(
    parent: Parent, route: Raw, rule: Raw, pools: list[PoolSeen], generation: int
) -> Condition:
    if changed := _differs(rule, pools):
        return _no("RouteChanged", changed, generation)
    for name, found in (("route", route), *((p.name, p.inference_pool) for p in pools)):
        if found is None:
            return _no("PoolMissing", f"The InferencePool of {name} is missing.", generation)
        said = told(found, parent)
        if said.problem:
            return _no(said.reason, f"{name}: {said.problem}", generation)
        if not said.is_current:
            text = f"The gateway has said nothing yet about {_what(name)} as it is now."
            return Condition("Routed", "Unknown", "Pending", text, generation)
    for pool in pools:
        if not pool.picker_ready and pool.weight:
            text = f"The endpoint picker of {pool.name} is not ready. {pool.picker_problem}"
            return _no("PickerNotReady", text.strip(), generation)
    text = "The gateway shares requests by the weights."
    return Condition("Routed", "True", "Routed", text, generation)


def _what(name: str) -> str:
    return "the route" if name == "route" else f"the pool {name}"


def _differs(rule: Raw, pools: list[PoolSeen]) -> str:
    """What the live rule does that the weights do not say; "" if nothing."""
    live = weights_in(rule)
    for pool in pools:
        name = pool.inference_pool["metadata"]["name"] if pool.inference_pool else None
        share = live.pop(name, None) if name else None
        if share is None:
            continue
        if abs(share - pool.weight / 100) > SAME_SHARE:
            return (
                f"The route in the cluster gives {share:.0%} to {pool.name}, not "
                f"{pool.weight} %: it was changed by somebody else, or our change is on its way."
            )
    stranger = next((name for name, share in live.items() if share > SAME_SHARE), "")
    return f"The route in the cluster also sends requests to {stranger}." if stranger else ""


def _no(reason: str, message: str, generation: int = 0) -> Condition:
    return Condition("Routed", "False", reason, message[:1000], generation)


@dataclass(frozen=True, slots=True)
class Failure:
    """What becomes of a pool's requests while its picker is away, as far as it is known."""

    refuses: bool | None
    text: str


# Reports: kubernetes-sigs/gateway-api-inference-extension#1266, agentgateway#3473,
# envoyproxy/ai-gateway#2502, nginx-gateway-fabric#5420.
_IGNORES_OPEN = ("agentgateway", "aigateway.envoyproxy", "gateway.envoyproxy", "test-envoy")
_IGNORES_CLOSE = ("nginx",)


def on_failure(wished: str, controller: str) -> Failure:
    """The effective failure mode, by the controller that took the route ("" if none did)."""
    low = controller.lower()
    if wished == "FailClose":
        if any(word in low for word in _IGNORES_CLOSE):
            return Failure(False, f"{controller} lets requests through although it should refuse.")
        return Failure(True, "Requests for the pool are refused while its picker is away.")
    if any(word in low for word in _IGNORES_OPEN):
        return Failure(
            True,
            f"{controller} refuses requests with a body all the same: once it has begun to stream "
            "the body to the picker it cannot choose by itself.",
        )
    return Failure(
        None,
        "Requests may be refused all the same: gateways that stream the body to the picker cannot "
        "choose by themselves after that. Try it before you rely on it.",
    )
