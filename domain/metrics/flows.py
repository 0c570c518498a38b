"""From cumulative readings to what happened in between."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from domain.metrics import buckets
from domain.metrics.buckets import Buckets
from domain.metrics.reading import PART, WHOLE, Reading

Timed = tuple[float, Reading]


@dataclass(frozen=True, slots=True)
class Flow:
    """What happened between readings of one or more servers: increments, over `seconds`.

    `mixed` names histograms that were put together from other bounds: coarser, not wrong.
    """

    seconds: float
    counters: dict[str, float]
    histograms: dict[str, Buckets] = field(default_factory=dict)
    sums: dict[str, float] = field(default_factory=dict)
    mixed: frozenset[str] = frozenset()

    def rate(self, metric: str) -> float | None:
        """Increments per second, None when nobody reports the metric."""
        if metric not in self.counters or self.seconds <= 0:
            return None
        return self.counters[metric] / self.seconds

    def ratio(self, metric: str) -> float | None:
        """Part of whole, None without traffic."""
        whole = self.counters.get(f"{metric}/{WHOLE}", 0.0)
        return self.counters.get(f"{metric}/{PART}", 0.0) / whole if whole > 0 else None

    def quantile(self, metric: str, q: float) -> float | None:
        return buckets.quantile(self.histograms.get(metric, {}), q)

    def mean(self, metric: str) -> float | None:
        """The mean of a histogram's observations, None without any or without their sum."""
        count = buckets.total(self.histograms.get(metric, {}))
        return self.sums[metric] / count if count > 0 and metric in self.sums else None

    def tells(self, metric: str) -> bool:
        """Whether any server reports it at all: then no value means no traffic."""
        return (
            metric in self.counters
            or metric in self.histograms
            or f"{metric}/{WHOLE}" in self.counters
        )


def flow(readings: Sequence[Timed]) -> Flow:
    """Add up the increments of one server's readings, as (unix seconds, reading) in time order.

    A counter that went down was reset: its new value is the increment, as PromQL's increase() has
    it.
    """
    counters: dict[str, float] = defaultdict(float)
    histograms: dict[str, Buckets] = {}
    sums: dict[str, float] = defaultdict(float)
    for (_, before), (_, after) in pairwise(readings):
        for name in before.counters.keys() & after.counters.keys():
            if _renamed(name, before, after):
                continue
            counters[name] += increase(before.counters[name], after.counters[name])
        for name in before.sums.keys() & after.sums.keys():
            sums[name] += increase(before.sums[name], after.sums[name])
        for name in before.histograms.keys() & after.histograms.keys():
            added = buckets.grown(before.histograms[name], after.histograms[name])
            if added is not None:
                held = histograms.get(name)
                histograms[name] = added if held is None else buckets.added(held, added)
    seconds = readings[-1][0] - readings[0][0] if readings else 0.0
    return Flow(seconds, dict(counters), histograms, dict(sums))


def _renamed(name: str, before: Reading, after: Reading) -> bool:
    """Whether the two readings found it under other names: their counts do not compare."""
    metric = name.partition("/")[0]
    return before.aliases.get(metric) != after.aliases.get(metric)


def increase(before: float, after: float) -> float:
    return after - before if after >= before else after


def together(flows: Sequence[Flow]) -> Flow:
    """Servers side by side: increments add up over the longest time any of them was watched.

    Histograms of other bounds are added at the bounds that they share.
    """
    counters: dict[str, float] = defaultdict(float)
    sums: dict[str, float] = defaultdict(float)
    histograms: dict[str, Buckets] = {}
    mixed: set[str] = set()
    for part in flows:
        for name, value in part.counters.items():
            counters[name] += value
        for name, value in part.sums.items():
            sums[name] += value
        for name, added in part.histograms.items():
            held = histograms.get(name)
            if held is not None and held.keys() != added.keys():
                mixed.add(name)
            histograms[name] = added if held is None else buckets.added(held, added)
    return Flow(
        max((part.seconds for part in flows), default=0.0),
        dict(counters),
        histograms,
        dict(sums),
        frozenset(mixed).union(*(part.mixed for part in flows)),
    )
