"""Pools become InferencePools with a picker each, and one route shares requests between them."""

from typing import Any

import pytest

from domain.manifests import Pool, Routing, Serving, preset, render
from domain.manifests.labels import DEPLOYMENT, PICKER, POOL
from domain.manifests.routing_patch import (
    RuleGone,
    fingerprint,
    operations,
    rule_index,
    weights_in,
)

CLAIM: dict[str, Any] = {"devices": {"requests": []}}
ROUTING = Routing("gateways", "shared", "llama.vision.models.example", "registry.example/epp:v1")


def serving(routing: Routing | None = ROUTING, **weights: int) -> Serving:
    pools = tuple(
        Pool(name, "dra", 1, claim=CLAIM, weight=weight)
        for name, weight in (weights or {"main": 95, "dra": 5}).items()
    )
    server = preset("vllm", image="vllm:v1", model="llama")
    return Serving("vision", "tenant-vision", "llama", server, pools, "account", routing)


def objects(kind: str, of: Serving | None = None) -> list[dict[str, Any]]:
    return [one for one in render(of or serving()) if one["kind"] == kind]


def test_without_a_gateway_there_is_only_the_service() -> None:
    kinds = {one["kind"] for one in render(serving(None))}
    assert not kinds & {"HTTPRoute", "InferencePool", "ConfigMap", "RoleBinding"}


def test_each_pool_has_a_picker_of_its_own() -> None:
    found = {one["metadata"]["name"]: one["spec"] for one in objects("InferencePool")}
    assert {name: spec["endpointPickerRef"]["name"] for name, spec in found.items()} == {
        "llama-main": "llama-main-picker",
        "llama-dra": "llama-dra-picker",
    }
    assert found["llama-main"]["targetPorts"] == [{"number": 8000}]
    assert found["llama-main"]["selector"]["matchLabels"] == {DEPLOYMENT: "llama", POOL: "main"}


def test_pickers_are_never_behind_the_deployments_service_or_a_pool() -> None:
    pickers = [one for one in objects("Deployment") if one["metadata"]["name"].endswith("-picker")]
    assert len(pickers) == 2
    for one in pickers:
        labels = one["spec"]["template"]["metadata"]["labels"]
        assert DEPLOYMENT not in labels and POOL not in labels
        assert one["spec"]["selector"]["matchLabels"] == {PICKER: labels[PICKER]}


def test_the_route_gives_each_pool_its_weight() -> None:
    [route] = objects("HTTPRoute")
    assert route["spec"]["hostnames"] == ["llama.vision.models.example"]
    assert route["spec"]["parentRefs"][0] | {"sectionName": ""} == {
        "group": "gateway.networking.k8s.io",
        "kind": "Gateway",
        "name": "shared",
        "namespace": "gateways",
        "sectionName": "",
    }
    [rule] = route["spec"]["rules"]
    assert weights_in(rule) == {"llama-main": 0.95, "llama-dra": 0.05}


def test_a_pool_without_weight_is_in_the_route_already() -> None:
    [route] = objects("HTTPRoute", serving(main=100, dra=0))
    refs = route["spec"]["rules"][0]["backendRefs"]
    assert [(one["name"], one["weight"]) for one in refs] == [("llama-main", 100), ("llama-dra", 0)]


def test_pools_come_before_the_route_that_names_them() -> None:
    kinds = [one["kind"] for one in render(serving())]
    last_pool = max(at for at, kind in enumerate(kinds) if kind == "InferencePool")
    assert kinds.index("HTTPRoute") > last_pool


def test_a_route_handed_over_is_not_ours_to_make() -> None:
    foreign = Routing("g", "shared", "h.example", "epp:v1", owns_route=False)
    assert objects("HTTPRoute", serving(foreign)) == []
    assert len(objects("InferencePool", serving(foreign))) == 2


# --- A rule of somebody else's route
HEADER = {"headers": [{"name": "x-beta", "value": "1"}]}
FILTER = {"type": "RequestHeaderModifier", "requestHeaderModifier": {"add": []}}
FIRST = {"matches": [HEADER], "backendRefs": [{"name": "beta", "port": 80}]}
OURS = {
    "matches": [{"path": {"type": "PathPrefix", "value": "/v1"}}],
    "filters": [FILTER],
    "backendRefs": [{"kind": "Service", "name": "llama", "port": 8000}],
}
WANTED = [
    {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "a", "weight": 90},
    {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "b", "weight": 10},
]
GIVEN = {"route": "theirs", "index": 1, "rule": fingerprint(OURS)}


def theirs(*rules: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "theirs"}, "spec": {"rules": list(rules)}}


def test_a_patch_tests_the_rule_it_saw_and_touches_only_its_backends() -> None:
    test, replace = operations(theirs(FIRST, OURS), GIVEN, WANTED)
    assert test == {"op": "test", "path": "/spec/rules/1", "value": OURS}
    assert replace == {"op": "replace", "path": "/spec/rules/1/backendRefs", "value": WANTED}


def test_a_rule_in_step_is_left_alone() -> None:
    assert operations(theirs(FIRST, OURS | {"backendRefs": WANTED}), GIVEN, WANTED) == []


def test_filters_of_a_backend_stay() -> None:
    held = [WANTED[0] | {"weight": 100, "filters": [FILTER]}]
    [_, replace] = operations(theirs(FIRST, OURS | {"backendRefs": held}), GIVEN, WANTED)
    assert replace["value"] == [WANTED[0] | {"filters": [FILTER]}, WANTED[1]]


def test_a_rule_that_moved_is_found_again() -> None:
    assert rule_index(theirs(OURS, FIRST), GIVEN) == 0


@pytest.mark.parametrize(
    "rules", [(), (FIRST,), (FIRST, FIRST, FIRST), (FIRST, OURS | {"filters": []})]
)
def test_a_rule_that_is_another_now_is_not_written_to(rules: tuple[dict[str, Any], ...]) -> None:
    with pytest.raises(RuleGone, match="Hand it over again"):
        operations(theirs(*rules), GIVEN, WANTED)


def test_twins_elsewhere_do_not_stand_in_for_the_rule() -> None:
    with pytest.raises(RuleGone):
        rule_index(theirs(OURS, FIRST, OURS), GIVEN)
