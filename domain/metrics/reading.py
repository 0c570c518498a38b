"""One page of a model server, as the catalogue's metrics.

Missing is absent, never zero: what a page does not name is in none of a reading's parts.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, lru_cache

from domain.metrics import buckets
from domain.metrics.buckets import Buckets
from domain.metrics.catalogue import CATALOGUE, page_names, spellings
from domain.metrics.exposition import Labels, Samples, parse
from domain.metrics.terms import Kind, Metric, Origin, Term

SERVER = frozenset({Origin.SERVER})
PART, WHOLE = "part", "whole"
MOST_SPLITS = 12


@dataclass(frozen=True, slots=True)
class Reading:
    """One server at one moment; counters, buckets and sums count since its start.

    A ratio is two counters, `name/part` and `name/whole`; a counter that is told apart by a label
    is `name/value` besides `name`. `aliases` holds which name each metric was found under.
    """

    gauges: dict[str, float] = field(default_factory=dict)
    counters: dict[str, float] = field(default_factory=dict)
    histograms: dict[str, Buckets] = field(default_factory=dict)
    sums: dict[str, float] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    model: str = ""


def read(page: str, origins: frozenset[Origin] = SERVER) -> Reading:
    """Pick the catalogued metrics out of a page; an empty page gives an empty reading.

    Raises Unreadable.
    """
    return of_samples(parse(page, page_names(origins).__contains__), origins)


def of_samples(samples: Samples, origins: frozenset[Origin] = SERVER) -> Reading:
    """The same from samples by name."""
    reading = Reading(model=_model(samples))
    for metric in _metrics(origins):
        _READERS[metric.kind](metric, samples, reading)
    return reading


@cache
def _metrics(origins: frozenset[Origin]) -> tuple[Metric, ...]:
    return tuple(one for one in CATALOGUE.values() if one.origin in origins)


def _model(samples: Samples) -> str:
    for found in samples.values():
        if name := found[0][0].get("model_name", ""):
            return name
    return ""


def _gauge(metric: Metric, samples: Samples, reading: Reading) -> None:
    for term in metric.terms:
        values = _values(term, samples, counter=False)
        if values:
            total = sum(values) * term.scale
            reading.gauges[metric.name] = total / (len(values) if metric.join == "mean" else 1)
            reading.aliases[metric.name] = term.name
            return


def _counter(metric: Metric, samples: Samples, reading: Reading) -> None:
    for term in metric.terms:
        value = _counted(term, samples)
        if value is not None:
            reading.counters[metric.name] = value
            reading.aliases[metric.name] = term.name
            if term.split:
                _split(metric, term, samples, reading)
            return


def _split(metric: Metric, term: Term, samples: Samples, reading: Reading) -> None:
    for labels, value in _matching(term, _found(term.name, samples, counter=True)):
        name = f"{metric.name}/{labels.get(term.split, '')[:24]}"
        if name in reading.counters or len(reading.counters) < len(CATALOGUE) + MOST_SPLITS:
            reading.counters[name] = reading.counters.get(name, 0.0) + value


def _ratio(metric: Metric, samples: Samples, reading: Reading) -> None:
    for part, whole in metric.pairs:
        counted, base = _counted(part, samples), _counted(whole, samples)
        if counted is not None and base is not None:
            reading.counters[f"{metric.name}/{PART}"] = counted
            reading.counters[f"{metric.name}/{WHOLE}"] = base
            reading.aliases[metric.name] = part.name
            return


def _histogram(metric: Metric, samples: Samples, reading: Reading) -> None:
    for term in metric.terms:
        for name in spellings(term.name):
            inside = list(_matching(term, samples.get(f"{name}_bucket", ())))
            held = buckets.of_samples(inside) if inside else None
            if held is None:
                continue
            reading.histograms[metric.name] = held
            reading.aliases[metric.name] = term.name
            sums = [value for _, value in _matching(term, samples.get(f"{name}_sum", ()))]
            if sums and all(map(math.isfinite, sums)):
                reading.sums[metric.name] = sum(sums)
            return


def _rows(metric: Metric, samples: Samples, reading: Reading) -> None:
    """Counted from the portal's rows; no page has it."""


_READERS = {
    Kind.GAUGE: _gauge,
    Kind.COUNTER: _counter,
    Kind.RATIO: _ratio,
    Kind.HISTOGRAM: _histogram,
    Kind.ROWS: _rows,
}


def _counted(term: Term, samples: Samples) -> float | None:
    """A counter's value; 0 where its absence says that nothing was counted yet."""
    values = _values(term, samples, counter=True)
    if values:
        return sum(values) * term.scale
    other = term.absent_is_zero_with
    return 0.0 if other and _found(other, samples, counter=True) else None


def _values(term: Term, samples: Samples, *, counter: bool) -> list[float]:
    inside = _matching(term, _found(term.name, samples, counter=counter))
    return [value for _, value in inside if math.isfinite(value)]


def _found(name: str, samples: Samples, *, counter: bool) -> list[tuple[Labels, float]]:
    for one in spellings(name, counter=counter):
        if one in samples:
            return samples[one]
    return []


def _matching(
    term: Term, samples: Iterable[tuple[Labels, float]]
) -> Iterable[tuple[Labels, float]]:
    if not term.where:
        return samples
    return (
        (labels, value)
        for labels, value in samples
        if all(_fits(pattern, labels.get(label, "")) for label, pattern in term.where)
    )


@lru_cache(maxsize=10_000)
def _fits(pattern: str, value: str) -> bool:
    return re.fullmatch(pattern, value) is not None
