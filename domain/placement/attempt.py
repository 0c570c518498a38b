"""One scheduling attempt: a pod's claims against any number of nodes, one after the other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from domain.placement.claims import Claim, DeviceClass
from domain.placement.counters import CounterBook
from domain.placement.devices import Node, TaintRule
from domain.placement.features import Features
from domain.placement.fleet import Fleet
from domain.placement.ledger import Ledger
from domain.placement.pools import View
from domain.placement.requests import demands
from domain.placement.results import allocation
from domain.placement.search import Search, Solution
from domain.placement.site import Site

MOST_STEPS = 200_000
"""Steps of the search per node before the answer is "unknown"; a scheduler has 10 seconds."""

Gather = Callable[[Node], View]


@dataclass(slots=True)
class Attempt:
    """Mirrors upstream's Allocator: created per pod, used for every node.

    Like there, what is left of a pool's counters is computed once, from the pool as the first
    node sees it that asks. `most_steps` bounds the search per node; raises Unknown beyond it.
    """

    classes: Mapping[str, DeviceClass]
    rules: Sequence[TaintRule]
    ledger: Ledger
    features: Features
    gather: Gather
    most_steps: int
    book: CounterBook = field(init=False)

    def __post_init__(self) -> None:
        self.book = CounterBook(self.ledger, self.features.fixed_vanished_devices)

    def on(self, node: Node, claims: Sequence[Claim]) -> list[dict[str, Any]] | None:
        """An AllocationResult per claim, or None if they do not fit here together.

        Raises NodeError, Fatal or Unknown.
        """
        solution = self.solve(node, claims)
        return None if solution is None else self.results(node, claims, solution)

    def solve(self, node: Node, claims: Sequence[Claim]) -> Solution | None:
        """The search alone. Raises as `on` does."""
        return self.search_on(node, claims).run()

    def search_on(self, node: Node, claims: Sequence[Claim]) -> Search:
        """The search before it starts, every request checked. Raises NodeError or Fatal."""
        site = Site(
            node=node,
            view=self.gather(node),
            ledger=self.ledger,
            rules=self.rules if self.features.device_taint_rules else (),
            features=self.features,
            book=self.book,
        )
        wanted = demands(site, claims, self.classes)
        return Search(site, claims, wanted, self.most_steps)

    def results(
        self, node: Node, claims: Sequence[Claim], solution: Solution
    ) -> list[dict[str, Any]]:
        """What a solution found on this node writes into the claims. Raises Fatal."""
        return [
            allocation(claim, picks, selected, node.name, self.features)
            for claim, picks, selected in zip(
                claims, solution.picks, solution.selected, strict=True
            )
        ]


def attempt_on(
    fleet: Fleet,
    features: Features,
    ledger: Ledger,
    most_steps: int = MOST_STEPS,
) -> Attempt:
    return Attempt(
        classes=fleet.classes,
        rules=tuple(fleet.rules.values()),
        ledger=ledger,
        features=features,
        gather=lambda node: fleet.view_from(node, features),
        most_steps=most_steps,
    )
