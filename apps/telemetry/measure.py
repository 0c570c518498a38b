"""One question, one figure: what a metric was in a scope between two moments.

For decisions (gates, parity, reports) and pages alike. Never raises for what a cluster or a metrics
store does: the figure's state says it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from apps.inventory.models import Cluster
from apps.telemetry import store
from apps.telemetry.models import Source
from apps.telemetry.packing import Timed
from apps.telemetry.scopes import Scope
from domain import metrics
from domain.figures import Figure, State
from domain.metrics import Flow

Statistic = Literal["mean", "p50", "p90", "p95", "p99", "rate", "increase", "max", "ratio"]
FRESH_SECONDS = 60.0

_HISTOGRAMS = {name: name for name in ("ttft", "tpot", "request_latency", "queue_time")}
_COUNTERS = {name: name for name in ("requests", "tokens", "errors")}
_GAUGES = {name: name for name in ("queue", "running", "kv_usage")}
_UNITS = {"ttft": "s", "tpot": "s", "request_latency": "s", "queue_time": "s"}


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
    sources = _sources(cluster, scope, start, end)
    readings = store.between(sources, start, end)
    return _figure(metric, statistic, sources, readings, end)


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
    sources = _sources(cluster, scope, start, end)
    readings = store.between(sources, start, end)
    return {
        source.pod: _figure(
            metric,
            statistic,
            [source],
            {source.pk: readings[source.pk]} if source.pk in readings else {},
            end,
        )
        for source in sources
    }


def requests(cluster: Cluster, scope: Scope, start: datetime, end: datetime) -> Figure:
    """How many requests were finished in the window."""
    return measure(cluster, "requests", scope, start, end, statistic="increase")


def promql(cluster: Cluster, query: str, at: datetime) -> Figure:
    """The owner's own query; it wants a Prometheus."""
    return Figure(
        None,
        State.NOT_CONFIGURED,
        f"{cluster.slug} has no Prometheus; a PromQL query needs one",
        query=query,
    )


def _sources(cluster: Cluster, scope: Scope, start: datetime, end: datetime) -> list[Source]:
    wanted = {
        key: value
        for key in ("pool", "deployment", "tenant", "namespace")
        if (value := getattr(scope, key))
    }
    rows = Source.objects.filter(cluster=cluster, first_at__lte=end, **wanted)
    return list(rows.filter(read_at__gte=start) | rows.filter(read_at=None, first_at__gte=start))


def _figure(
    metric: str,
    statistic: str,
    sources: Sequence[Source],
    readings: Mapping[int, Sequence[Timed]],
    end: datetime,
) -> Figure:
    unit = _UNITS.get(metric, "")
    if not sources:
        return Figure(
            None, State.NOT_CONFIGURED, "no model server of this scope is read", unit=unit
        )
    heard = [timed for timed in readings.values() if end.timestamp() - timed[-1][0] < FRESH_SECONDS]
    known, total = len(heard), len(sources)
    if not heard:
        problem = next((source.problem for source in sources if source.problem), "")
        return Figure(
            None, State.TARGET_DOWN, problem or "no server was heard", unit=unit, total=total
        )
    flow = metrics.together([metrics.flow(list(timed)) for timed in readings.values()])
    value, is_known = _value(metric, statistic, flow, [timed[-1][1].gauges for timed in heard])
    at = datetime.fromtimestamp(max(timed[-1][0] for timed in heard), end.tzinfo)
    if value is None:
        state = State.NO_TRAFFIC if is_known else State.NOT_EXPORTED
        return Figure(None, state, at=at, unit=unit, known=known, total=total)
    state = State.LIVE if known == total else State.PARTIAL
    return Figure(value, state, at=at, unit=unit, known=known, total=total)


def _value(
    metric: str, statistic: str, flow: Flow, gauges: Sequence[Mapping[str, float]]
) -> tuple[float | None, bool]:
    """The value, and whether the servers tell of the metric at all."""
    if metric == "cache_hit":
        return flow.ratio("cache_hit"), flow.tells("cache_hit")
    if metric == "error_ratio":
        return flow.ratio(metric), flow.tells(metric)
    if concept := _HISTOGRAMS.get(metric):
        quantile = float(statistic[1:]) / 100 if statistic[:1] == "p" else 0.5
        return flow.quantile(concept, quantile), concept in flow.histograms
    if concept := _COUNTERS.get(metric):
        counted = flow.counters.get(concept)
        return (counted if statistic == "increase" else flow.rate(concept)), counted is not None
    concept = _GAUGES.get(metric, "")
    found = [values[concept] for values in gauges if concept in values]
    if not found:
        return None, False
    value = max(found) if statistic == "max" else sum(found)
    return (value / len(found) if concept == "kv_usage" and statistic != "max" else value), True
