"""Which number a statistic makes of a window."""

from collections.abc import Sequence
from typing import Literal

from apps.telemetry.window import Window
from domain import metrics
from domain.metrics import Flow, Kind, Metric
from domain.metrics.buckets import total

Statistic = Literal["mean", "p50", "p90", "p95", "p99", "rate", "increase", "max", "last", "ratio"]
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
STATISTICS = ("mean", "p50", "p90", "p95", "p99", "rate", "increase", "max", "last", "ratio")


def value_of(found: Window, metric: Metric, statistic: str) -> tuple[float | None, bool]:
    """The value, and whether the servers tell of the metric at all."""
    if metric.kind is Kind.GAUGE:
        value = _gauge(found, metric, statistic)
        return value, value is not None
    flow = metrics.together(list(found.flows.values()))
    return _flow_value(flow, metric, statistic), flow.tells(metric.name)


def _flow_value(flow: Flow, metric: Metric, statistic: str) -> float | None:
    if metric.kind is Kind.RATIO:
        return flow.ratio(metric.name)
    if metric.kind is Kind.COUNTER:
        if statistic == "increase":
            return flow.counters.get(metric.name)
        return flow.rate(metric.name)
    if statistic in QUANTILES:
        return flow.quantile(metric.name, QUANTILES[statistic])
    count = total(flow.histograms.get(metric.name, {}))
    if statistic == "increase":
        return count if metric.name in flow.histograms else None
    if statistic == "rate":
        return count / flow.seconds if flow.seconds > 0 and count else None
    if statistic == "max":
        return flow.quantile(metric.name, 1.0)
    return flow.mean(metric.name)


def _gauge(found: Window, metric: Metric, statistic: str) -> float | None:
    """Over time within each server, then over the servers as the catalogue joins them."""
    series = [held[metric.name] for held in found.gauges.values() if held.get(metric.name)]
    if not series:
        return None
    if statistic == "max":
        return max(max(values) for values in series)
    if statistic in QUANTILES:
        pooled = sorted(value for values in series for value in values)
        return pooled[min(int(QUANTILES[statistic] * len(pooled)), len(pooled) - 1)]
    if statistic == "last":
        fresh = [held[metric.name] for pk, held in _fresh(found) if held.get(metric.name)]
        return _joined([values[-1] for values in fresh or series], metric)
    return _joined([sum(values) / len(values) for values in series], metric)


def _fresh(found: Window) -> list[tuple[int, dict[str, list[float]]]]:
    """The servers that were heard when the last of them was: one that is gone runs nothing."""
    newest = max(found.latest.values(), default=0.0)
    return [
        (pk, held) for pk, held in found.gauges.items() if found.latest.get(pk, 0.0) > newest - 60
    ]


def _joined(values: Sequence[float], metric: Metric) -> float | None:
    if not values:
        return None
    return sum(values) / (len(values) if metric.join == "mean" else 1)


def unit_of(metric: Metric, statistic: str) -> str:
    return f"{metric.unit}/s" if statistic == "rate" else metric.unit
