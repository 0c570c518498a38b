"""What the search found for one picture, and how it reads on another node of that picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from domain.placement.amounts import Amount
from domain.placement.claims import Request
from domain.placement.lookalikes.album import Page
from domain.placement.results import Pick, Selected
from domain.placement.search import Solution


class At(NamedTuple):
    """A pick, by the position of its device among the node's candidates."""

    position: int
    request: Request
    consumed: Mapping[str, Amount]
    is_share: bool


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """It fits, with these picks and alternatives."""

    picks: tuple[tuple[At, ...], ...]
    selected: tuple[Selected, ...]

    @classmethod
    def of(cls, solution: Solution, page: Page) -> "Found":
        at = {id(candidate.device): i for i, candidate in enumerate(page.candidates)}
        picks = tuple(
            tuple(At(at[id(p.device)], p.request, p.consumed, p.is_share) for p in group)
            for group in solution.picks
        )
        return cls(picks, tuple(solution.selected))

    def on(self, page: Page) -> Solution:
        """The same picks, of that node's devices."""
        return Solution(
            [
                [
                    Pick(
                        one.request,
                        page.candidates[one.position].device,
                        page.candidates[one.position].slice,
                        one.consumed,
                        one.is_share,
                    )
                    for one in group
                ]
                for group in self.picks
            ],
            [list(selected) for selected in self.selected],
        )

    def devices(self, page: Page, claim: int = 0) -> Sequence[str]:
        """Names only, for comparing many answers."""
        return [page.candidates[one.position].device.id.device for one in self.picks[claim]]


@dataclass(frozen=True, slots=True)
class Untold:
    """The search gave no answer, for a reason that names no node."""

    reason: str


NO = "no"
"""The claims do not fit."""

ALONE = "alone"
"""The answer names devices or pools of this node: each node has to be asked itself."""

Plan = Found | Untold | str
