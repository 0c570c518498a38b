"""How requests are shared between the model pools of a deployment: what is wished, what is seen.

Weights are whole numbers that add up to 100. A gateway sends each request to a pool at random with
these chances, so what is measured differs from the wish: how far it may is the binomial bound.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.errors import InvalidValue

WHOLE = 100
#: Beyond this many standard deviations a share is no accident (one in 150,000 by chance).
SIGMAS = 4.5


@dataclass(frozen=True, slots=True)
class PoolShare:
    """What somebody asks for a pool; `weight` None when nothing is said about it."""

    name: str
    weight: int | None
    replicas: int


def weights(asked: Sequence[PoolShare], *, held: Mapping[str, int]) -> dict[str, int]:
    """The weight of each pool; raise InvalidValue for weights that do not add up to 100.

    Where nothing is said, weights that are `held` by the same pools stay; otherwise each pool gets
    the part of its replicas, as a Service would share requests.
    """
    given = {one.name: one.weight for one in asked if one.weight is not None}
    if given and len(given) < len(asked):
        raise InvalidValue("Give every pool a weight, or none.", field="pools")
    if given:
        return checked({one.name: one.weight or 0 for one in asked})
    if {one.name for one in asked} == set(held):
        return dict(held)
    return by_replicas({one.name: one.replicas for one in asked})


def checked(wanted: Mapping[str, int]) -> dict[str, int]:
    """The same weights; raise InvalidValue unless they are 0 to 100 and add up to 100."""
    for name, weight in wanted.items():
        if not 0 <= weight <= WHOLE:
            raise InvalidValue(f"The weight of {name} is a number from 0 to 100.", field="weights")
    if sum(wanted.values()) != WHOLE:
        raise InvalidValue(
            f"Weights add up to 100; these add up to {sum(wanted.values())}.", field="weights"
        )
    return dict(wanted)


def by_replicas(replicas: Mapping[str, int]) -> dict[str, int]:
    """100 shared by the number of replicas, largest remainders first; equally when all are 0."""
    parts = dict(replicas) if any(replicas.values()) else dict.fromkeys(replicas, 1)
    total = sum(parts.values())
    found = {name: WHOLE * part // total for name, part in parts.items()}
    behind = sorted(parts, key=lambda name: (-(WHOLE * parts[name] % total), name))
    for name in behind[: WHOLE - sum(found.values())]:
        found[name] += 1
    return found


def only_pool(wanted: Mapping[str, int]) -> str:
    """The pool that gets everything; "" when several get something, or none does."""
    some = [name for name, weight in wanted.items() if weight]
    return some[0] if len(some) == 1 else ""


def bound(share: float, requests: float) -> float:
    """How far a measured share may lie from `share` after that many requests, by chance.

    The half-width of a binomial proportion at SIGMAS, and one request at least, so that a share of
    0 or 1 leaves room for a request that was under way when the weight changed.
    """
    if requests <= 0:
        return 1.0
    return SIGMAS * math.sqrt(max(share * (1 - share), 0.0) / requests) + 1 / requests


def follows(wished: float, measured: float, requests: float) -> bool:
    """Whether a measured share (0 to 1) is what the wished one leads to, or may be by chance."""
    return abs(measured - wished) <= bound(wished, requests)


def expected_shares(
    wanted: Mapping[str, int], ready: Mapping[str, int], *, routed: bool
) -> dict[str, float | None]:
    """The share (0 to 1) that each pool ought to get now.

    Through a gateway that is its weight. Through one Service it is its part of the ready replicas
    among the pools that the Service selects: all of them, or the only one with weight.
    """
    if routed:
        return {name: weight / WHOLE for name, weight in wanted.items()}
    alone = only_pool(wanted)
    if alone:
        return {name: float(name == alone) for name in wanted}
    total = sum(ready.values())
    return {name: ready.get(name, 0) / total if total else None for name in wanted}
