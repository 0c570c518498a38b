"""Seeded chance, with an oddness that says how much of a case may be at fault."""

from collections.abc import Sequence
from random import Random
from typing import Any


class Dice:
    """Half of all cases are free of faults, so that search and results get their share."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.oddness: float = self.rng.choice((0, 0, 0.5, 1.5))

    def chance(self, likely: float) -> bool:
        return self.rng.random() < likely

    def odd(self, likely: float) -> bool:
        """For what makes a case fail rather than interesting."""
        return self.rng.random() < likely * self.oddness

    def pick(self, *options: Any) -> Any:
        return self.rng.choice(options)

    def weighted(self, options: Sequence[Any], weights: Sequence[float]) -> Any:
        return self.rng.choices(options, weights)[0]

    def some(self, options: Sequence[Any], least: int = 0, most: int | None = None) -> list[Any]:
        size = len(options) if most is None else min(most, len(options))
        return self.rng.sample(options, self.rng.randint(min(least, size), size))

    def number(self, least: int, most: int) -> int:
        return self.rng.randint(least, most)
