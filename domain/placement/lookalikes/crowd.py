"""Which picture each node shows, all nodes together."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """The number of each row's picture, and the first row of each picture.

    revision: that of the ledger whose states these are.
    """

    revision: int
    numbers: list[int]
    first: Mapping[Hashable, int]

    def with_rows(self, revision: int, changed: Mapping[int, int]) -> "Crowd":
        """With other pictures on some rows."""
        numbers, first = list(self.numbers), dict(self.first)
        for row, number in changed.items():
            before, numbers[row] = numbers[row], number
            if first[before] == row:
                del first[before]
                _note_next(first, numbers, before, row + 1)
            first[number] = min(row, first.get(number, row))
        return Crowd(revision, numbers, first)


def _note_next(first: dict[Hashable, int], numbers: list[int], number: int, start: int) -> None:
    try:
        first[number] = numbers.index(number, start)
    except ValueError:
        return  # that was the only one


def first_rows(pictures: Sequence[Hashable]) -> dict[Hashable, int]:
    last = len(pictures) - 1
    return dict(zip(reversed(pictures), range(last, -1, -1), strict=True))
