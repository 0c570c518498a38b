"""Cards that DRA drivers publish, with the cases that users of those drivers reported."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from domain.devices import (
    ClaimUse,
    CounterSet,
    Device,
    Node,
    PodUse,
    Slice,
    Snapshot,
    Taint,
    TaintRule,
)
from domain.inventory import Card, NodeCount, Path, State, Unit, count
from tests.domain.inventory import fleets
from tests.domain.inventory.fleets import claim, cuttable, gpu, mig, node, slice_of


def counted(
    *,
    slices: Sequence[Slice] = (),
    claims: Sequence[ClaimUse] = (),
    pods: Sequence[PodUse] = (),
    rules: Sequence[TaintRule] = (),
    nodes: Sequence[Node] = (node(),),
) -> NodeCount:
    (found,) = count(
        Snapshot(tuple(nodes), tuple(slices), tuple(claims), tuple(pods), tuple(rules))
    )
    return found


def cards(found: NodeCount) -> tuple[Card, ...]:
    assert found.cards is not None
    return found.cards


def codes(found: NodeCount) -> list[str]:
    return [fault.code for fault in found.faults]


def unit(found: NodeCount, name: str) -> Unit:
    return next(one for one in found.units if one.name == name)


def test_whole_cards_are_in_use_or_free() -> None:
    found = counted(slices=[slice_of(gpu(0), gpu(1), gpu(2))], claims=[claim("gpu-1")])
    assert (found.tally.dra, found.tally.free, found.tally.physical) == (1, 2, 3)
    assert found.path is Path.DRA
    assert cards(found)[1].devices[0].holders[0].name == "c1"


def test_a_card_cut_statically_is_one_card_with_partitions() -> None:
    parts = [mig(0, "1g.10gb", start) for start in range(7)]
    found = counted(slices=[slice_of(*parts)], claims=[claim(parts[2].name)])
    assert found.tally.physical == 1 and found.tally.dra == 1
    one = unit(found, "1g.10gb")
    assert (one.total, one.used, one.further) == (7, 1, 6)


def test_twenty_six_placements_are_one_card() -> None:
    counters, devices = cuttable()
    found = counted(slices=[slice_of(*devices, counter_sets=(counters,))])
    assert len(devices) == 26 and found.tally.physical == found.tally.free == 1
    further = {one.name: one.further for one in found.units}
    assert further == {
        "whole": 1,
        "1g.10gb": 7,
        "1g.10gb+me": 7,
        "1g.20gb": 4,
        "2g.20gb": 3,
        "3g.40gb": 2,
        "4g.40gb": 1,
        "7g.80gb": 1,
    }
    assert unit(found, "1g.10gb").total is None  # it depends on what else is taken


def test_free_memory_slices_do_not_make_room_for_a_partition_that_needs_neighbours() -> None:
    """NVDRA#933: memory slices 0, 1 and 5 are taken; a 3g needs 0-3 or 4-7."""
    counters, devices = cuttable()
    taken = [f"gpu-0-mig-1g10gb-19-{start}" for start in (0, 1, 5)]
    found = counted(slices=[slice_of(*devices, counter_sets=(counters,))], claims=[claim(*taken)])
    assert unit(found, "3g.40gb").further == 0
    assert unit(found, "1g.10gb").further == 4
    assert unit(found, "whole").further == 0 and found.tally.dra == 1


def test_a_layout_within_the_compute_slices_may_leave_no_memory() -> None:
    """k8s-test-infra#886: four partitions of double memory fill the card; three compute slices
    are left over, and nothing fits into them."""
    counters, devices = cuttable()
    taken = [f"gpu-0-mig-1g20gb-15-{start}" for start in (0, 2, 4, 6)]
    found = counted(slices=[slice_of(*devices, counter_sets=(counters,))], claims=[claim(*taken)])
    assert {one.name: one.further for one in found.units} == dict.fromkeys(
        (one.name for one in found.units), 0
    )


def test_a_card_that_publishes_only_placements_is_one_card() -> None:
    """NVDRA PR#1018: an A30 cannot leave MIG mode by itself, so it is never published whole."""
    counters, devices = fleets.a30()
    held = claim("gpu-0-mig-1g6gb-14-1")
    found = counted(slices=[slice_of(*devices, counter_sets=(counters,))], claims=[held])
    assert (found.tally.physical, found.tally.dra) == (1, 1)
    further = {one.name: one.further for one in found.units}
    assert further == {"1g.6gb": 3, "2g.12gb": 1, "4g.24gb": 0}


@pytest.mark.parametrize(("split", "whole_left"), [((4, 3), 0), ((7, 0), 1)])
def test_scattered_partitions_leave_no_card_whole(split: tuple[int, int], whole_left: int) -> None:
    """NVDRA#932: seven 1g partitions on two cards, spread or packed."""
    sets: list[CounterSet] = []
    devices: list[Device] = []
    taken: list[str] = []
    for card, share in enumerate(split):
        counters, its_devices = cuttable(card)
        sets.append(counters)
        devices += its_devices
        taken += [f"gpu-{card}-mig-1g10gb-19-{start}" for start in range(share)]
    found = counted(slices=[slice_of(*devices, counter_sets=tuple(sets))], claims=[claim(*taken)])
    assert unit(found, "whole").further == whole_left == found.tally.free


def test_split_slices_with_counters_apart_are_one_pool() -> None:
    counters, devices = cuttable()
    slices = [
        slice_of(name="a", count=2, counter_sets=(counters,)),
        slice_of(*devices, name="b", count=2),
    ]
    assert counted(slices=slices).tally.free == 1


def test_a_whole_card_beside_its_partitions_is_an_error() -> None:
    """NVDRA#719: the node lists 80Gi cards and their MIG devices, and both can be given away."""
    parts = [mig(0, "1g.10gb", 0), mig(0, "1g.10gb", 1)]
    found = counted(slices=[slice_of(gpu(0), *parts)], claims=[claim(parts[0].name)])
    assert found.tally.physical == 1 and "whole-and-partitions" in codes(found)
    assert unit(found, "whole").further == 0
    assert unit(found, "1g.10gb").further == 1


def test_a_passthrough_twin_is_the_same_card() -> None:
    twin = Device(name="gpu-vfio-0", type="vfio", uuid="other", pci_bus_id="0000:00:00.0")
    found = counted(slices=[slice_of(twin, gpu(0))], claims=[claim("gpu-vfio-0")])
    assert found.tally.physical == found.tally.dra == 1
    assert cards(found)[0].key == "GPU-0" and unit(found, "whole").further == 0


def test_channels_and_nics_are_no_cards() -> None:
    channels = slice_of(
        Device(name="channel-0", type="channel"), driver="compute-domain.nvidia.com"
    )
    nics = slice_of(Device(name="pci-0000-03-00-0"), driver="dra.net")
    held = claim("channel-0", driver="compute-domain.nvidia.com")
    found = counted(slices=[channels, nics], claims=[held])
    assert found.tally.physical == 0 and found.faults == () and found.tenants == 0


def test_an_unknown_drivers_devices_are_cards() -> None:
    found = counted(slices=[slice_of(Device(name="npu-0"), Device(name="npu-1"), driver="x.org")])
    assert found.tally.free == 2


def test_amd_partitions_are_joined_by_their_parents_address() -> None:
    parts = [
        Device(name=f"gpu-{n}", type="amdgpu-partition", profile="dpx_nps1", pci_bus_id="3:0.0")
        for n in range(2)
    ]
    found = counted(slices=[slice_of(*parts, driver="gpu.amd.com")], claims=[])
    assert found.tally.physical == 1 and unit(found, "dpx_nps1").total == 2


def test_an_incomplete_pool_is_unknown_and_not_empty() -> None:
    found = counted(slices=[slice_of(gpu(0), count=2)], claims=[claim("gpu-0")])
    assert found.tally.unknown == found.tally.physical == 1
    assert "pool-incomplete" in codes(found)


def test_a_pool_under_replacement_keeps_its_cards() -> None:
    old = slice_of(gpu(0), gpu(1), name="old", generation=1)
    new = slice_of(gpu(0), name="new", generation=2, count=2)
    assert counted(slices=[old, new]).tally.unknown == 2


def test_older_generations_of_a_complete_pool_do_not_count() -> None:
    old = slice_of(gpu(0), gpu(1), name="old", generation=1)
    new = slice_of(gpu(0), name="new", generation=2)
    assert counted(slices=[old, new]).tally.physical == 1


def test_a_vanished_device_stays_used() -> None:
    found = counted(slices=[slice_of(gpu(0))], claims=[claim("gpu-7")])
    assert (found.tally.dra, found.tally.free) == (1, 1)
    assert codes(found) == ["vanished"]


def test_a_vanished_partition_keeps_its_card_in_use() -> None:
    found = counted(slices=[slice_of(mig(0, "1g.10gb", 0))], claims=[claim("gpu-0-mig-3g40gb-9-4")])
    assert found.tally.dra == found.tally.physical == 1 and codes(found) == ["vanished"]


def test_admin_access_uses_nothing_up() -> None:
    found = counted(slices=[slice_of(gpu(0))], claims=[claim("gpu-0", is_admin=True)])
    assert found.tally.free == 1 and found.tenants == 0


def test_a_shared_claim_is_one_card_and_several_tenants() -> None:
    found = counted(slices=[slice_of(gpu(0))], claims=[claim("gpu-0", pods=("a", "b", "c"))])
    assert found.tally.dra == 1 and found.tenants == 3
    assert cards(found)[0].devices[0].holders[0].tenants == 3


def test_shares_of_one_device_are_one_card() -> None:
    shared = gpu(0, is_shared=True)
    claims = [claim("gpu-0", name="c1"), claim("gpu-0", name="c2")]
    found = counted(slices=[slice_of(shared)], claims=claims)
    assert found.tally.dra == found.tally.physical == 1 and found.tenants == 2
    assert len(cards(found)[0].devices[0].holders) == 2


@pytest.mark.parametrize(
    ("effect", "state"),
    [("NoSchedule", State.UNHEALTHY), ("NoExecute", State.UNHEALTHY), ("None", State.DRA)],
)
def test_a_taint_outweighs_use_unless_it_only_informs(effect: str, state: State) -> None:
    sick = gpu(0, taints=(Taint("gpu.nvidia.com/xid", "79", effect),))
    found = counted(slices=[slice_of(sick)], claims=[claim("gpu-0")])
    assert cards(found)[0].state is state


def test_admin_taint_rules_reach_the_devices_they_select() -> None:
    rule = TaintRule("out", Taint("maintenance", "", "NoSchedule"), pool="n1", device="gpu-1")
    found = counted(slices=[slice_of(gpu(0), gpu(1))], rules=[rule])
    assert [card.state for card in cards(found)] == [State.FREE, State.UNHEALTHY]
    assert cards(found)[1].reason == "maintenance:NoSchedule"


def test_one_sick_partition_does_not_make_the_card_sick() -> None:
    sick = mig(0, "1g.10gb", 0, taints=(Taint("x", "", "NoSchedule"),))
    found = counted(slices=[slice_of(sick, mig(0, "1g.10gb", 1))])
    assert found.tally.free == 1
    assert (unit(found, "1g.10gb").unhealthy, unit(found, "1g.10gb").further) == (1, 1)


def test_a_node_that_is_not_ready_is_unknown() -> None:
    found = counted(slices=[slice_of(gpu(0))], nodes=[node(is_ready=False)])
    assert found.tally.unknown == 1 and cards(found)[0].reason == "the node is not ready"


def test_slices_of_a_node_that_is_gone_are_unknown() -> None:
    assert counted(slices=[slice_of(gpu(0))], nodes=[]).tally.unknown == 1


def test_a_driver_pod_that_is_not_ready_leaves_its_cards_unknown() -> None:
    driver = replace(fleets.pod(), serves="dra")
    assert counted(slices=[slice_of(gpu(0))], pods=[driver]).tally.unknown == 1


def test_labels_that_count_more_cards_than_are_published_leave_the_rest_unknown() -> None:
    """A card in MIG mode without an instance is published by nobody."""
    found = counted(slices=[slice_of(gpu(0))], nodes=[node(labels={"gpu.count": "2"})])
    assert (found.tally.free, found.tally.unknown) == (1, 1)


def test_devices_of_no_node_are_counted_apart() -> None:
    pool = slice_of(Device(name="remote-0"), node="", pool="rack", driver="x.org")
    found = count(Snapshot((node(),), (pool,)))
    assert [(one.node, one.tally.free) for one in found] == [("", 1), ("n1", 0)]
