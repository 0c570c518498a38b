"""Pictures by number, and what is known of each whatever is asked.

A picture is a shape (what a node publishes) with a state (what of it is in use). One gallery serves
a fleet and all that come from it.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from domain.placement.cel import Path
from domain.placement.cel.device import reader
from domain.placement.pools import Candidate

MOST_PICTURES = 500_000
MOST_SHEETS = 20_000
Free = tuple[int, ...] | Literal[False]
"""Positions of the devices that are not in use; False where more is to be known than that."""


class Numbers(dict[tuple[int, Hashable], int]):
    """A number for each pair of shape and state. None is given out twice, even after forgetting."""

    def __init__(self) -> None:
        super().__init__()
        self.given = 0

    def __missing__(self, picture: tuple[int, Hashable]) -> int:
        self.given += 1
        self[picture] = self.given
        return self.given


@dataclass(slots=True, eq=False)
class Sheet:
    """What the devices of one shape publish, read attribute by attribute and kept.

    is_common: nothing but selectors and constraints speaks of any of them.
    """

    candidates: Sequence[Candidate]
    is_common: bool
    columns: dict[Path, Sequence[Hashable]] = field(default_factory=dict)
    # By the selectors of a class, what they accept.
    admitted: dict[Hashable, Sequence[int] | None] = field(default_factory=dict)
    faults: Sequence[str | None] = field(init=False)

    def __post_init__(self) -> None:
        self.faults = [one.device.view.fault for one in self.candidates]

    def projections(self, paths: Iterable[Path]) -> Sequence[Hashable]:
        """Per device what a selector that reads these paths looks at, as `Program.project`."""
        return [*zip(self.faults, *map(self._column, paths), strict=True)]

    def _column(self, path: Path) -> Sequence[Hashable]:
        found = self.columns.get(path)
        if found is None:
            read = reader(path)
            found = self.columns[path] = [read(one.device.view) for one in self.candidates]
        return found


@dataclass(slots=True, eq=False)
class Gallery:
    numbers: Numbers = field(default_factory=Numbers)
    sheets: dict[int, Sheet] = field(default_factory=dict)
    # By picture, for outlines.
    free: dict[int, Free] = field(default_factory=dict)

    def numbered(self, shapes: Iterable[int], states: Iterable[Hashable]) -> list[int]:
        if len(self.numbers) > MOST_PICTURES:
            self.numbers.clear()
            self.free.clear()
        return [*map(self.numbers.__getitem__, zip(shapes, states, strict=True))]

    def make_room(self) -> None:
        """A sheet keeps devices alive that may be gone; it is made anew when it is needed."""
        if len(self.sheets) >= MOST_SHEETS:
            self.sheets.clear()
