"""Claims one after the other, state carried along, with undo."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from domain.placement.asked import holdings_of, read_again
from domain.placement.attempt import MOST_STEPS, attempt_on
from domain.placement.claims import Claim
from domain.placement.decisions import Decision, decide
from domain.placement.devices import Node
from domain.placement.faults import Malformed
from domain.placement.features import Features
from domain.placement.fleet import Fleet
from domain.placement.ledger import Ledger
from domain.placement.lookalikes import Decisions, QuickAttempt, quick_attempt


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
    plain: bool = False
    ledger: Ledger = field(init=False)

    _all_by_name: bool = field(init=False)
    # By content of a group, how many nodes from the first on have no room for it.
    _full: dict[Hashable, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.ledger = self.fleet.ledger(self.features).copy()
        names = [node.name for node in self.nodes]
        self._all_by_name = names == sorted(self.fleet.nodes)

    def add(self, group: Sequence[Mapping[str, Any]]) -> Decision:
        """The first node that fits, or else the last word on why there is none."""
        try:
            read = [read_again(raw, defaults=self.defaults) for raw in group]
        except Malformed as problem:
            return Decision("", "unknown", reason=f"claim cannot be read: {problem}")
        claims = [claim for claim, _ in read]
        names = tuple(str(claim) for claim in claims)
        last = Decision("", "no", reason="no node fits", claims=names)
        for decision in self._asked(claims, tuple(one for _, one in read)):
            if decision.outcome != "no":
                last = decision
            if decision.fits:
                self.keep(decision)
            if decision.ends_attempt:
                break
        return last

    def _asked(self, claims: Sequence[Claim], content: Sequence[Hashable]) -> Iterable[Decision]:
        """Decisions in node order; those of nodes that merely do not fit may be left out."""
        if self.plain:
            attempt = attempt_on(self.fleet, self.features, self.ledger, self.most_steps)
            return (decide(attempt, node, claims) for node in self.nodes)
        quick = quick_attempt(self.fleet, self.features, self.ledger, self.most_steps)
        if self._all_by_name:
            return self._first(quick, claims, None if None in content else tuple(content))
        return (decide(quick, node, claims) for node in self.nodes)

    def _first(
        self, quick: QuickAttempt, claims: Sequence[Claim], content: Hashable
    ) -> Iterable[Decision]:
        """Where a request did not fit it still does not: since then, only more was taken."""
        start = 0 if content is None else self._full.get(content, 0)
        found = Decisions.up_to_first(quick, claims, content, start)
        if content is not None:
            self._full[content] = found.leading
        return found.telling

    def keep(self, decision: Decision) -> None:
        for allocation in decision.allocations:
            self.ledger.add(holdings_of(allocation))

    def undo(self, decision: Decision) -> None:
        """As if the group had never been placed: scale down, drain. Only once per decision."""
        self._full.clear()
        for allocation in decision.allocations:
            self.ledger.remove(holdings_of(allocation))
