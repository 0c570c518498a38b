"""Whatever a cluster publishes, every card has one state and the states add up."""

import random
from dataclasses import replace

from domain.devices import (
    ClaimUse,
    CounterSet,
    Device,
    Node,
    PodUse,
    Result,
    Slice,
    Snapshot,
    Taint,
    TaintRule,
)
from domain.inventory import NodeCount, State, count, total
from tests.domain.inventory import fleets

FLEETS = 10_000


def a_node(chance: random.Random, name: str) -> Node:
    labels: dict[str, str] = {}
    if chance.random() < 0.6:
        labels["gpu.count"] = str(chance.choice([0, 1, 2, 4, 8]))
    if chance.random() < 0.3:
        labels["gpu.replicas"] = str(chance.choice([0, 1, 4]))
    if chance.random() < 0.3:
        labels["gpu.product"] = chance.choice(["A100-MIG-1g.5gb", "T4-SHARED", "X-MIG-INVALID"])
    if chance.random() < 0.3:
        labels["mig.strategy"] = chance.choice(["none", "single", "mixed"])
    resources = {
        key: chance.choice([0, 1, 4, 8])
        for key in ("gpu", "gpu.shared", "mig-1g.10gb")
        if chance.random() < 0.3
    }
    free = {f"nvidia.com/{key}": chance.choice([0, 1, 9]) for key in resources}
    one = fleets.node(name, labels, is_ready=chance.random() > 0.1, parts=resources)
    return replace(
        one, resources={key: (pair[0], free[key]) for key, pair in one.resources.items()}
    )


def slices_of(chance: random.Random, name: str) -> list[Slice]:
    kind = chance.choice(["none", "whole", "static", "dynamic", "twins"])
    if kind == "none":
        return []
    sets: list[CounterSet] = []
    devices: list[Device] = []
    for card in range(chance.choice([1, 2])):
        if kind == "dynamic":
            counters, its_devices = fleets.cuttable(card)
            sets.append(counters)
            devices += its_devices[: chance.choice([1, 9, 26])]
        elif kind == "static":
            devices += [fleets.mig(card, "1g.10gb", start) for start in range(2)]
        else:
            devices.append(fleets.gpu(card))
        if kind == "twins":
            devices.append(fleets.gpu(card, name=f"gpu-vfio-{card}", type="vfio", uuid="v"))
    if chance.random() < 0.2:
        devices[0] = replace(devices[0], taints=(Taint("x", "", "NoSchedule"),))
    complete = chance.choice([1, 1, 1, 2])
    return [
        fleets.slice_of(
            *devices,
            node=name,
            counter_sets=tuple(sets),
            generation=chance.choice([1, 2]),
            count=complete,
            name=f"{name}-{number}",
        )
        for number in range(chance.choice([1, 1, 2]))
    ]


def a_fleet(chance: random.Random) -> Snapshot:
    names = [f"n{number}" for number in range(chance.choice([1, 2]))]
    nodes = [a_node(chance, name) for name in names if chance.random() > 0.1]
    slices = [part for name in names for part in slices_of(chance, name)]
    known = [(part, device) for part in slices for device in part.devices]
    claims = []
    for number in range(chance.choice([0, 1, 3])):
        results = [
            Result("r", part.driver, part.pool, device.name, chance.random() < 0.1)
            for part, device in chance.sample(known, min(len(known), chance.choice([1, 2])))
        ]
        if chance.random() < 0.2:
            results.append(Result("r", fleets.NVIDIA, names[0], "gpu-9"))
        claims.append(ClaimUse(f"c{number}", "t", f"c{number}", tuple(results)))
    pods: list[PodUse] = [
        fleets.pod(f"p{number}", chance.choice(names), gpu=chance.choice([1, 2, 9]))
        for number in range(chance.choice([0, 1, 3]))
    ]
    rules = [TaintRule("r", Taint("m", "", "NoSchedule"), device="gpu-0")]
    return Snapshot(
        tuple(nodes),
        tuple(slices),
        tuple(claims),
        tuple(pods),
        tuple(rules[: chance.choice([0, 0, 1])]),
    )


def check(found: list[NodeCount]) -> None:
    everything = total(found)
    cards = [card for one in found for card in one.cards or ()]
    assert everything.physical == len(cards)
    by_state = [sum(card.state is state for card in cards) for state in State]
    assert sum(by_state) == len(cards)
    assert everything.in_use == everything.dra + everything.plugin
    assert everything.untold == sum(one.cards is None for one in found)
    for one in found:
        keys = [card.key for card in one.cards or ()]
        assert len(keys) == len(set(keys))
        for unit in one.units:
            assert unit.used >= 0 and (unit.further is None or unit.further >= 0)
            if unit.total is not None and unit.path.value == "dra":
                assert unit.used + (unit.further or 0) + unit.unhealthy <= unit.total + unit.used
        names = [
            (use.driver, use.pool, use.device.name) for c in one.cards or () for use in c.devices
        ]
        assert len(names) == len(set(names))  # no device is on two cards


def test_every_card_has_one_state_on_ten_thousand_fleets() -> None:
    chance = random.Random(20261130)
    for _ in range(FLEETS):
        check(count(a_fleet(chance)))


def test_every_published_or_held_device_is_on_some_card() -> None:
    chance = random.Random(7)
    for _ in range(500):
        fleet = a_fleet(chance)
        listed = {
            (use.driver, use.pool, use.device.name)
            for one in count(fleet)
            for card in one.cards or ()
            for use in card.devices
        }
        held = {
            (result.driver, result.pool, result.device)
            for claim in fleet.claims
            for result in claim.results
            if not result.is_admin
        }
        assert held <= listed


def test_a_held_device_is_never_called_free() -> None:
    chance = random.Random(8)
    for _ in range(500):
        for one in count(a_fleet(chance)):
            for card in one.cards or ():
                if any(use.holders for use in card.devices):
                    assert card.state is not State.FREE
