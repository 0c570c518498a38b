"""Manifests before and after."""

from typing import Any

import pytest

from domain.patterns import pattern_from
from domain.rollout.mapping import Mapped, Way
from domain.rollout.rewriting import diff, refused_kind, rewritten, template

GPU = "nvidia.com/gpu"
PATTERN = pattern_from({"parameters": [], "requests": [{"name": "g", "device_class": "h100"}]})


def spec() -> dict[str, Any]:
    expressions = [
        {"key": "nvidia.com/gpu.memory", "operator": "Gt", "values": ["40000"]},
    ]
    return {
        "nodeSelector": {"nvidia.com/gpu.product": "H100", "zone": "a"},
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": expressions}]
                }
            }
        },
        "containers": [
            {
                "name": "server",
                "resources": {"limits": {GPU: "1"}, "requests": {GPU: "1", "cpu": "4"}},
            },
            {"name": "side", "resources": {"requests": {"cpu": "1"}}},
        ],
    }


def claims(**changes: Any) -> Mapped:
    covered = frozenset({"nvidia.com/gpu.product", "nvidia.com/gpu.memory"})
    return Mapped(Way.CLAIMS, pattern="p", version=1, covered=covered, **changes)


def test_units_and_covered_labels_give_way_to_a_claim_and_the_rest_stays() -> None:
    before = spec()
    after = rewritten(before, claims(), frozenset({GPU}), "t-1")
    assert before == spec()
    assert after["nodeSelector"] == {"zone": "a"}
    assert "affinity" not in after
    assert after["resourceClaims"] == [{"name": "devices", "resourceClaimTemplateName": "t-1"}]
    server, side = after["containers"]
    assert server["resources"] == {"requests": {"cpu": "4"}, "claims": [{"name": "devices"}]}
    assert side == before["containers"][1]


def test_an_affinity_with_something_else_in_it_keeps_that() -> None:
    before = spec()
    term = before["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ][0]
    term["matchExpressions"].append({"key": "disk", "operator": "Exists"})
    after = rewritten(before, claims(), frozenset({GPU}), "t")
    assert "disk" in str(after["affinity"]) and "gpu.memory" not in str(after["affinity"])


def test_the_bridge_changes_nothing() -> None:
    assert rewritten(spec(), Mapped(Way.BRIDGE), frozenset({GPU}), "t") == spec()
    assert diff(spec(), spec()) == ""


def test_the_diff_shows_what_goes_and_what_is_new() -> None:
    made = template("vision", "llama-main", PATTERN, {})
    after = rewritten(spec(), claims(), frozenset({GPU}), made["metadata"]["name"])
    text = diff(spec(), after, made)
    assert "-    limits:" in text
    assert "+kind: ResourceClaimTemplate" in text


@pytest.mark.parametrize("kind", ["InferenceService", "RayCluster", "Something"])
def test_an_operators_kind_cannot_take_claims_but_the_bridge(kind: str) -> None:
    assert kind in refused_kind(kind, Way.CLAIMS)
    assert refused_kind(kind, Way.BRIDGE) == ""


def test_kinds_with_a_pod_template_can_take_claims() -> None:
    assert refused_kind("StatefulSet", Way.CLAIMS) == ""
