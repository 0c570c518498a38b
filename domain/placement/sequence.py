"""Claims one after the other, state carried along, with undo."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from domain.placement.asked import holdings_of, read_claim
from domain.placement.attempt import MOST_STEPS, attempt_on
from domain.placement.decisions import Decision, decide
from domain.placement.devices import Node
from domain.placement.faults import Malformed
from domain.placement.features import Features
from domain.placement.fleet import Fleet
from domain.placement.ledger import Ledger


@dataclass(slots=True)
class Sequencer:
    """Places groups of claims on the first of its nodes that fits, and remembers them.

    Its ledger is its own: the fleet stays as it is. `most_steps` bounds each search per node.
    """

    fleet: Fleet
    features: Features
    nodes: Sequence[Node]
    most_steps: int = MOST_STEPS
    defaults: bool = True
    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = self.fleet.ledger(self.features).copy()

    def add(self, group: Sequence[Mapping[str, Any]]) -> Decision:
        """The first node that fits, or else the last word on why there is none."""
        try:
            claims = [read_claim(raw, defaults=self.defaults) for raw in group]
        except Malformed as problem:
            return Decision("", "unknown", reason=f"claim cannot be read: {problem}")
        names = tuple(str(claim) for claim in claims)
        attempt = attempt_on(self.fleet, self.features, self.ledger, self.most_steps)
        last = Decision("", "no", reason="no node fits", claims=names)
        for node in self.nodes:
            decision = decide(attempt, node, claims)
            if decision.outcome != "no":
                last = decision
            if decision.fits:
                self.keep(decision)
            if decision.ends_attempt:
                break
        return last

    def keep(self, decision: Decision) -> None:
        for allocation in decision.allocations:
            self.ledger.add(holdings_of(allocation))

    def undo(self, decision: Decision) -> None:
        """As if the group had never been placed: scale down, drain. Only once per decision."""
        for allocation in decision.allocations:
            self.ledger.remove(holdings_of(allocation))
