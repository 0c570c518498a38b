"""What a chart consists of: steps of time, and lines of values with their states."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from domain.figures import State

MOST_POINTS = 500
MOST_LINES = 100
STEPS = (1, 2, 3, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440)  # minutes
BY = ("", "pool", "deployment", "tenant", "pod", "node", "class")


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its name, a value a step (None where nothing is known), and its state now."""

    name: str
    values: list[float | None]
    state: State
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over the same `times` (unix seconds at the end of each step)."""

    metric: str
    statistic: str
    unit: str
    times: list[int]
    step_seconds: int
    lines: list[Line] = field(default_factory=list)
    state: State = State.LIVE
    detail: str = ""
    query: str = ""
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Span:
    """`count` steps of `step` minutes from minute `first` on."""

    first: int
    count: int
    step: int

    @property
    def minutes(self) -> int:
        return self.count * self.step

    @property
    def times(self) -> list[int]:
        return [(self.first + (i + 1) * self.step) * 60 for i in range(self.count)]

    @property
    def start(self) -> datetime:
        return datetime.fromtimestamp(self.first * 60, UTC)

    @property
    def end(self) -> datetime:
        return datetime.fromtimestamp((self.first + self.minutes) * 60, UTC)


def step_of(start: datetime, end: datetime) -> int:
    """Minutes between points, so that there are at most 500."""
    minutes = max((end - start).total_seconds() / 60, 1)
    return next((step for step in STEPS if minutes / step <= MOST_POINTS), STEPS[-1])
