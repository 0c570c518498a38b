"""Pictures by number, and what is known of each whatever is asked.

A picture is a shape (what a node publishes) with a state (what of it is in use). One gallery serves
a fleet and all that come from it.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from domain.placement.cel import Path
from domain.placement.cel.device import reader
from domain.placement.ledger import Ledger
from domain.placement.pools import Candidate

MOST_PICTURES = 500_000
MOST_SHEETS = 20_000
Free = tuple[int, ...]


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
    _free: dict[int, Free | None] = field(default_factory=dict)

    def numbered(self, shapes: Iterable[int], states: Iterable[Hashable]) -> list[int]:
        if len(self.numbers) > MOST_PICTURES:
            self.numbers.clear()
            self._free.clear()
        return [*map(self.numbers.__getitem__, zip(shapes, states, strict=True))]

    def make_room(self) -> None:
        """A sheet keeps devices alive that may be gone; it is made anew when it is needed."""
        if len(self.sheets) >= MOST_SHEETS:
            self.sheets.clear()

    def free(self, picture: int, candidates: Sequence[Candidate], ledger: Ledger) -> Free | None:
        """Positions of the devices that are not in use; None if one is in part."""
        if picture not in self._free:
            self._free[picture] = _free(candidates, ledger)
        return self._free[picture]


def _free(candidates: Sequence[Candidate], ledger: Ledger) -> Free | None:
    taken, consumed = ledger.taken, ledger.consumed
    if consumed and any(one.device.id in consumed for one in candidates):
        return None
    return tuple(i for i, one in enumerate(candidates) if one.device.id not in taken)
