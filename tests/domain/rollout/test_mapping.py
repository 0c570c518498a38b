"""What stands for what a workload asks of the device plugin."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.patterns import pattern_from, plugin_form
from domain.rollout import mapping
from domain.rollout.inverse import NoMatch, Wanted, match
from domain.rollout.mapping import Bridge, Entry, Sharing, Use, Way, map_use, offers_of, use_of

GPU = "nvidia.com/gpu"
H100 = "NVIDIA-H100-80GB-HBM3"
CARDS = pattern_from(
    {
        "parameters": [
            {"name": "count", "kind": "count", "default": 1, "most": 8},
            {"name": "memory", "kind": "memory", "default": "40Gi", "least": "1Gi", "most": "80Gi"},
        ],
        "requests": [
            {
                "name": "gpus",
                "device_class": "h100",
                "count_parameter": "count",
                "terms": [
                    {"op": "at-least", "key": "gpu.nvidia.com/memory", "parameter": "memory"}
                ],
            }
        ],
        "device_plugin": {
            "resource": GPU,
            "node_labels": [
                {"op": "equals", "label": "nvidia.com/gpu.product", "value": H100},
                {"op": "at-least", "label": "nvidia.com/gpu.memory", "parameter": "memory"},
            ],
        },
    }
)
PROFILES = ["1g.10gb", "2g.20gb"]
PARTITION = pattern_from(
    {
        "parameters": [
            {"name": "profile", "kind": "choice", "default": "1g.10gb", "choices": PROFILES}
        ],
        "requests": [{"name": "part", "device_class": "a100-mig"}],
        "device_plugin": {
            "parameter": "profile",
            "resource_by_choice": {name: f"nvidia.com/mig-{name}" for name in PROFILES},
        },
    }
)
CATALOG = [Entry("cards", 2, CARDS), Entry("partition", 1, PARTITION)]
LABELS = {"nvidia.com/gpu.product": H100, "nvidia.com/gpu.memory": "81559"}


def whole(node: str = "n1", **labels: str) -> list[mapping.Offer]:
    return offers_of(node, LABELS | labels, [GPU])


def pod(resource: str = GPU, count: int = 1, **spec: Any) -> dict[str, Any]:
    server = {"name": "server", "resources": {"limits": {resource: str(count)}}}
    return {"containers": [server]} | spec


def required(*expressions: dict[str, Any]) -> dict[str, Any]:
    """A pod's affinity to nodes of which all of these hold."""
    terms = [{"matchExpressions": list(expressions)}]
    must = {"nodeSelectorTerms": terms}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": must}}


def test_a_whole_card_becomes_a_claim_of_the_pattern_with_that_resource() -> None:
    found = map_use(use_of(pod(count=2)), whole(), CATALOG, [])
    assert (found.way, found.pattern, found.version) == (Way.CLAIMS, "cards", 2)
    assert found.values["count"] == 2
    assert found.classes == {"h100": 2}


def test_a_node_selector_that_the_pattern_states_is_covered_by_it() -> None:
    use = use_of(pod(nodeSelector={"nvidia.com/gpu.product": H100, "zone": "a"}))
    found = map_use(use, offers_of("n1", LABELS | {"zone": "a"}, [GPU]), CATALOG, [])
    assert found.covered == {"nvidia.com/gpu.product"}


def test_a_selector_of_another_product_is_not_supported_and_says_why() -> None:
    use = use_of(pod(nodeSelector={"nvidia.com/gpu.product": "NVIDIA-L4"}))
    offers = offers_of("n1", {"nvidia.com/gpu.product": "NVIDIA-L4"}, [GPU])
    found = map_use(use, offers, CATALOG, [])
    assert found.way == Way.NONE
    assert f"it is for nvidia.com/gpu.product={H100}" in found.reasons[0]


def test_a_pattern_narrower_than_the_workload_is_refused_where_other_nodes_serve_it() -> None:
    offers = [*whole(), *offers_of("n2", LABELS | {"nvidia.com/gpu.product": "NVIDIA-L4"}, [GPU])]
    found = map_use(use_of(pod()), offers, CATALOG, [])
    assert found.way == Way.NONE
    assert "1 of the workload's 2 nodes have NVIDIA-L4" in found.reasons[0]


def test_where_the_pods_are_counts_more_than_where_they_could_be() -> None:
    offers = [*whole(), *offers_of("n2", LABELS | {"nvidia.com/gpu.product": "NVIDIA-L4"}, [GPU])]
    assert map_use(use_of(pod(), nodes=["n1"]), offers, CATALOG, []).way == Way.CLAIMS


def test_an_order_on_memory_becomes_the_parameter_and_is_no_lower_than_asked() -> None:
    affinity = required({"key": "nvidia.com/gpu.memory", "operator": "Gt", "values": ["40000"]})
    found = map_use(use_of(pod(affinity=affinity)), whole(), CATALOG, [])
    assert found.values["memory"] == "40001Mi"


def test_an_affinity_that_no_pattern_can_say_is_a_reason() -> None:
    affinity = required({"key": "nvidia.com/gpu.family", "operator": "NotIn", "values": ["volta"]})
    found = map_use(use_of(pod(affinity=affinity)), whole(), CATALOG, [])
    assert found.reasons[0] == "No pattern can say: nvidia.com/gpu.family NotIn volta."


def test_a_label_left_over_is_named() -> None:
    use = use_of(pod(nodeSelector={"nvidia.com/gpu.family": "hopper"}))
    found = map_use(
        use, offers_of("n", LABELS | {"nvidia.com/gpu.family": "hopper"}, [GPU]), CATALOG, []
    )
    assert "it cannot say nvidia.com/gpu.family" in found.reasons[0]


@pytest.mark.parametrize(
    ("labels", "resource", "kind"),
    [
        (
            {"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing"},
            GPU,
            "time-slicing",
        ),
        ({"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "mps"}, GPU, "mps"),
        ({}, "nvidia.com/gpu.shared", "time-slicing"),
    ],
)
def test_a_share_of_a_card_is_not_supported(
    labels: dict[str, str], resource: str, kind: str
) -> None:
    offers = offers_of("n1", labels, [resource])
    found = map_use(use_of(pod(resource)), offers, CATALOG, [Bridge("gpu", resource)])
    assert (found.way, found.sharing) == (Way.NONE, kind)
    assert "shares of a card" in found.reasons[0]


def test_a_partition_by_its_resource_name_becomes_the_profile() -> None:
    offers = offers_of("n1", {"nvidia.com/mig.strategy": "mixed"}, ["nvidia.com/mig-2g.20gb"])
    found = map_use(use_of(pod("nvidia.com/mig-2g.20gb")), offers, CATALOG, [])
    assert (found.sharing, found.values) == (Sharing.MIG, {"profile": "2g.20gb"})


def test_a_partition_under_the_name_of_a_card_becomes_the_profile_of_its_node() -> None:
    labels = {
        "nvidia.com/mig.strategy": "single",
        "nvidia.com/gpu.product": "NVIDIA-A100-MIG-1g.10gb",
    }
    found = map_use(use_of(pod()), offers_of("n1", labels, [GPU]), CATALOG, [])
    assert found.values == {"profile": "1g.10gb"}
    bridged = map_use(use_of(pod()), offers_of("n1", labels, [GPU]), [], [Bridge("gpu", GPU)])
    assert "partition under the name of a whole card" in bridged.reasons[-1]


def test_the_bridge_leaves_the_workload_and_takes_several_resources() -> None:
    spec = pod()
    spec["containers"].append(
        {"name": "b", "resources": {"limits": {"nvidia.com/mig-1g.10gb": "1"}}}
    )
    offers = offers_of("n1", {}, [GPU, "nvidia.com/mig-1g.10gb"])
    bridges = [Bridge("gpu", GPU), Bridge("mig", "nvidia.com/mig-1g.10gb")]
    found = map_use(use_of(spec), offers, CATALOG, bridges)
    assert (found.way, found.classes) == (Way.BRIDGE, {"gpu": 1, "mig": 1})


def test_the_bridge_comes_first_when_it_is_preferred_and_claims_when_it_is_not_there() -> None:
    bridges = [Bridge("gpu", GPU)]
    use = use_of(pod())
    assert map_use(use, whole(), CATALOG, bridges, prefer=Way.BRIDGE).way == Way.BRIDGE
    assert map_use(use, whole(), CATALOG, [], prefer=Way.BRIDGE).way == Way.CLAIMS
    assert map_use(use, whole(), CATALOG, bridges).way == Way.CLAIMS


def test_what_no_node_offers_cannot_be_judged() -> None:
    assert "No node offers" in map_use(use_of(pod()), [], CATALOG, []).reasons[0]


def test_a_pod_without_devices_is_nothing_to_move() -> None:
    assert map_use(use_of({"containers": []}), whole(), CATALOG, []).reasons


@given(
    count=st.integers(1, 8),
    memory=st.sampled_from(["1Gi", "24Gi", "40Gi", "79Gi", "80Gi"]),
)
def test_reading_a_device_plugin_form_backwards_gives_its_values_again(
    count: int, memory: str
) -> None:
    form = plugin_form(CARDS, {"count": count, "memory": memory})
    spec = pod(count=count)
    spec["affinity"] = required(*form.requirements)
    use = use_of(spec)
    wanted = Wanted(
        GPU, count, use.selector, use.above, [LABELS | {"nvidia.com/gpu.memory": "90000"}]
    )
    values = match(CARDS, wanted).values
    again = plugin_form(CARDS, values)
    assert (again.limits, again.requirements) == (form.limits, form.requirements)


def test_a_pattern_without_a_device_plugin_form_stands_for_nothing() -> None:
    bare = pattern_from({"parameters": [], "requests": [{"name": "g", "device_class": "h100"}]})
    with pytest.raises(NoMatch, match="no device-plugin form"):
        match(bare, Wanted(GPU, 1, {}, {}, []))


def test_requests_and_limits_of_one_container_are_counted_once() -> None:
    both = {"limits": {GPU: "2"}, "requests": {GPU: "2", "cpu": "4"}}
    assert use_of({"containers": [{"name": "a", "resources": both}]}) == Use({GPU: 2})
