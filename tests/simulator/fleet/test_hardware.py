"""What nodes publish: cards, slices, counters, labels and plugin resources."""

from typing import Any

import pytest

from domain.placement import Fleet
from simulator.fleet.cards import cards_of, partitions, place, semver
from simulator.fleet.hardware import MODELS
from simulator.fleet.labels import node_labels
from simulator.fleet.plugin import Holdings, extended_resources, plugin_devices
from simulator.fleet.scenario import NodeSpec, Sick, load, parse
from simulator.fleet.slices import DRIVER, gpu_slices

NOW = "2026-11-30T12:00:00Z"


def node(**more: Any) -> NodeSpec:
    table = {"name": "n1", "model": "h100-sxm", "cards": 8, "allocation": "dra"} | more
    return parse({"nodes": [table]}, "test").nodes[0]


def published(spec: NodeSpec, sick: dict[int, Sick] | None = None) -> list[dict[str, Any]]:
    wanted = gpu_slices(spec, cards_of(1, spec), sick or {}, NOW)
    pool = {"name": spec.name, "generation": 1, "resourceSliceCount": len(wanted)}
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"{spec.name}-{number}"},
            "spec": {"driver": DRIVER, "nodeName": spec.name, "pool": pool} | part,
        }
        for number, part in enumerate(wanted)
    ]


def test_identities_follow_from_seed_node_and_position() -> None:
    spec = node()
    uuids = [card.uuid for card in cards_of(1, spec)]
    assert uuids == [card.uuid for card in cards_of(1, spec)]
    assert len({*uuids, *(card.uuid for card in cards_of(2, spec))}) == 16


def test_a_whole_card_publishes_what_the_driver_publishes() -> None:
    [piece] = published(node())
    device = piece["spec"]["devices"][0]
    attributes = device["attributes"]
    assert device["name"] == "gpu-0"
    assert device["capacity"] == {"memory": {"value": "81559Mi"}}
    assert attributes["productName"] == {"string": "NVIDIA H100 80GB HBM3"}
    assert attributes["driverVersion"] == {"version": "580.95.5"}
    assert attributes["cudaComputeCapability"] == {"version": "9.0.0"}
    assert attributes["resource.kubernetes.io/pcieRoot"] == {"string": "pci0000:15"}
    assert {
        d["attributes"]["resource.kubernetes.io/numaNode"]["int"] for d in piece["spec"]["devices"]
    } == {0, 1}


def test_partitions_have_their_counters_in_a_slice_of_their_own() -> None:
    counters, *devices = published(node(model="a100-sxm-80", cards=2, mig="partitions"))
    assert "devices" not in counters["spec"]
    assert [len(item["spec"]["devices"]) for item in devices] == [25, 25]
    assert counters["spec"]["pool"]["resourceSliceCount"] == 3
    supply = counters["spec"]["sharedCounters"][0]["counters"]
    assert supply["memory"] == {"value": "79Gi"}
    assert supply["multiprocessors"] == {"value": "98"}
    assert sum(name.startswith("memory-slice-") for name in supply) == 8


def test_hopper_offers_the_whole_card_beside_its_partitions() -> None:
    _, devices = published(node(cards=1, mig="partitions"))
    assert len(devices["spec"]["devices"]) == 26
    assert devices["spec"]["devices"][0]["name"] == "gpu-0"


def test_a_partition_never_takes_more_than_the_card_has() -> None:
    counters, *devices = published(node(model="a100-sxm-80", cards=1, mig="partitions"))
    supply = counters["spec"]["sharedCounters"][0]["counters"]
    for device in devices[0]["spec"]["devices"]:
        [taken] = device["consumesCounters"]
        assert taken["counters"].keys() <= supply.keys()


@pytest.mark.parametrize("name", ["demo", "small"])
def test_placement_reads_every_slice_of_the_scenarios(name: str) -> None:
    scenario = load(name)
    objects = [item for spec in scenario.nodes if spec.publishes_slices for item in published(spec)]
    assert objects
    assert not Fleet.build(objects).faults


def test_a_sick_card_keeps_its_device_with_a_taint() -> None:
    [piece] = published(node(), {5: Sick(5, 79)})
    taints = [device.get("taints") for device in piece["spec"]["devices"]]
    assert [bool(item) for item in taints] == [n == 5 for n in range(8)]
    assert taints[5] == [
        {"key": "gpu.nvidia.com/xid", "value": "79", "effect": "NoSchedule", "timeAdded": NOW}
    ]


def test_a_lost_card_says_so() -> None:
    [piece] = published(node(), {0: Sick(0, 0)})
    assert piece["spec"]["devices"][0]["taints"][0]["key"] == "gpu.nvidia.com/gpu-lost"


def test_versions_lose_leading_zeros() -> None:
    assert [semver("580.95.05"), semver("13.0")] == ["580.95.5", "13.0.0"]


def test_instances_are_placed_by_search() -> None:
    profile = MODELS["a100-sxm-80"].profile
    placed = {p.name: at for p, at in place([profile("3g.40gb"), profile("4g.40gb")])}
    assert placed == {"3g.40gb": 4, "4g.40gb": 0}


def test_a_layout_that_does_not_fit_is_refused() -> None:
    profile = MODELS["a100-sxm-80"].profile
    with pytest.raises(ValueError, match="do not fit on one card"):
        place([profile("4g.40gb"), profile("4g.40gb")])


def test_partition_names_are_the_drivers() -> None:
    [card] = cards_of(1, node(cards=1))
    names = [instance.name(card) for instance in partitions(card)]
    assert "gpu-0-mig-1g10gb-19-2" in names
    assert "gpu-0-mig-1g10gb-me-20-0" in names
    assert len(set(names)) == 25


def labels_of(spec: NodeSpec) -> dict[str, str]:
    return node_labels(1, spec, cards_of(1, spec))


def test_labels_are_sanitised_and_valid() -> None:
    labels = labels_of(node())
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    assert labels["nvidia.com/gpu.count"] == "8"
    assert labels["nvidia.com/gpu.memory"] == "81559"
    assert labels["nvidia.com/gpu.clique"].endswith(".0")
    assert all(len(value) <= 63 for value in labels.values())


def test_time_slices_multiply_allocatable_and_mark_the_product() -> None:
    spec = node(model="l4", cards=4, allocation="device-plugin", **{"time-slices": 4})
    labels = labels_of(spec)
    capacity, _ = extended_resources(spec, cards_of(1, spec), {})
    assert capacity == {"nvidia.com/gpu": "16"}
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-L4-SHARED"
    assert (labels["nvidia.com/gpu.count"], labels["nvidia.com/gpu.replicas"]) == ("4", "4")


def test_renamed_time_slices_leave_a_zero_behind() -> None:
    more = {"time-slices": 2, "rename-shares": True}
    spec = node(model="l4", cards=1, allocation="device-plugin", **more)
    capacity, _ = extended_resources(spec, cards_of(1, spec), {})
    assert capacity == {"nvidia.com/gpu": "0", "nvidia.com/gpu.shared": "2"}
    assert labels_of(spec)["nvidia.com/gpu.product"] == "NVIDIA-L4"


def test_mixed_mig_counts_instances_by_profile_and_cards_physically() -> None:
    layout = [["3g.40gb", "2g.20gb", "1g.10gb"], ["1g.10gb"]]
    spec = node(
        model="a100-sxm-80", cards=2, allocation="device-plugin", mig="mixed", layout=layout
    )
    labels = labels_of(spec)
    capacity, _ = extended_resources(spec, cards_of(1, spec), {})
    assert capacity["nvidia.com/mig-1g.10gb"] == "2"
    assert labels["nvidia.com/gpu.count"] == "2"
    assert labels["nvidia.com/gpu.replicas"] == "0"
    assert labels["nvidia.com/mig-1g.10gb.count"] == "2"


def test_single_mig_with_an_empty_card_is_invalid() -> None:
    spec = node(
        model="a100-sxm-80",
        cards=2,
        allocation="device-plugin",
        mig="single",
        layout=[["1g.10gb"], []],
    )
    labels = labels_of(spec)
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-80GB-MIG-INVALID"
    assert labels["nvidia.com/gpu.count"] == "0"


def test_a_sick_card_leaves_allocatable_but_not_capacity() -> None:
    spec = node(allocation="device-plugin")
    capacity, allocatable = extended_resources(spec, cards_of(1, spec), {2: Sick(2, 79)})
    assert (capacity["nvidia.com/gpu"], allocatable["nvidia.com/gpu"]) == ("8", "7")


def holdings(**more: Any) -> Holdings:
    spec = node(allocation="device-plugin", **more)
    return Holdings(plugin_devices(spec, cards_of(1, spec)))


def test_plugin_devices_go_to_one_pod_each_until_none_is_left() -> None:
    held = holdings(cards=2)
    one = held.take("a", {"nvidia.com/gpu": 1}, {})
    assert held.take("a", {"nvidia.com/gpu": 1}, {}) == one
    assert held.take("b", {"nvidia.com/gpu": 1}, {}) != one
    with pytest.raises(LookupError):
        held.take("c", {"nvidia.com/gpu": 1}, {})
    held.release("a")
    assert held.take("c", {"nvidia.com/gpu": 1}, {}) == one


def test_a_refused_pod_holds_nothing() -> None:
    held = holdings(cards=2)
    with pytest.raises(LookupError):
        held.take("greedy", {"nvidia.com/gpu": 3}, {})
    assert len(held.take("modest", {"nvidia.com/gpu": 2}, {})) == 2


def test_shares_spread_over_the_cards() -> None:
    held = holdings(model="l4", cards=2, **{"time-slices": 2})
    cards = [held.take(pod, {"nvidia.com/gpu": 1}, {})[0].card for pod in "abcd"]
    assert cards == [0, 1, 0, 1]
