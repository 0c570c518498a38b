"""Cards behind device plugins: labels and resources as real nodes carry them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from domain.devices import ClaimUse, Node, PodUse, Slice, Snapshot
from domain.inventory import Card, NodeCount, Path, count
from tests.domain.inventory.fleets import claim, gpu, node, pod, slice_of


def counted(
    one: Node, *pods: PodUse, slices: Sequence[Slice] = (), claims: Sequence[ClaimUse] = ()
) -> NodeCount:
    (found,) = count(Snapshot((one,), tuple(slices), tuple(claims), tuple(pods)))
    return found


def cards(found: NodeCount) -> tuple[Card, ...]:
    assert found.cards is not None
    return found.cards


def numbers(found: NodeCount) -> tuple[int, int, int, int]:
    tally = found.tally
    return tally.plugin, tally.free, tally.unhealthy, tally.unknown


def codes(found: NodeCount) -> list[str]:
    return [fault.code for fault in found.faults]


def units(found: NodeCount) -> dict[str, tuple[int | None, int, int | None]]:
    return {one.name: (one.total, one.used, one.further) for one in found.units}


def test_whole_cards() -> None:
    found = counted(node(labels={"gpu.count": "8"}, gpu=8), pod(gpu=2), pod("p2", gpu=1))
    assert numbers(found) == (3, 5, 0, 0) and found.path is Path.PLUGIN and found.tenants == 2


def test_without_labels_the_resource_counts_the_cards() -> None:
    assert numbers(counted(node(gpu=4), pod(gpu=1))) == (1, 3, 0, 0)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_holds_nothing(phase: str) -> None:
    assert numbers(counted(node(gpu=1), pod(phase=phase, gpu=1))) == (0, 1, 0, 0)


def test_what_the_kubelet_takes_off_is_unhealthy() -> None:
    assert numbers(counted(node(gpu=4, allocatable={"nvidia.com/gpu": 3}))) == (0, 3, 1, 0)


def test_time_slicing_shares_cards() -> None:
    """T4, eight shares not renamed; memory in bytes, as ancient builds print it."""
    labels = {
        "gpu.count": "1",
        "gpu.replicas": "8",
        "gpu.product": "Tesla-T4-SHARED",
        "gpu.memory": "16106127360",
        "mig.strategy": "single",
    }
    found = counted(node(labels=labels, gpu=8), pod(gpu=1), pod("p2", gpu=1))
    assert numbers(found) == (1, 0, 0, 0) and units(found) == {"nvidia.com/gpu": (8, 2, 6)}
    assert cards(found)[0].memory_mib == 15360 and cards(found)[0].mode == "time-slicing"


def test_a_pod_with_two_shares_may_hold_one_card_or_two() -> None:
    """DP#491: two replicas are not two GPUs, so no card is called free that may be in use."""
    labels = {"gpu.count": "2", "gpu.replicas": "4", "gpu.sharing-strategy": "time-slicing"}
    found = counted(node(labels=labels, gpu=8), pod(gpu=2))
    assert numbers(found) == (2, 0, 0, 0) and not cards(found)[0].is_exact


def test_renamed_shares_leave_a_zero_behind() -> None:
    labels = {"gpu.count": "2", "gpu.replicas": "4"}
    one = node(labels=labels, gpu=0, gpu_shared=8)
    assert units(counted(one, pod(parts={"gpu.shared": 1}))) == {"nvidia.com/gpu.shared": (8, 1, 7)}


def test_shares_that_the_labels_do_not_know_are_believed() -> None:
    """DP#732: replicas=1 while 50 shares are offered."""
    labels = {"gpu.count": "1", "gpu.replicas": "1", "gpu.product": "NVIDIA-A10G-SHARED"}
    found = counted(node(labels=labels, gpu=50))
    assert found.tally.physical == 1 and codes(found) == ["labels-disagree"]
    assert units(found) == {"nvidia.com/gpu": (50, 0, 50)}


def test_mig_mixed_counts_cards_and_partitions_apart() -> None:
    """GPUOP#1602: card 0 as 3 x 2g.20gb + 1g.10gb, card 1 as 4g.40gb + 3g.40gb, six whole."""
    labels = {
        "gpu.count": "8",
        "gpu.replicas": "1",
        "mig.strategy": "mixed",
        "mig-2g.20gb.count": "3",
        "mig-1g.10gb.count": "1",
        "mig-4g.40gb.count": "1",
        "mig-3g.40gb.count": "1",
    }
    parts = {"mig-2g.20gb": 3, "mig-1g.10gb": 1, "mig-4g.40gb": 1, "mig-3g.40gb": 1}
    one = node(labels=labels, gpu=6, parts=parts)
    found = counted(one, pod(gpu=1), pod("p2", parts={"mig-1g.10gb": 1}))
    assert found.tally.physical == 8 and numbers(found) == (2, 6, 0, 0)
    assert units(found)["nvidia.com/gpu"] == (6, 1, 5)
    assert units(found)["nvidia.com/mig-2g.20gb"] == (3, 0, 3)


def test_all_cards_cut_under_mixed_are_still_counted() -> None:
    """H100 all-balanced: gpu.count 1, replicas 0, nvidia.com/gpu 0."""
    labels = {
        "gpu.count": "1",
        "gpu.replicas": "0",
        "mig.strategy": "mixed",
        "mig-1g.10gb.count": "2",
    }
    found = counted(node(labels=labels, gpu=0, parts={"mig-1g.10gb": 2}))
    assert numbers(found) == (0, 1, 0, 0)


def test_what_a_change_of_geometry_left_behind_is_not_counted() -> None:
    """DP#240: gpu 8, mig-1g.5gb 56 and mig-7g.40gb 8 at once; only one of them lives."""
    labels = {
        "gpu.count": "8",
        "gpu.replicas": "0",
        "mig.strategy": "mixed",
        "mig-1g.5gb.count": "56",
    }
    found = counted(node(labels=labels, gpu=8, parts={"mig-1g.5gb": 56, "mig-7g.40gb": 8}))
    assert units(found) == {"nvidia.com/mig-1g.5gb": (56, 0, 56)}
    assert found.tally.physical == 8 and codes(found) == ["leftover-resource"] * 2


def test_mig_single_does_not_tell_how_many_cards_there_are() -> None:
    """GPUOP#981: the labels count partitions."""
    labels = {
        "gpu.count": "14",
        "mig.strategy": "single",
        "gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
    }
    found = counted(node(labels=labels, gpu=14), pod(gpu=1))
    assert found.cards is None and found.at_least == 2 and found.tally.untold == 1
    assert units(found) == {"nvidia.com/gpu": (14, 1, 13)} and codes(found) == ["cards-untold"]


def test_mig_single_with_shares_does_not_tell_either() -> None:
    """bottlerocket#4418: eight cards, cut in four, shared by four: 128 units."""
    labels = {
        "gpu.count": "32",
        "gpu.replicas": "4",
        "mig.strategy": "single",
        "gpu.product": "NVIDIA-A100-MIG-1g.5gb-SHARED",
    }
    found = counted(node(labels=labels, gpu=0, gpu_shared=128))
    assert found.cards is None and found.at_least == 5


def test_an_invalid_single_layout_is_named() -> None:
    labels = {"gpu.product": "NVIDIA-A100-MIG-INVALID", "gpu.count": "0", "mig.strategy": "single"}
    assert codes(counted(node(labels=labels))) == ["mig-invalid"]


def test_two_models_on_one_node_are_told_as_a_disagreement() -> None:
    """gpu-feature-discovery#66: the labels know one of the models only."""
    found = counted(node(labels={"gpu.count": "4"}, gpu=8))
    assert found.tally.physical == 8 and codes(found) == ["labels-disagree"]


def test_a_wedged_mig_change_is_unknown_and_named() -> None:
    """GPUOP#2833: pending for ever, the plugin paused, nothing offered."""
    labels = {
        "gpu.count": "8",
        "mig.config.state": "pending",
        "gpu.deploy.device-plugin": "paused-for-mig-change",
    }
    found = counted(node(labels=labels, gpu=0))
    assert numbers(found) == (0, 0, 0, 8) and codes(found) == ["mig-pending"]


def test_success_without_devices_is_no_success() -> None:
    """GPUOP#603."""
    labels = {"gpu.count": "1", "mig.config.state": "success"}
    assert codes(counted(node(labels=labels, gpu=0))) == ["mig-empty"]


def test_cards_of_a_gone_plugin_stay_used_by_the_pods_that_hold_them() -> None:
    found = counted(node(labels={"gpu.count": "8"}), pod(gpu=3))
    assert numbers(found) == (3, 0, 0, 5)


def test_hami_registers_its_cards_elsewhere() -> None:
    """HAMi#612: allocatable is cards x 10, and memory never appears there."""
    one = replace(node(gpu=20), hami_cards=(("GPU-a", "A10", 24576), ("GPU-b", "A10", 24576)))
    found = counted(one, pod(gpu=1))
    assert numbers(found) == (1, 1, 0, 0) and cards(found)[0].key == "GPU-a"


def test_both_paths_on_one_node_are_an_error_and_counted_once() -> None:
    """KAI PR#1177: nodes that expose both count double elsewhere."""
    cards = slice_of(*(gpu(number) for number in range(4)))
    one = node(labels={"gpu.count": "4"}, gpu=4)
    found = counted(one, pod(gpu=1), slices=[cards], claims=[claim("gpu-0")])
    assert found.tally.physical == 4 and found.path is Path.BOTH
    assert (found.tally.dra, found.tally.plugin, found.tally.free) == (1, 1, 2)
    assert codes(found) == ["both-paths"]


def test_hami_beside_slices_is_no_clash() -> None:
    """HAMi takes over the plugin's resource name; what it counts are shares of its own."""
    one = replace(node(gpu=20), hami_cards=(("GPU-0", "H100", 81559), ("GPU-1", "H100", 81559)))
    found = counted(one, pod(gpu=1), slices=[slice_of(gpu(0), gpu(1))])
    assert found.tally.physical == 2 and "both-paths" not in codes(found)


def test_zeros_that_stay_on_a_node_are_no_cards() -> None:
    """DP#214: a resource of an earlier configuration remains with the number zero."""
    one = node(labels={"gpu.count": "2"}, gpu=2)
    resources = {**one.resources, "nvidia.com/mig-1g.5gb": (0, 0), "nvidia.com/gpu.shared": (0, 0)}
    found = counted(replace(one, resources=resources))
    assert numbers(found) == (0, 2, 0, 0) and units(found) == {"nvidia.com/gpu": (2, 0, 2)}


def test_shares_that_were_to_be_renamed_and_are_not_are_shares_all_the_same() -> None:
    """DP#1433: renameByDefault under flags is ignored, so the name stays nvidia.com/gpu."""
    labels = {"gpu.count": "1", "gpu.replicas": "4", "gpu.product": "Tesla-T4-SHARED"}
    found = counted(node(labels=labels, gpu=4), pod(gpu=1))
    assert found.tally.physical == 1 and numbers(found) == (1, 0, 0, 0)
    assert units(found) == {"nvidia.com/gpu": (4, 1, 3)}


def test_more_holders_than_cards_on_both_paths_is_double_use() -> None:
    cards = slice_of(gpu(0), gpu(1))
    held = claim("gpu-0", "gpu-1")
    found = counted(node(gpu=2), pod(gpu=1), slices=[cards], claims=[held])
    assert codes(found) == ["both-paths", "double-use"] and found.tally.dra == 2


def test_a_node_without_accelerators_counts_nothing() -> None:
    found = counted(node())
    assert found.tally.physical == 0 and found.path is Path.NONE and found.faults == ()


def test_a_plugin_pod_that_is_not_ready_leaves_its_cards_unknown() -> None:
    plugin = replace(pod("plugin"), serves="device-plugin")
    assert numbers(counted(node(gpu=2), plugin)) == (0, 0, 0, 2)
