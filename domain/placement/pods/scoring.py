"""Which of the nodes that fit: the parts of kube-scheduler's score that can be computed here.

Ties are broken by node name; the scheduler breaks them at random.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from domain.placement.claims import Claim
from domain.placement.nodeselectors import NodeSelector, term_matches
from domain.placement.pods.filters import NANO, Room, taints_of, tolerates
from domain.placement.pods.reading import Pod

Strategy = Literal["least-allocated", "most-allocated", "first"]

MOST = 100
MOST_ALTERNATIVES = 8
"""Limit of a prioritised list; the first alternative scores this much."""

_WEIGHTS = {"resources": 1, "balance": 1, "claims": 2, "affinity": 2, "taints": 3}
_SCORED = ("cpu", "memory")


@dataclass(frozen=True, slots=True)
class Scored:
    """A node that fits, with what it would take there."""

    room: Room
    allocations: Mapping[str, Mapping[str, Any]]


def best(pod: Pod, claims: Sequence[Claim], fits: Sequence[Scored], strategy: Strategy) -> int:
    """Position of the best of `fits`, which must not be empty."""
    if strategy == "first":
        return 0
    raw = {
        "resources": [_resources(pod, one.room, strategy) for one in fits],
        "balance": [_balance(pod, one.room) for one in fits],
        "claims": _normalised([_alternatives(claims, one.allocations) for one in fits]),
        "affinity": _normalised([_affinity(pod, one.room) for one in fits]),
        "taints": _reversed([_bad_taints(pod, one.room) for one in fits]),
    }
    totals = [
        sum(_WEIGHTS[name] * scores[i] for name, scores in raw.items()) for i in range(len(fits))
    ]
    return max(range(len(fits)), key=lambda i: totals[i])


def _fractions(pod: Pod, room: Room) -> list[tuple[int, int]]:
    """Requested and allocatable of what is scored, in the scheduler's integers."""
    found = []
    for resource in _SCORED:
        unit = NANO // 1000 if resource == "cpu" else NANO
        capacity = room.allocatable(resource) // unit
        if capacity:
            used = sum(one.weighed.get(resource, 0) for one in room.pods)
            found.append(((used + pod.weighed.get(resource, 0)) // unit, capacity))
    return found


def _resources(pod: Pod, room: Room, strategy: Strategy) -> int:
    scores = []
    for requested, capacity in _fractions(pod, room):
        counted = requested if strategy == "most-allocated" else capacity - requested
        scores.append(max(0, counted) * MOST // capacity)
    return sum(scores) // len(scores) if scores else 0


def _balance(pod: Pod, room: Room) -> int:
    """Higher where cpu and memory would be used alike."""
    shares = [min(1.0, requested / capacity) for requested, capacity in _fractions(pod, room)]
    if len(shares) < 2:
        return MOST
    return int((1 - abs(shares[0] - shares[1]) / 2) * MOST)


def _alternatives(claims: Sequence[Claim], allocations: Mapping[str, Mapping[str, Any]]) -> int:
    """Earlier alternatives of prioritised lists score higher (KEP-4816)."""
    score = 0
    for claim in claims:
        results = allocations.get(claim.name, {}).get("devices", {}).get("results", ())
        chosen = {one["request"] for one in results}
        for line in claim.lines:
            if line.is_prioritized:
                score += sum(
                    MOST_ALTERNATIVES - i
                    for i, one in enumerate(line.alternatives)
                    if one.full_name in chosen
                )
    return score


def _affinity(pod: Pod, room: Room) -> int:
    return sum(
        weight
        for weight, term in pod.preferred
        if not NodeSelector((term,)).problems()
        and term_matches(term, room.node.name, room.node.labels)
    )


def _bad_taints(pod: Pod, room: Room) -> int:
    return sum(
        taint.effect == "PreferNoSchedule" and not tolerates(pod, taint)
        for taint in taints_of(room)
    )


def _normalised(scores: list[int]) -> list[int]:
    top = max(scores)
    return [MOST * score // top if top else 0 for score in scores]


def _reversed(scores: list[int]) -> list[int]:
    return [MOST - score for score in _normalised(scores)]
