"""Random cases for the oracle: one seed, one case, the same on every machine."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from domain.placement import Features
from tests.oracle.dice import Dice
from tests.oracle.oracle import in_go
from tests.oracle.random_claims import RandomClaims
from tests.oracle.random_fleet import RandomFleet

Case = dict[str, Any]

SEQUENCE_NODES = (2, 3, 4, 6, 10)
SEQUENCE_TIMEOUT = 0.05
"""Seconds per search: a sequence makes thousands."""


def cases(count: int, first_seed: int = 0) -> Iterator[Case]:
    for seed in range(first_seed, first_seed + count):
        yield case(seed)


def case(seed: int) -> Case:
    """1-4 nodes, up to 6 pools, 1-3 claims; one in seven with alpha features."""
    dice = Dice(seed)
    fleet = RandomFleet(
        dice,
        extended=dice.chance(0.15),
        size=dice.pick(2, 4, 6, 8),
        most_nodes=4,
        pools=dice.number(1, 6),
    )
    asked = RandomClaims(dice, fleet)
    return {
        "id": f"seed-{seed}",
        "mode": dice.weighted(("all", "first", "sequence"), (2, 1, 1)),
        "features": _features(dice, fleet),
        "nodes": fleet.nodes,
        "slices": fleet.slices,
        "classes": asked.classes,
        "claims": asked.claims(dice.weighted((1, 2, 3), (6, 3, 1))),
        "allocated_claims": fleet.allocated(),
        "taint_rules": fleet.taint_rules,
    }


def sequence(seed: int, most_nodes: int = 0, claims: int = 300) -> Case:
    """Many claims one after the other on one fleet, until it is full and beyond.

    Up to ten nodes unless told, most often fewer.
    """
    most_nodes = most_nodes or SEQUENCE_NODES[seed % len(SEQUENCE_NODES)]
    dice = Dice(seed)
    dice.oddness = 0
    fleet = RandomFleet(
        dice,
        extended=dice.chance(0.15),
        size=dice.pick(4, 6, 8),
        most_nodes=most_nodes,
        pools=dice.number(most_nodes, 2 * most_nodes),
    )
    asked = RandomClaims(dice, fleet)
    return {
        "id": f"sequence-{seed}",
        "mode": "sequence",
        "features": "all" if fleet.extended else "1.37",
        "nodes": fleet.nodes,
        "slices": fleet.slices,
        "classes": asked.classes,
        "claims": asked.claims(claims),
        "timeout": SEQUENCE_TIMEOUT,
        "taint_rules": fleet.taint_rules,
    }


def _features(dice: Dice, fleet: RandomFleet) -> Any:
    if dice.chance(0.05):
        return {name: dice.chance(0.7) for name in in_go(Features())}
    if fleet.extended:
        return "all"
    fractional = in_go(replace(Features.preset("1.37"), fractional_capacity_range=True))
    return dice.weighted(("1.37", fractional, "1.36", "1.34", "none"), (30, 10, 2, 1, 1))
