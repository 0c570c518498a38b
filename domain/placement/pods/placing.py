"""A pod onto the node that a scheduler would choose, or why it stays pending."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from domain.placement.attempt import MOST_STEPS
from domain.placement.faults import Malformed
from domain.placement.features import DEFAULT, Features
from domain.placement.fleet import Fleet
from domain.placement.ledger import Ledger
from domain.placement.pods.filters import Room
from domain.placement.pods.fit import PodAttempt, PodFit, message
from domain.placement.pods.reading import read_pod
from domain.placement.pods.scoring import Scored, Strategy, best


@dataclass(frozen=True, slots=True)
class PodPlacement:
    """node is None if the pod fits nowhere; `message` then says why, in the scheduler's words.

    allocations: AllocationResult by claim name. The name "<extended-resources>" stands for the
    claim that the scheduler makes up for extended resources; `extended_claim` is that claim.
    fits: the answer for every node that was looked at.
    """

    node: str | None
    allocations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    message: str = ""
    fits: tuple[PodFit, ...] = ()
    considered_not: tuple[str, ...] = ()
    extended_claim: Mapping[str, Any] | None = None


def place_pod(
    fleet: Fleet,
    pod: Mapping[str, Any],
    features: Features = DEFAULT,
    *,
    strategy: Strategy = "least-allocated",
    nodes: Iterable[str] | None = None,
    most_steps: int = MOST_STEPS,
    ledger: Ledger | None = None,
) -> PodPlacement:
    """nodes: names in the order in which to try them; None for all by name.

    Strategy "first" stops at the first node that fits; the others look at all and score. A fatal
    answer on any node looked at ends the attempt, as in the scheduler. ledger: what is in use,
    instead of what the fleet's claims say.
    """
    try:
        wanted = read_pod(pod)
    except Malformed as problem:
        return PodPlacement(None, message=f"pod cannot be read: {problem}")
    attempt = PodAttempt.of(fleet, wanted, features, most_steps, ledger)
    fits: list[PodFit] = []
    for name in sorted(fleet.nodes) if nodes is None else nodes:
        fits.append(attempt.on(fleet.nodes[name]))
        if fits[-1].outcome == "fatal" or (strategy == "first" and fits[-1].fits):
            break
    return _chosen(attempt, fits, strategy)


def _chosen(attempt: PodAttempt, fits: list[PodFit], strategy: Strategy) -> PodPlacement:
    skipped = attempt.considered_not
    good = [one for one in fits if one.fits]
    if not good or fits[-1].outcome == "fatal":
        said = message([one for one in fits if not one.fits])
        return PodPlacement(None, message=said, fits=tuple(fits), considered_not=skipped)
    fleet, pod = attempt.fleet, attempt.pod
    scored = [
        Scored(Room(fleet.nodes[one.node], fleet.pods.on_node(one.node)), one.allocations)
        for one in good
    ]
    one = good[best(pod, attempt.claims.to_allocate, scored, strategy)]
    return PodPlacement(
        one.node,
        one.allocations,
        fits=tuple(fits),
        considered_not=skipped,
        extended_claim=attempt.extended_claim_on(fleet.nodes[one.node]),
    )
