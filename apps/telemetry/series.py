"""A metric over time in a scope, as one line or several: what charts, tables and CSV are made of.

At most 500 points a line; a step in which nothing is known is None, so that gaps stay gaps.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from django.utils import timezone

from apps.inventory.models import Cluster
from apps.telemetry import columns, history, measure, promranges, window
from apps.telemetry.columns import Array, Table
from apps.telemetry.lines import MOST_LINES, Chart, Line, Span, step_of
from apps.telemetry.models import Track
from apps.telemetry.scopes import Scope
from apps.telemetry.statistics import QUANTILES, unit_of
from domain.figures import State
from domain.metrics import CATALOGUE, Kind, Metric
from domain.metrics.reading import PART, WHOLE


def series(
    cluster: Cluster,
    metric: str,
    scope: Scope,
    start: datetime,
    end: datetime,
    *,
    statistic: str = "",
    by: str = "",
) -> Chart:
    """Never raises for what a source does: the chart's state says it."""
    known = CATALOGUE[metric]
    statistic = statistic or known.statistic
    step = step_of(start, end)
    last = -(-columns.minute_of(end) // step) * step
    first = columns.minute_of(start) // step * step
    span = Span(first, max((last - first) // step, 1), step)
    if known.kind is Kind.ROWS:
        return history.chart(cluster, known, scope, span, statistic, by)
    source = measure.source_of(cluster)
    # What is kept of a longer range is shown; a range of which nothing is kept is refused.
    kept = timezone.now() if end > columns.oldest(timezone.now()) else start
    refusal = measure.refused(source, known, kept)
    empty = Chart(metric, statistic, unit_of(known, statistic), span.times, step * 60)
    if refusal is not None:
        return _without(empty, refusal.state, refusal.detail)
    if source.is_prometheus:
        return promranges.chart(source, known, scope, span, statistic, by)
    return _kept(cluster, known, scope, span, statistic, by, empty)


def _without(chart: Chart, state: State, detail: str) -> Chart:
    return Chart(
        chart.metric,
        chart.statistic,
        chart.unit,
        chart.times,
        chart.step_seconds,
        [],
        state,
        detail,
    )


# --- From the minutes that the portal keeps
def _kept(
    cluster: Cluster,
    metric: Metric,
    scope: Scope,
    span: Span,
    statistic: str,
    by: str,
    empty: Chart,
) -> Chart:
    groups = _groups(_tracks(cluster, scope, span, by), by)
    if not groups:
        return _without(empty, State.NOT_CONFIGURED, "no model server of this scope was read")
    shown = dict(sorted(groups.items(), key=lambda one: (-len(one[1]), one[0]))[:MOST_LINES])
    ids = [track.pk for tracks in shown.values() for track in tracks]
    family = metric.name if metric.kind is Kind.HISTOGRAM else ""
    held = columns.load(ids, family, span.first, span.minutes)
    lines = []
    for name, tracks in sorted(shown.items()):
        tables = [held[track.pk] for track in tracks if track.pk in held]
        values = _values(metric, statistic, tables, span)
        state, detail = _state(metric, tracks, values, tables)
        lines.append(Line(name, _listed(values), state, detail))
    state, detail = _overall(lines)
    if state is State.LIVE and span.start < columns.oldest(timezone.now()):
        state, detail = State.PARTIAL, "the portal keeps the last 24 hours only"
    return Chart(
        empty.metric,
        empty.statistic,
        empty.unit,
        empty.times,
        empty.step_seconds,
        lines,
        state,
        detail,
        f"minutes kept by the portal: {scope}",
        len(groups) - len(shown),
    )


def _tracks(cluster: Cluster, scope: Scope, span: Span, by: str) -> list[Track]:
    """Pools where they will do, since a pool has one track for all its servers."""
    is_pool = by not in {"pod", "node"} and not (scope.model or scope.namespace or scope.node)
    kind = Track.Kind.POOL if is_pool else Track.Kind.SERVER
    rows = Track.objects.filter(
        window.in_scope(cluster, scope, span.start, span.end),
        cluster=cluster,
        kind=kind,
        first_at__lte=span.end,
        tried_at__gte=span.start,
    )
    return list(rows)


_NAMES: dict[str, Callable[[Track], str]] = {
    "": lambda track: "all",
    "pool": lambda track: f"{track.deployment}/{track.pool}",
    "deployment": lambda track: f"{track.tenant}/{track.deployment}",
    "tenant": lambda track: track.tenant or "no tenant",
    "pod": lambda track: track.pod,
    "node": lambda track: track.node_name or "no node",
    "class": lambda track: "all",
}


def _groups(tracks: Sequence[Track], by: str) -> dict[str, list[Track]]:
    found: dict[str, list[Track]] = {}
    for track in tracks:
        found.setdefault(_NAMES[by](track), []).append(track)
    return found


def _values(metric: Metric, statistic: str, tables: Sequence[Table], span: Span) -> Array:
    if not tables:
        return np.full(span.count, np.nan)
    if metric.kind is Kind.GAUGE:
        return _gauge(metric, statistic, tables, span)
    minutes = columns.summed(tables)
    table = columns.steps(minutes, span.step)
    # Of the minutes that are known: one that nobody saw must not make a rate smaller.
    counted = metric.name if metric.kind is Kind.COUNTER else "inf"
    seconds = columns.known_minutes(minutes, span.step, counted) * 60.0
    with np.errstate(divide="ignore", invalid="ignore"):
        if metric.kind is Kind.RATIO:
            part = table.column(f"{metric.name}/{PART}")
            whole = table.column(f"{metric.name}/{WHOLE}")
            return np.where(whole > 0, part / whole, np.nan)
        if metric.kind is Kind.COUNTER:
            found = table.column(metric.name)
            return found if statistic == "increase" else found / seconds
        if statistic in QUANTILES:
            return columns.quantiles(table, QUANTILES[statistic])
        count = table.column("inf")
        if statistic == "increase":
            return count
        if statistic == "rate":
            return count / seconds
        if statistic == "max":
            return columns.quantiles(table, 1.0)
        return np.where(count > 0, table.column("sum") / count, np.nan)


def _gauge(metric: Metric, statistic: str, tables: Sequence[Table], span: Span) -> Array:
    """Servers side by side in each minute, then the mean (or the most) of a step's minutes."""
    name = f"{metric.name}^" if statistic == "max" else metric.name
    values = np.array([table.column(name) for table in tables], dtype="f8")
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    if statistic == "max":
        minutes = np.where(known, values, -np.inf).max(axis=0)
    elif metric.join == "mean":
        weights = np.array([table.column(columns.HEARD) for table in tables], dtype="f8")
        weights = np.where(known, np.nan_to_num(weights, nan=1.0), 0.0)
        minutes = (filled * weights).sum(axis=0) / np.maximum(weights.sum(axis=0), 1e-9)
    else:
        minutes = filled.sum(axis=0)
    any_known = known.any(axis=0)
    cut = np.where(any_known, minutes, 0.0)[: span.minutes].reshape(span.count, span.step)
    there = any_known[: span.minutes].reshape(span.count, span.step)
    if statistic == "max":
        found = np.where(there, cut, -np.inf).max(axis=1)
    else:
        found = cut.sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    return np.where(there.any(axis=1), found, np.nan)


def _listed(values: Array) -> list[float | None]:
    return [None if value != value else value for value in values.tolist()]


def _state(
    metric: Metric, tracks: Sequence[Track], values: Array, tables: Sequence[Table]
) -> tuple[State, str]:
    """What may be said of a line now."""
    newest = max((track.read_at for track in tracks if track.read_at), default=None)
    problem = next((f"{track}: {track.problem}" for track in tracks if track.problem), "")
    if np.isnan(values).all():
        return _empty(metric, tracks, tables, problem)
    if newest is None or timezone.now() - newest > timedelta(minutes=3):
        return State.STALE, problem or "nothing was read in the last minutes"
    heard, due = _coverage(tables)
    if heard < due:
        return State.PARTIAL, f"{heard:.0f} of {due:.0f} servers in the last minute. {problem}"
    return State.LIVE, ""


def _coverage(tables: Sequence[Table]) -> tuple[float, float]:
    heard = due = 0.0
    for table in tables:
        told = np.flatnonzero(~np.isnan(table.column(columns.HEARD)))
        known = table.column(columns.KNOWN)
        if len(told) and not np.isnan(known[told[-1]]):
            heard += float(table.column(columns.HEARD)[told[-1]])
            due += float(known[told[-1]])
    return heard, due


def _empty(
    metric: Metric, tracks: Sequence[Track], tables: Sequence[Table], problem: str
) -> tuple[State, str]:
    if any(track.refused for track in tracks):
        return State.NO_PERMISSION, problem
    if not any(track.read_at for track in tracks):
        return State.TARGET_DOWN, problem or "no server was heard in this time"
    tells = {f"{metric.name}/{WHOLE}", metric.name, "inf"}
    if any(tells & set(table.names) for table in tables):
        return State.NO_TRAFFIC, "no request in this time"
    if not tables and metric.kind is not Kind.HISTOGRAM:
        return State.TARGET_DOWN, problem or "no server was heard in this time"
    return State.NOT_EXPORTED, f"names tried: {', '.join(metric.names)}"


def _overall(lines: Sequence[Line]) -> tuple[State, str]:
    """Of all lines: live when each is, partial when some are, else what the first one is."""
    live = [line for line in lines if line.state is State.LIVE]
    if len(live) == len(lines):
        return State.LIVE, ""
    first = next(line for line in lines if line.state is not State.LIVE)
    if live:
        return State.PARTIAL, f"{first.name}: {first.state.value}. {first.detail}"
    return first.state, first.detail


def as_rows(chart: Chart) -> list[Mapping[str, object]]:
    """A row a step: what the table beside a chart shows and its CSV holds."""
    return [
        {"time": datetime.fromtimestamp(at, UTC)}
        | {line.name: line.values[index] for line in chart.lines}
        for index, at in enumerate(chart.times)
    ]
