"""The figure that a gate's metric has in a scope and a window: one or several of the catalogue."""

from datetime import datetime

from apps.inventory.models import Cluster
from apps.telemetry import measure as telemetry
from apps.telemetry.scopes import Scope
from apps.telemetry.statistics import Statistic
from domain.figures import Figure

ERRORS = "errors"


def measure(
    cluster: Cluster,
    metric: str,
    scope: Scope,
    start: datetime,
    end: datetime,
    *,
    statistic: Statistic,
) -> Figure:
    """What a gate on `metric` judges."""
    if metric != ERRORS:
        return telemetry.measure(cluster, metric, scope, start, end, statistic=statistic)
    return _failed(cluster, scope, start, end)


def per_pod(
    cluster: Cluster,
    metric: str,
    scope: Scope,
    start: datetime,
    end: datetime,
    *,
    statistic: Statistic,
) -> dict[str, Figure]:
    """The same for each server alone."""
    known = "error_ratio" if metric == ERRORS else metric
    return telemetry.per_pod(cluster, known, scope, start, end, statistic=statistic)


def _failed(cluster: Cluster, scope: Scope, start: datetime, end: datetime) -> Figure:
    """The share of requests that fail. A stream that breaks has been answered 200 by then, so codes
    do not tell of it; why a request finished does. The worse of both counts nothing twice.
    """
    by_code, broken = (
        telemetry.measure(cluster, name, scope, start, end, statistic="ratio")
        for name in ("error_ratio", "broken_ratio")
    )
    if not broken.usable or broken.value is None or by_code.value is None or not by_code.usable:
        return by_code
    return max(by_code, broken, key=lambda one: one.value or 0.0)
