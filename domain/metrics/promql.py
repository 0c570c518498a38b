"""PromQL from the catalogue: what to ask a Prometheus for a metric in a scope.

Only names that were found to exist are asked for, since a query of a name that nobody exports
answers nothing, which reads like zero.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from domain.metrics.catalogue import spellings
from domain.metrics.terms import Kind, Metric, Origin, Term

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
# A series that was not scraped for this long is stale.
FRESH_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Workloads:
    """Pods of a scope: by namespace, the names that its pods begin with; none means all pods."""

    prefixes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    model: str = ""

    def matchers(self, origin: Origin, pod: str = "pod", namespace: str = "namespace") -> list[str]:
        """Sets of label matchers, one for each namespace; together they are the scope."""
        model = (
            f'model_name="{escaped(self.model)}"' if self.model and origin is Origin.SERVER else ""
        )
        if origin in {Origin.CONTROL, Origin.PICKER} or not self.prefixes:
            return [model]
        found = []
        for space, names in self.prefixes:
            parts = [f'{namespace}="{escaped(space)}"', model]
            if names:
                pattern = "|".join(f"{re.escape(name)}-.+" for name in names)
                parts.insert(1, f'{pod}=~"{escaped(pattern)}"')
            found.append(",".join(part for part in parts if part))
        return found


def escaped(text: str) -> str:
    """A text inside a double-quoted PromQL string."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def names_query(metric: Metric, workloads: Workloads) -> str:
    """Which of the metric's names exist in the scope."""
    names: list[str] = []
    for term in (*metric.terms, *(one for pair in metric.pairs for one in pair)):
        names.extend(_candidates(metric, term))
        if term.absent_is_zero_with:
            names.extend(spellings(term.absent_is_zero_with, counter=True))
    pattern = "|".join(re.escape(name) for name in dict.fromkeys(names))
    return " or ".join(
        f"group by (__name__) ({_braces(f'__name__=~"{escaped(pattern)}"', one)})"
        for one in all_matchers(metric, workloads)
    )


def all_matchers(metric: Metric, workloads: Workloads) -> list[str]:
    """A card's exporter names the pod `pod`, or `exported_pod` where Prometheus keeps its own."""
    found = workloads.matchers(metric.origin)
    if metric.origin is Origin.CARD and workloads.prefixes:
        found += workloads.matchers(metric.origin, "exported_pod", "exported_namespace")
    return found


def _candidates(metric: Metric, term: Term) -> Iterable[str]:
    if metric.kind is Kind.HISTOGRAM:
        return [f"{name}_bucket" for name in spellings(term.name)]
    return spellings(term.name, counter=metric.kind in {Kind.COUNTER, Kind.RATIO})


def choices(metric: Metric, existing: frozenset[str]) -> "list[Chosen]":
    """All names that exist, in order: servers side by side may go by different ones."""
    found, left = [], existing
    while (one := chosen(metric, left)) is not None and one.name in _bare(left):
        found.append(one)
        left = left - {one.name, f"{one.name}_bucket"}
    return found


def _bare(existing: frozenset[str]) -> frozenset[str]:
    return frozenset(name.removesuffix("_bucket") for name in existing)


def chosen(metric: Metric, existing: frozenset[str]) -> "Chosen | None":
    """The first term, or pair of terms, whose names exist, in the spelling that exists."""
    if metric.kind is Kind.RATIO:
        for part, whole in metric.pairs:
            one, other = _spelt(metric, part, existing), _spelt(metric, whole, existing)
            if one and other:
                return Chosen(metric, part, one, whole, other)
        return None
    for term in metric.terms:
        if name := _spelt(metric, term, existing):
            return Chosen(metric, term, name)
    return None


def _spelt(metric: Metric, term: Term, existing: frozenset[str]) -> str:
    for name in _candidates(metric, term):
        if name in existing:
            return name.removesuffix("_bucket") if metric.kind is Kind.HISTOGRAM else name
    other = term.absent_is_zero_with
    if other and any(name in existing for name in spellings(other, counter=True)):
        return term.name
    return ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A metric under the name that this Prometheus has it by."""

    metric: Metric
    term: Term
    name: str
    whole: Term | None = None
    whole_name: str = ""

    def value(
        self, matchers: Sequence[str], seconds: int, statistic: str, by: Sequence[str] = ()
    ) -> str:
        """The query of the metric over the last `seconds`, told apart by the labels `by`."""
        window = f"[{max(seconds, 1)}s]"
        kind = self.metric.kind
        if kind is Kind.HISTOGRAM:
            return self._histogram(matchers, window, statistic, by)
        if kind is Kind.RATIO and self.whole is not None:
            part = _sum(self._all("increase", self.term, self.name, matchers, window), by)
            whole = _sum(self._all("increase", self.whole, self.whole_name, matchers, window), by)
            return f"({_or_zero(part, whole, self.term)}) / ({whole})"
        if kind is Kind.COUNTER:
            function = "increase" if statistic == "increase" else "rate"
            inside = self._all(function, self.term, self.name, matchers, window)
            query = _sum(inside, by)
            if other := self.term.absent_is_zero_with:
                whole = _sum(self._all(function, Term(other), other, matchers, window), by)
                query = _or_zero(query, whole, self.term)
            return query
        return self._gauge(matchers, window, statistic, by)

    def coverage(self, matchers: Sequence[str]) -> str:
        """How many pods told it in the last minute."""
        name = f"{self.name}_count" if self.metric.kind is Kind.HISTOGRAM else self.name
        window = f"[{FRESH_SECONDS}s]"
        inside = self._all("last_over_time", Term(name), name, matchers, window)
        return f"count(count by (namespace, pod) ({inside}))"

    def _all(
        self, function: str, term: Term, name: str, matchers: Sequence[str], window: str
    ) -> str:
        where = ",".join(f'{label}=~"{escaped(pattern)}"' for label, pattern in term.where)
        parts = [f"{function}({name}{_braces(where, one)}{window})" for one in matchers]
        inside = " or ".join(parts)
        return inside if term.scale == 1 else f"({inside}) * {term.scale:.15g}"

    def _histogram(
        self, matchers: Sequence[str], window: str, statistic: str, by: Sequence[str]
    ) -> str:
        term = self.term
        if statistic in {"increase", "rate", "mean"}:
            function = "increase" if statistic == "increase" else "rate"
            count = _sum(self._all(function, term, f"{self.name}_count", matchers, window), by)
            if statistic != "mean":
                return count
            total = _sum(self._all(function, term, f"{self.name}_sum", matchers, window), by)
            return f"({total}) / ({count})"
        q = 1.0 if statistic == "max" else QUANTILES.get(statistic, 0.5)
        name = f"{self.name}_bucket"
        inside = self._all("increase", term, name, matchers, window)
        labels = ", ".join((*by, "le"))
        counted = f"count by ({labels}) ({inside})"
        group = ", ".join(by)
        # Servers may have other buckets: only bounds that all of them have may be added.
        most = f"group_left max by ({group}) ({counted})"
        shared = f"{counted} == on ({group}) {most}"
        added = f"sum by ({labels}) ({inside}) and on ({labels}) ({shared})"
        return f"histogram_quantile({q}, {added})"

    def _gauge(
        self, matchers: Sequence[str], window: str, statistic: str, by: Sequence[str]
    ) -> str:
        if statistic == "max":
            inside = self._all("max_over_time", self.term, self.name, matchers, window)
            return _grouped("max", inside, by)
        if statistic in QUANTILES:
            q = QUANTILES[statistic]
            inside = self._all("avg_over_time", self.term, self.name, matchers, window)
            return _grouped("quantile", inside, by, f"{q}, ")
        function = "last_over_time" if statistic == "last" else "avg_over_time"
        inside = self._all(function, self.term, self.name, matchers, window)
        return _grouped("avg" if self.metric.join == "mean" else "sum", inside, by)


def _braces(*matchers: str) -> str:
    inside = ",".join(one for one in matchers if one)
    return f"{{{inside}}}" if inside else ""


def _sum(inside: str, by: Sequence[str]) -> str:
    return _grouped("sum", inside, by)


def _grouped(function: str, inside: str, by: Sequence[str], first: str = "") -> str:
    group = f" by ({', '.join(by)})" if by else ""
    return f"{function}{group} ({first}{inside})"


def _or_zero(query: str, whole: str, term: Term) -> str:
    """A counter comes into being with its first event: until then it is 0, if others count."""
    return f"{query} or ({whole}) * 0" if term.absent_is_zero_with else query


def targets_query(workloads: Workloads) -> str:
    """Whether Prometheus scrapes the pods of the scope, and how it goes: `up` of each."""
    return " or ".join(f"up{_braces(one)}" for one in workloads.matchers(Origin.CARD))
