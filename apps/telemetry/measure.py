"""One question, one figure: what a metric was in a scope between two moments.

For decisions (gates, parity, reports) and pages alike. Never raises for what a cluster or a metrics
store does: the figure's state says it. A cluster with a Prometheus is asked over the network, so
only tasks and workers may measure there; pages ask by `apps.telemetry.asking`.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.utils import timezone

from apps.inventory.models import Cluster
from apps.telemetry import columns, prometheus, rows, window
from apps.telemetry.models import MetricsSource, Track
from apps.telemetry.scopes import Scope
from apps.telemetry.statistics import Statistic, unit_of, value_of
from apps.telemetry.window import Window
from domain.figures import Figure, State
from domain.metrics import CATALOGUE, Kind, Metric, Origin

__all__ = ["Scope", "Statistic", "measure", "per_pod", "promql", "requests"]


def measure(
    cluster: Cluster,
    metric: str,
    scope: Scope,
    start: datetime,
    end: datetime,
    *,
    statistic: Statistic = "mean",
) -> Figure:
    """The metric over the window, all servers of the scope together."""
    known = CATALOGUE.get(metric)
    if known is None:
        return Figure(None, State.ERROR, f"there is no metric {metric!r} in the catalogue")
    if known.kind is Kind.ROWS:
        return rows.measure(cluster, known, scope, start, end, statistic)
    source = source_of(cluster)
    if refusal := refused(source, known, start):
        return refusal
    if source.is_prometheus:
        return prometheus.measure(source, known, scope, start, end, statistic)
    found = window.of(window.servers(cluster, scope, start, end), start, end, [metric])
    return figure_of(found, known, statistic, end)


def per_pod(
    cluster: Cluster,
    metric: str,
    scope: Scope,
    start: datetime,
    end: datetime,
    *,
    statistic: Statistic = "mean",
) -> dict[str, Figure]:
    """The same for each pod alone, by pod name; a server that was not heard has its state."""
    known = CATALOGUE.get(metric)
    if known is None or known.kind is Kind.ROWS:
        return {}
    source = source_of(cluster)
    if refused(source, known, start):
        return {}
    if source.is_prometheus:
        return prometheus.per_pod(source, known, scope, start, end, statistic)
    tracks = window.servers(cluster, scope, start, end)
    found = window.of(tracks, start, end, [metric])
    return {
        track.pod: figure_of(_only(found, track, end), known, statistic, end) for track in tracks
    }


def requests(cluster: Cluster, scope: Scope, start: datetime, end: datetime) -> Figure:
    """How many requests were finished in the window."""
    return measure(cluster, "requests", scope, start, end, statistic="increase")


def promql(cluster: Cluster, query: str, at: datetime) -> Figure:
    """The owner's own query; it wants a Prometheus."""
    source = source_of(cluster)
    if not source.is_prometheus:
        detail = f"{cluster.slug} has no Prometheus; a PromQL query needs one"
        return Figure(None, State.NOT_CONFIGURED, detail, query=query)
    return prometheus.promql(source, query, at)


def source_of(cluster: Cluster) -> MetricsSource:
    """The cluster's source; without a row, its pods."""
    found = MetricsSource.objects.filter(cluster=cluster).first()
    return found or MetricsSource(cluster=cluster, kind=MetricsSource.Kind.PODS)


def refused(source: MetricsSource, metric: Metric, start: datetime) -> Figure | None:
    """Why the source cannot know the metric at all; None when it may."""
    if source.kind == MetricsSource.Kind.OFF:
        detail = f"reading metrics of {source.cluster.slug} is switched off"
        return Figure(None, State.NOT_CONFIGURED, detail, unit=metric.unit)
    if source.is_prometheus:
        return None
    if metric.origin is not Origin.SERVER:
        detail = f"the {metric.origin} exports it; that wants a Prometheus for the cluster"
        return Figure(None, State.NOT_CONFIGURED, detail, unit=metric.unit)
    if start < columns.oldest(timezone.now()):
        detail = "the portal keeps 24 hours; a Prometheus keeps longer"
        return Figure(None, State.NOT_KEPT, detail, unit=metric.unit)
    return None


def figure_of(found: Window, metric: Metric, statistic: str, end: datetime) -> Figure:
    """The value of a window with what may be said of it."""
    tracks = list(found.tracks.values())
    known, total = found.heard, found.due
    base = Figure(
        None,
        State.NOT_CONFIGURED,
        "no model server of this scope is read",
        found.at,
        unit_of(metric, statistic),
        known=known,
        total=total,
    )
    if not tracks:
        return base
    if not found.latest:
        return _silent(tracks, base)
    value, tells = value_of(found, metric, statistic)
    base = replace(base, value=value, query=f"{_alias(tracks, metric)} of {_pods(tracks)}")
    if value is None and tells:
        return replace(base, state=State.NO_TRAFFIC, detail="no request in this time")
    if value is None:
        detail = f"names tried: {', '.join(metric.names)}"
        return replace(base, state=State.NOT_EXPORTED, detail=detail)
    if known == 0:
        return replace(base, state=State.STALE, detail=_problem(tracks))
    if known < total:
        detail = f"{known} of {total} servers were heard. {_problem(tracks)}".strip()
        return replace(base, state=State.PARTIAL, detail=detail)
    mixed = any(metric.name in flow.mixed for flow in found.flows.values())
    detail = "servers with other buckets, added at the bounds they share" if mixed else ""
    return replace(base, state=State.LIVE, detail=detail)


def _silent(tracks: Sequence[Track], base: Figure) -> Figure:
    problem = _problem(tracks)
    if any(track.refused for track in tracks):
        return replace(base, state=State.NO_PERMISSION, detail=problem)
    detail = problem or "no server was heard in this time"
    return replace(base, state=State.TARGET_DOWN, detail=detail)


def _problem(tracks: Sequence[Track]) -> str:
    return next((f"{track.pod}: {track.problem}" for track in tracks if track.problem), "")


def _alias(tracks: Sequence[Track], metric: Metric) -> str:
    names = {str(track.aliases.get(metric.name, "")) for track in tracks} - {""}
    return ", ".join(sorted(names)) or metric.name


def _pods(tracks: Sequence[Track]) -> str:
    names = [track.pod for track in tracks]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _only(found: Window, track: Track, end: datetime) -> Window:
    pk = track.pk
    own = Window({pk: track})
    for name in ("flows", "gauges", "latest"):
        held = getattr(found, name)
        if pk in held:
            setattr(own, name, {pk: held[pk]})
    own.due = int(track.tried_at is not None and track.tried_at >= end - window.FRESH)
    own.heard = int(pk in own.latest and own.latest[pk] >= (end - window.FRESH).timestamp())
    return own
