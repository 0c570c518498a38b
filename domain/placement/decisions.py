"""What placement answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from domain.placement.attempt import Attempt
from domain.placement.claims import Claim
from domain.placement.devices import Node
from domain.placement.faults import Fatal, NodeError, Unknown

Outcome = Literal["fits", "no", "node-error", "fatal", "unknown"]

DOES_NOT_FIT = "cannot allocate all claims"
"""kube-scheduler's own words for a node on which the search found nothing."""

RANDOM_ORDER = "which device: this scheduler walks pools in random order"


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer for some claims on one node.

    outcome: "fits"; "no" (not here); "node-error" (not here, for a reason that is at fault);
    "fatal" (ends the attempt on every node); "unknown" (cannot be told, and `reason` says why).
    `allocations` holds one AllocationResult per claim, in order, if it fits. `considered_not`
    names what a scheduler would look at and this answer does not.
    """

    node: str
    outcome: Outcome
    allocations: tuple[Mapping[str, Any], ...] = ()
    reason: str = ""
    considered_not: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        return self.outcome == "fits"

    @property
    def ends_attempt(self) -> bool:
        """Whether a scheduler that looks for one node would stop here."""
        return self.outcome in ("fits", "fatal", "unknown")


def decide(attempt: Attempt, node: Node, claims: Sequence[Claim]) -> Decision:
    names = tuple(str(claim) for claim in claims)
    random = not attempt.features.knows_which_device
    considered_not = (RANDOM_ORDER,) if random and claims else ()

    def answer(outcome: Outcome, reason: str = "") -> Decision:
        return Decision(node.name, outcome, (), reason, considered_not, names)

    try:
        found = attempt.on(node, claims)
    except NodeError as problem:
        return answer("node-error", str(problem))
    except Fatal as problem:
        return answer("fatal", str(problem))
    except Unknown as problem:
        return answer("unknown", str(problem))
    if found is None:
        return answer("no", DOES_NOT_FIT)
    return Decision(node.name, "fits", tuple(found), "", considered_not, names)
