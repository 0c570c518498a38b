"""One figure: samples of ours, samples of what it is compared with, and its goal.

Machines differ and are noisy, so a goal is a ratio to something measured in the same run wherever
that is possible, and a plain bound elsewhere. All goals stand in bench/goals.toml.
"""

import math
import statistics
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GOALS = Path(__file__).with_name("goals.toml")
Measure = Callable[[], Iterator["Figure"]]
MEASURES: dict[str, Measure] = {}


@dataclass(frozen=True, slots=True)
class Figure:
    """`samples` and `baseline` are in `unit`; `cell` tells apart the lines under one goal.

    `value` is the median unless given, for instance a 95th percentile.
    """

    name: str
    unit: str
    samples: Sequence[float]
    baseline: Sequence[float] = ()
    value: float | None = None
    cell: str = ""
    notes: dict[str, Any] = field(default_factory=dict)


def measures(*names: str) -> Callable[[Measure], Measure]:
    """Register what measures these figures; `ONLY` runs it when any name matches."""

    def register(measure: Measure) -> Measure:
        for name in names:
            MEASURES[name] = measure
        return measure

    return register


def goals() -> dict[str, dict[str, Any]]:
    return tomllib.loads(GOALS.read_text(encoding="utf-8"))


def line(figure: Figure, goal: dict[str, Any]) -> dict[str, Any]:
    """The figure as printed. `ratio` is what the goal bounds, when it bounds a ratio."""
    median = statistics.median(figure.samples)
    value = median if figure.value is None else figure.value
    base = statistics.median(figure.baseline) if figure.baseline else None
    ratio = None
    if base is not None and value > 0 and base > 0:
        ratio = base / value if goal.get("ratio") == "baseline/ours" else value / base
    held = ratio if "ratio" in goal else value
    return {
        "name": figure.name,
        "cell": figure.cell,
        "value": _short(value),
        "unit": figure.unit,
        "baseline": _short(base),
        "ratio": _short(ratio),
        "n": len(figure.samples),
        "min": _short(min(figure.samples)),
        "median": _short(median),
        "goal": goal.get("says", ""),
        "ok": _meets(held, value, goal),
        **figure.notes,
    }


def _meets(held: float | None, value: float, goal: dict[str, Any]) -> bool | None:
    """True or False, or None when there is no goal."""
    if "or_most" in goal and value <= goal["or_most"]:
        return True
    if held is None or not ("most" in goal or "least" in goal):
        return None
    return bool(goal.get("least", held) <= held <= goal.get("most", held))


def _short(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.4g}")


def timed(act: Callable[[], object], *, times: int, warm: int = 1) -> list[float]:
    """Milliseconds of each run, after `warm` runs that are not counted."""
    for _ in range(warm):
        act()
    found = []
    for _ in range(times):
        start = time.perf_counter()
        act()
        found.append((time.perf_counter() - start) * 1000)
    return found


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that at least `share` of them do not exceed."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]
