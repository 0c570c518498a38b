"""A metric over time from a cluster's Prometheus."""

import math

from apps.telemetry import promclient, prometheus
from apps.telemetry.lines import MOST_LINES, Chart, Line, Span
from apps.telemetry.models import MetricsSource
from apps.telemetry.promclient import Series, Unanswered
from apps.telemetry.scopes import Scope
from apps.telemetry.statistics import unit_of
from domain.figures import State
from domain.metrics import Metric
from domain.metrics import promql as queries

# A rate needs two scrapes inside its window; most Prometheus scrape every 15 to 60 s.
SHORTEST_WINDOW = 120


def chart(
    source: MetricsSource, metric: Metric, scope: Scope, span: Span, statistic: str, by: str
) -> Chart:
    """Only tasks and workers may call it. Lines are told apart by pod, node or namespace; pools by
    their pods' names."""
    unit = unit_of(metric, statistic)
    empty = (metric.name, statistic, unit, span.times, span.step * 60)
    where = prometheus.workloads(source.cluster, scope)
    try:
        with promclient.opened(source) as asked:
            lines: list[Line] = []
            query = ""
            for name, part in _parts(source, scope, by):
                # Pools side by side may run other versions, with other names.
                chosen = prometheus.choose(asked, metric, part, span.end)
                if chosen is None:
                    continue
                matchers = queries.all_matchers(metric, part)
                labels = {"pod": ("pod",), "node": ("node",)}.get(by, ())
                seconds = max(span.step * 60, SHORTEST_WINDOW)
                query = chosen.value(matchers, seconds, statistic, labels)
                held = asked.query_range(query, span.times[0], span.times[-1], span.step * 60)
                lines += [_line(name, labels, one, span) for one in held[:MOST_LINES]]
            if not query:
                found = prometheus.absent(asked, metric, where, span.end, unit)
                return Chart(*empty, [], found.state, found.detail)
    except Unanswered as error:
        failed = prometheus.failed(error)
        return Chart(*empty, [], failed.state, failed.detail)
    if not any(value is not None for line in lines for value in line.values):
        return Chart(*empty, lines, State.NO_TRAFFIC, "no sample in this time", query)
    return Chart(*empty, lines[:MOST_LINES], State.LIVE, "", query, max(len(lines) - MOST_LINES, 0))


def _parts(source: MetricsSource, scope: Scope, by: str) -> list[tuple[str, queries.Workloads]]:
    """One query a pool, deployment or tenant; the workloads' names tell pods apart."""
    whole = prometheus.workloads(source.cluster, scope)
    if by in {"pool", "deployment"}:
        return [
            (name, queries.Workloads(((space, (name,)),), whole.model))
            for space, names in whole.prefixes
            for name in names
        ][:MOST_LINES]
    if by == "tenant":
        return [
            (space, queries.Workloads(((space, names),), whole.model))
            for space, names in whole.prefixes
        ][:MOST_LINES]
    return [("all", whole)]


def _line(name: str, labels: tuple[str, ...], found: Series, span: Span) -> Line:
    if labels:
        name = found.labels.get(labels[0], "") or "unknown"
    values = {round(at): value for at, value in found.points if math.isfinite(value)}
    listed = [values.get(at) for at in span.times]
    last = listed[-1] if listed else None
    state = State.LIVE if last is not None else State.STALE
    return Line(name, listed, state)
