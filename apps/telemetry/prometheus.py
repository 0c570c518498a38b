"""Figures from a cluster's Prometheus. Every fault is a state of the figure, none is raised."""

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from apps.inventory.models import Cluster
from apps.telemetry import promclient, rows
from apps.telemetry.models import MetricsSource
from apps.telemetry.promclient import Prometheus, Series, Unanswered
from apps.telemetry.scopes import Scope
from apps.telemetry.statistics import unit_of
from domain.figures import Figure, State
from domain.metrics import Metric, Origin
from domain.metrics import promql as queries
from domain.metrics.promql import Chosen, Workloads

LONG_AGO = timedelta(hours=1)


def workloads(cluster: Cluster, scope: Scope) -> Workloads:
    """The scope as namespaces and the beginnings of pod names: pods come and go, those stay."""
    if not any((scope.tenant, scope.namespace, scope.deployment, scope.device_class)):
        return Workloads((), scope.model or "")
    held = rows.pods(cluster, scope).values_list("namespace", "deployment", "model_pool")
    used = rows.uses(cluster, scope).values_list("namespace", "deployment", "model_pool")
    found: dict[str, set[str]] = {}
    for namespace, deployment, pool in {*held.distinct(), *used.distinct()}:
        if deployment:
            name = f"{deployment}-{pool}" if pool else deployment
            found.setdefault(namespace, set()).add(name)
    prefixes = tuple((space, tuple(sorted(names))) for space, names in sorted(found.items()))
    return Workloads(prefixes, scope.model or "")


def measure(
    source: MetricsSource,
    metric: Metric,
    scope: Scope,
    start: datetime,
    end: datetime,
    statistic: str,
) -> Figure:
    unit = unit_of(metric, statistic)
    where = workloads(source.cluster, scope)
    if not where.prefixes and _is_narrow(scope):
        return Figure(None, State.TARGET_DOWN, f"no pod of {scope} is known", unit=unit)
    try:
        with promclient.opened(source) as prometheus:
            return _measure(prometheus, source, metric, scope, where, (start, end), statistic, unit)
    except Unanswered as error:
        return failed(error, unit)


def _is_narrow(scope: Scope) -> bool:
    return any((scope.tenant, scope.namespace, scope.deployment, scope.device_class))


def failed(error: Unanswered, unit: str = "", query: str = "") -> Figure:
    state = State.NO_PERMISSION if error.refused else State.ERROR
    return Figure(None, state, str(error), unit=unit, query=query)


def _measure(
    prometheus: Prometheus,
    source: MetricsSource,
    metric: Metric,
    scope: Scope,
    where: Workloads,
    span: tuple[datetime, datetime],
    statistic: str,
    unit: str,
) -> Figure:
    start, end = span
    found = choose(prometheus, metric, where, end)
    if found is None:
        return absent(prometheus, metric, where, end, unit)
    matchers = queries.all_matchers(metric, where)
    query = found.value(matchers, int((end - start).total_seconds()), statistic)
    value = _single(prometheus.query(query, end.timestamp()))
    known = _count(prometheus.query(found.coverage(matchers), end.timestamp()))
    total = _expected(source.cluster, metric, scope, known)
    base = Figure(value, State.LIVE, "", end, unit, query, known, total)
    if value is None and known:
        return replace(base, state=State.NO_TRAFFIC, detail="no request in this time")
    if value is None:
        return replace(base, state=State.STALE, detail="no sample in this time")
    if known == 0:
        return replace(base, state=State.STALE, detail="no pod told it in the last minute")
    if known < total:
        return replace(base, state=State.PARTIAL, detail=f"{known} of {total} servers tell it")
    return base


def choose(
    prometheus: Prometheus, metric: Metric, where: Workloads, end: datetime
) -> Chosen | None:
    """The name that this Prometheus has the metric by; None where it has none of them."""
    return queries.chosen(metric, _existing(prometheus, metric, where, end))


def _existing(
    prometheus: Prometheus, metric: Metric, where: Workloads, end: datetime
) -> frozenset[str]:
    found = prometheus.query(queries.names_query(metric, where), end.timestamp())
    return frozenset(one.labels.get("__name__", "") for one in found)


def absent(
    prometheus: Prometheus, metric: Metric, where: Workloads, end: datetime, unit: str
) -> Figure:
    """Nothing under any name: are the targets down, not scraped, forgotten, or is it not there?"""
    tried = f"names tried: {', '.join(metric.names)}"
    if metric.origin is not Origin.SERVER:
        return Figure(None, State.NOT_EXPORTED, tried, unit=unit)
    ups = prometheus.query(queries.targets_query(where), end.timestamp())
    if ups and not any(one.value for one in ups):
        return Figure(
            None, State.TARGET_DOWN, f"all {len(ups)} targets are down", unit=unit, total=len(ups)
        )
    if ups:
        return Figure(None, State.NOT_EXPORTED, tried, unit=unit, total=len(ups))
    if timezone.now() - end > LONG_AGO:
        detail = "Prometheus holds nothing of these pods from then"
        return Figure(None, State.NOT_KEPT, detail, unit=unit)
    return Figure(None, State.TARGET_DOWN, "Prometheus scrapes none of these pods", unit=unit)


def _single(found: Sequence[Series]) -> float | None:
    value = found[0].value if found else math.nan
    return value if math.isfinite(value) else None


def _count(found: Sequence[Series]) -> int:
    return int(found[0].value) if found else 0


def _expected(cluster: Cluster, metric: Metric, scope: Scope, known: int) -> int:
    """How many pods ought to tell it: the ready ones, for what model servers tell."""
    if metric.origin is not Origin.SERVER:
        return known
    ready = rows.pods(cluster, scope).filter(is_ready=True)
    return max(ready.count(), known)


def per_pod(
    source: MetricsSource,
    metric: Metric,
    scope: Scope,
    start: datetime,
    end: datetime,
    statistic: str,
) -> dict[str, Figure]:
    """By pod name; a pod that is ready and told nothing has its state."""
    unit = unit_of(metric, statistic)
    where = workloads(source.cluster, scope)
    ready = rows.pods(source.cluster, scope).filter(is_ready=True)
    names = list(ready.values_list("name", flat=True))
    try:
        with promclient.opened(source) as prometheus:
            there = _existing(prometheus, metric, where, end)
            query, values = "", dict[str, float]()
            for found in queries.choices(metric, there):
                seconds = int((end - start).total_seconds())
                matchers = queries.all_matchers(metric, where)
                query = found.value(matchers, seconds, statistic, by=("pod",))
                for one in prometheus.query(query, end.timestamp()):
                    values.setdefault(one.labels.get("pod", ""), one.value)
            if not query:
                why = absent(prometheus, metric, where, end, unit)
                return dict.fromkeys(names, why)
    except Unanswered as error:
        return dict.fromkeys(names, failed(error, unit))
    return {name: _of_pod(values.get(name), unit, query, end) for name in {*names, *values} if name}


def _of_pod(value: float | None, unit: str, query: str, end: datetime) -> Figure:
    if value is None:
        return Figure(None, State.TARGET_DOWN, "nothing of this pod", unit=unit, query=query)
    if not math.isfinite(value):
        return Figure(None, State.NO_TRAFFIC, unit=unit, query=query, at=end)
    return Figure(value, State.LIVE, unit=unit, query=query, at=end)


def promql(source: MetricsSource, query: str, at: datetime) -> Figure:
    """The owner's query: exactly one series is a figure."""
    try:
        with promclient.opened(source) as prometheus:
            found = prometheus.query(query, at.timestamp())
    except Unanswered as error:
        return failed(error, query=query)
    if not found:
        return Figure(None, State.NO_TRAFFIC, "the query answers no series", query=query)
    if len(found) > 1:
        detail = f"the query answers {len(found)} series; make it one, with sum() or the like"
        return Figure(None, State.ERROR, detail, query=query)
    told = datetime.fromtimestamp(found[0].points[-1][0], UTC)
    if not math.isfinite(found[0].value):
        return Figure(None, State.NO_TRAFFIC, "the value is no number", told, query=query)
    return Figure(found[0].value, State.LIVE, at=told, query=query)
