"""Only our parent's word at the current generation counts; silence is waited for."""

from typing import Any

import pytest

from domain import gateways
from domain.conditions import Condition
from domain.gateways import Parent, PoolSeen, RouteSeen

PARENT = Parent("infra", "shared")
REF = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "shared"}


def said(
    generation: int = 3, *, name: str = "shared", accepted: str = "True", resolved: str = "True"
) -> dict[str, Any]:
    return {
        "parentRef": REF | {"name": name, "namespace": "infra"},
        "controllerName": "example.com/gateway",
        "conditions": [
            {"type": kind, "status": status, "reason": "R", "message": f"{kind} {status}"}
            | {"observedGeneration": generation}
            for kind, status in (("Accepted", accepted), ("ResolvedRefs", resolved))
        ],
    }


def thing(*parents: dict[str, Any], name: str = "llama", **spec: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "tenant-vision", "generation": 3}
    return {"metadata": meta, "spec": spec, "status": {"parents": list(parents)}}


def rule(**weights: int) -> dict[str, Any]:
    group = {"group": "inference.networking.k8s.io", "kind": "InferencePool"}
    return {
        "backendRefs": [
            group | {"name": f"llama-{name}", "weight": weight} for name, weight in weights.items()
        ]
    }


GATEWAY = {
    "metadata": {"name": "shared", "generation": 1},
    "spec": {"listeners": [{"name": "web", "protocol": "HTTP", "port": 8080}]},
    "status": {
        "addresses": [{"type": "IPAddress", "value": "10.0.0.7"}],
        "conditions": [{"type": "Programmed", "status": "True", "observedGeneration": 1}],
    },
}


def pool(name: str, weight: int, *parents: dict[str, Any], picker: bool = True) -> PoolSeen:
    found = thing(*(parents or (said(),)), name=f"llama-{name}")
    return PoolSeen(name, weight, found, picker, "" if picker else "It crashes.")


def judged(
    *,
    route: dict[str, Any] | None = None,
    live: dict[str, Any] | None = None,
    pools: list[PoolSeen] | None = None,
    gateway: dict[str, Any] | None = GATEWAY,
) -> Condition:
    seen = RouteSeen(gateway, route or thing(said()), live or rule(main=95, dra=5))
    return gateways.routed(PARENT, seen, pools or [pool("main", 95), pool("dra", 5)])


def test_all_that_is_taken_is_routed() -> None:
    found = judged()
    assert (found.status, found.reason, found.generation) == ("True", "Routed", 3)


@pytest.mark.parametrize(
    "parents",
    [
        (),  # status that never comes
        (said(2),),  # told of the generation before
        (said(name="other"),),  # another gateway's word
        (said(accepted="Unknown"),),
    ],
)
def test_silence_and_old_words_are_waited_for(parents: tuple[dict[str, Any], ...]) -> None:
    assert judged(route=thing(*parents)).status == "Unknown"
    assert judged(pools=[pool("main", 95), pool("dra", 5, *parents or ({},))]).status == "Unknown"


def test_a_pools_parent_has_no_section_and_is_meant_all_the_same() -> None:
    parent = Parent("infra", "shared", "web")
    assert gateways.told(thing(said()), parent).is_taken
    other = said() | {"parentRef": said()["parentRef"] | {"sectionName": "other"}}
    assert not gateways.told(thing(other), parent).is_current


def test_a_refusal_is_told_in_the_gateways_words() -> None:
    found = judged(route=thing(said(resolved="False")))
    assert (found.status, found.reason) == ("False", "R")
    assert found.message == "route: ResolvedRefs: ResolvedRefs False"


def test_another_parents_refusal_is_not_ours() -> None:
    assert judged(route=thing(said(name="other", accepted="False"), said())).status == "True"


def test_weights_that_somebody_else_changed_are_told() -> None:
    found = judged(live=rule(main=50, dra=50))
    assert found.reason == "RouteChanged"
    assert "gives 50% to main, not 95 %" in found.message


def test_a_backend_that_nobody_asked_for_is_told() -> None:
    found = judged(live=rule(main=95, dra=5, other=20), pools=[pool("main", 79), pool("dra", 4)])
    assert "also sends requests to llama-other" in found.message


def test_a_picker_that_is_away_matters_once_its_pool_has_weight() -> None:
    pools = [pool("main", 100), pool("dra", 0, picker=False)]
    assert judged(live=rule(main=100, dra=0), pools=pools).status == "True"
    found = judged(pools=[pool("main", 95), pool("dra", 5, picker=False)])
    assert found.reason == "PickerNotReady" and "It crashes." in found.message


def test_what_is_missing_is_named() -> None:
    assert judged(gateway=None).reason == "GatewayMissing"
    assert judged(gateway=GATEWAY | {"status": {}}).reason == "GatewayNotProgrammed"
    nowhere = gateways.routed(PARENT, RouteSeen(GATEWAY, None, None), [])
    assert nowhere.reason == "RouteMissing"
    gone = PoolSeen("dra", 5, None, True)
    assert judged(pools=[pool("main", 95), gone]).reason in ("PoolMissing", "RouteChanged")


def test_a_gateway_tells_where_it_listens() -> None:
    assert gateways.addresses(GATEWAY) == ["10.0.0.7"]
    assert gateways.listener_port(GATEWAY, "web") == 8080
    assert gateways.listener_port({"metadata": {}}, "") is None


@pytest.mark.parametrize(
    ("wished", "controller", "refuses"),
    [
        ("FailClose", "istio.io/gateway-controller", True),
        ("FailClose", "gateway.nginx.org/nginx-gateway-controller", False),
        ("FailOpen", "agentgateway.dev/agentgateway", True),
        ("FailOpen", "aigateway.envoyproxy.io/controller", True),
        ("FailOpen", "", None),
    ],
)
def test_the_failure_mode_is_what_the_gateway_does(
    wished: str, controller: str, refuses: bool | None
) -> None:
    found = gateways.on_failure(wished, controller)
    assert found.refuses is refuses and found.text
