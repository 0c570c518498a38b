"""What is free is counted by what could be taken of it, never by sums."""

import pytest

from domain.placement import Features, Fleet, Sequencer, Upsert, apply, fitting, place
from domain.placement.fragments import Fragmentation, fragmentation
from domain.placement.groups import Group
from tests.domain.placement.fleets import (
    Raw,
    allocated,
    claim,
    device,
    device_class,
    node,
    published,
    request,
    result,
)
from tests.domain.placement.test_reports import mig_node, profile

RUNNING = Features.preset("1.37")


def of(fleet: Fleet) -> Fragmentation:
    return fragmentation(fleet, RUNNING)


def fits(found: Fragmentation) -> dict[str, int]:
    return {one.name: one.fits for one in found.profiles}


def test_an_idle_card_has_room_for_each_profile_by_its_placements() -> None:
    found = of(mig_node(2))
    assert fits(found) == {"1g.10gb": 14, "3g.40gb": 4, "whole card": 2}
    assert (found.cards, found.free, found.stranded, found.moves) == (2, 2, (), ())


def test_nvdra_932_partitions_over_two_cards_leave_none_whole_and_a_move_mends_it() -> None:
    """Seven 1g partitions, four on one card and three on the other, would all fit on one."""
    held = [f"gpu-0-1g-{i}" for i in range(4)] + [f"gpu-1-1g-{i}" for i in range(3)]
    fleet = mig_node(2, *held)
    for name in held:
        asked = allocated(f"held-{name}", result(name))
        asked["spec"] = claim("c", profile("r0", "1g.10gb"))["spec"]
        fleet = apply(fleet, Upsert(asked))
    found = of(fleet)
    assert (found.free, len(found.stranded)) == (0, 2)
    assert fits(found)["whole card"] == 0
    assert fits(found)["1g.10gb"] == 7
    (move,) = found.moves
    assert move.card.card == "gpu-1"
    assert len(move.claims) == 3


def test_nvdra_933_memory_that_is_free_but_not_adjacent_has_no_room_for_a_3g() -> None:
    found = of(mig_node(1, "gpu-0-1g-0", "gpu-0-1g-1", "gpu-0-1g-5"))
    assert fits(found) == {"1g.10gb": 4, "3g.40gb": 0, "whole card": 0}
    assert [one.card.card for one in found.stranded] == ["gpu-0"]
    assert found.moves == ()


@pytest.mark.parametrize(
    "held",
    [
        (),
        ("gpu-0-1g-0",),
        ("gpu-0-1g-4", "gpu-1-3g-0"),
        ("gpu-0-full", "gpu-1-1g-6"),
        ("gpu-0-1g-0", "gpu-0-1g-1", "gpu-0-1g-5", "gpu-1-3g-4"),
    ],
)
def test_as_many_partitions_fit_as_the_engine_places_one_after_the_other(
    held: tuple[str, ...],
) -> None:
    fleet = mig_node(2, *held)
    for name, wanted in (("1g.10gb", "1g.10gb"), ("3g.40gb", "3g.40gb"), ("whole card", "full")):
        run = Sequencer(fleet, RUNNING, [fleet.nodes["node-0"]])
        placed = 0
        while run.add([claim(f"c{placed}", profile("r0", wanted))]).fits:
            placed += 1
        assert fits(of(fleet))[name] == placed


def test_a_card_in_use_as_a_whole_is_not_stranded() -> None:
    found = of(mig_node(1, "gpu-0-full"))
    assert (found.free, found.stranded) == (0, ())


def test_test_infra_886_three_small_after_four_large_do_not_fit_though_the_sum_would() -> None:
    """What is legal by count is asked of the engine as one claim."""
    mixed = claim("c", profile("a", "3g.40gb", count=2), profile("b", "1g.10gb"))
    assert fitting(place(mig_node(1), [mixed], mode="all", features=RUNNING)) == []


def static_partitions(*held: str) -> Fleet:
    """Two cards, each cut into seven beforehand: no counters, no whole card to be had."""
    devices = []
    for card in (0, 1):
        for i in range(7):
            found = device(f"gpu-{card}-mig-{i}")
            found["attributes"] = {
                "profile": {"string": "1g.10gb"},
                "parentUUID": {"string": f"GPU-{card}"},
            }
            devices.append(found)
    holders = [allocated(f"held-{name}", result(name)) for name in held]
    return Fleet.build([node("node-0"), device_class(), published(*devices), *holders])


def test_nvdra_932_holds_for_partitions_made_beforehand() -> None:
    held = [f"gpu-0-mig-{i}" for i in range(4)] + [f"gpu-1-mig-{i}" for i in range(3)]
    found = of(static_partitions(*held))
    assert (found.cards, found.free, len(found.stranded)) == (2, 0, 2)
    assert [move.card.card for move in found.moves] == ["GPU-1"]
    packed = of(static_partitions(*(f"gpu-0-mig-{i}" for i in range(7))))
    assert (packed.free, packed.stranded, packed.moves) == (1, (), ())


def rooted(name: str, root: str) -> Raw:
    found = device(name)
    found["attributes"]["resource.kubernetes.io/pcieRoot"] = {"string": root}
    return found


def test_the_largest_group_is_by_link_domain_not_by_node() -> None:
    """Five cards are free on the node, at most three of them under one root."""
    devices = [rooted(f"a{i}", "r0") for i in range(4)] + [rooted(f"b{i}", "r1") for i in range(4)]
    objects = [published(*devices)]
    objects += [allocated(f"held-{name}", result(name)) for name in ("a0", "b0", "b1")]
    found = of(Fleet.build([node("node-0"), device_class(), *objects]))
    assert found.groups == (
        Group("gpu", "", 5, "node-0"),
        Group("gpu", "resource.kubernetes.io/pcieRoot", 3, "node-0"),
    )


def test_free_cards_on_many_nodes_are_no_group() -> None:
    objects: list[Raw] = [device_class()]
    for i in range(3):
        objects += [node(f"n{i}"), published(device("a"), node_name=f"n{i}")]
    fleet = Fleet.build(objects)
    found = of(fleet)
    assert found.groups == (Group("gpu", "", 1, "n0"),)
    assert place(fleet, [claim("c", request(count=2))])[-1].outcome == "no"


def test_when_time_is_over_it_says_that_groups_are_missing() -> None:
    found = fragmentation(mig_node(1), RUNNING, is_over=lambda: True)
    assert found.partial
    assert found.groups == ()
    assert found.cards == 1


def a_card_each(*, movable: bool) -> Fleet:
    """Two nodes with two cards each, one of each in use; a third node with one card."""
    objects: list[Raw] = [device_class(), node("c"), published(device("x"), node_name="c")]
    for name in ("a", "b"):
        objects += [node(name), published(device("x"), device("y"), node_name=name)]
        objects.append(allocated(f"held-{name}", result("x", name)))
    if not movable:
        objects.append(allocated("held-c", result("x", "c")))
        objects += [allocated(f"more-{name}", result("y", name)) for name in ("a", "b")]
    return Fleet.build(objects)


def test_a_larger_group_is_had_by_a_move_that_the_engine_carried_out() -> None:
    (move,) = of(a_card_each(movable=True)).group_moves
    assert (move.size, move.node) == (2, "a")
    assert move.claims == ("default/held-a",)
    assert set(move.to) < {"b", "c"}


def test_no_move_is_told_where_everything_is_full() -> None:
    assert of(a_card_each(movable=False)).group_moves == ()


def test_a_group_of_partitions_with_too_many_ways_to_search_is_told_as_at_least() -> None:
    """The first free partition is a whole card; upstream's order backtracks without end."""
    found = of(mig_node(4))
    (group,) = [one for one in found.groups if not one.link]
    assert group.size >= 4
    assert not group.is_sure


@pytest.mark.parametrize(
    ("driver", "type_"), [("compute-domain.nvidia.com", "daemon"), ("nets.example.com", "nic")]
)
def test_what_is_no_accelerator_is_no_card(driver: str, type_: str) -> None:
    other = published(device("channel-0"), name="others", pool="others")
    other["spec"]["driver"] = driver
    other["spec"]["devices"][0]["attributes"] = {"type": {"string": type_}}
    fleet = Fleet()
    for raw in (node(), published(device("gpu-0"), device("gpu-1")), other):
        fleet = apply(fleet, Upsert(raw))
    found = of(fleet)
    assert (found.cards, found.free) == (2, 2)
