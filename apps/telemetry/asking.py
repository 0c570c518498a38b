"""Charts and figures for pages: from rows at once, from a Prometheus by an ask.

A web request never talks to a Prometheus: the question is put, a worker answers it, and the same
question within a few seconds is the same ask, so that refreshing pages do not multiply it.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from apps.common import asks
from apps.common.models import Ask
from apps.inventory.models import Cluster
from apps.telemetry import measure, series
from apps.telemetry.lines import Chart, Line, step_of
from apps.telemetry.scopes import Scope
from domain.figures import Figure, State
from domain.metrics import CATALOGUE, Kind

SERIES, FIGURES = "telemetry.series", "telemetry.figures"
SAME_SECONDS = 15
Wanted = Sequence[tuple[str, str]]


def chart(
    cluster: Cluster,
    metric: str,
    scope: Scope,
    start: datetime,
    end: datetime,
    *,
    statistic: str = "",
    by: str = "",
    asked_by: Any = None,
) -> Chart | None:
    """The chart, or None while a worker still asks for it."""
    if not _is_far(cluster, [metric]):
        return series.series(cluster, metric, scope, start, end, statistic=statistic, by=by)
    step = step_of(start, end) * 60
    question = {
        "metric": metric,
        "statistic": statistic,
        "by": by,
        "scope": _scope(scope),
        "start": _aligned(start, step),
        "end": _aligned(end, min(step, 60)),
    }
    answer = _answer(SERIES, question, cluster, asked_by)
    if answer is None or isinstance(answer, str):
        return None if answer is None else _failed(metric, statistic, answer)
    lines = [Line(**line | {"state": State(line["state"])}) for line in answer.pop("lines")]
    return Chart(**answer | {"lines": lines, "state": State(answer["state"])})


def figures(
    cluster: Cluster,
    wanted: Wanted,
    scope: Scope,
    start: datetime,
    end: datetime,
    *,
    asked_by: Any = None,
) -> list[Figure] | None:
    """Several figures of one scope and time, or None while a worker still asks for them."""
    if not _is_far(cluster, [metric for metric, _ in wanted]):
        return [
            measure.measure(cluster, metric, scope, start, end, statistic=how)  # type: ignore[arg-type]
            for metric, how in wanted
        ]
    question = {
        "wanted": [list(one) for one in wanted],
        "scope": _scope(scope),
        "start": _aligned(start, SAME_SECONDS),
        "end": _aligned(end, SAME_SECONDS),
    }
    answer = _answer(FIGURES, question, cluster, asked_by)
    if answer is None:
        return None
    if isinstance(answer, str):
        return [Figure(None, State.ERROR, answer) for _ in wanted]
    return [_figure(one) for one in answer["figures"]]


def _is_far(cluster: Cluster, metrics: Sequence[str]) -> bool:
    """Whether answering means asking a Prometheus."""
    if all(CATALOGUE[metric].kind is Kind.ROWS for metric in metrics):
        return False
    return measure.source_of(cluster).is_prometheus


def _scope(scope: Scope) -> dict[str, str]:
    return {key: value for key, value in asdict(scope).items() if value}


def _aligned(moment: datetime, seconds: int) -> str:
    stamp = int(moment.timestamp()) // seconds * seconds
    return datetime.fromtimestamp(stamp, UTC).isoformat()


def _answer(
    kind: str, question: dict[str, Any], cluster: Cluster, user: Any
) -> dict[str, Any] | str | None:
    """The answer, the problem, or None while nobody has answered."""
    since = timezone.now() - timedelta(seconds=4 * SAME_SECONDS)
    rows = Ask.objects.filter(
        kind=kind, cluster_id=cluster.pk, question=question, created_at__gte=since
    )
    ask = rows.first() or asks.put(kind, question, asked_by=user, cluster_id=cluster.pk)
    ask = asks.wait(ask)
    if not ask.is_settled:
        return None
    if ask.state == Ask.State.FAILED:
        return ask.problem
    return dict(ask.answer or {})


def _failed(metric: str, statistic: str, problem: str) -> Chart:
    return Chart(metric, statistic, CATALOGUE[metric].unit, [], 60, [], State.ERROR, problem)


def _figure(found: dict[str, Any]) -> Figure:
    at = parse_datetime(found["at"]) if found["at"] else None
    return Figure(**found | {"at": at, "state": State(found["state"])})


def _cluster(ask: Ask) -> Cluster:
    return Cluster.objects.get(pk=ask.cluster_id or 0)


@asks.answers(SERIES)
def answer_series(ask: Ask) -> dict[str, Any]:
    cluster, question = _cluster(ask), ask.question
    found = series.series(
        cluster,
        question["metric"],
        Scope(**question["scope"]),
        datetime.fromisoformat(question["start"]),
        datetime.fromisoformat(question["end"]),
        statistic=question["statistic"],
        by=question["by"],
    )
    return asdict(found)


@asks.answers(FIGURES)
def answer_figures(ask: Ask) -> dict[str, Any]:
    cluster, question = _cluster(ask), ask.question
    scope = Scope(**question["scope"])
    start = datetime.fromisoformat(question["start"])
    end = datetime.fromisoformat(question["end"])
    found = []
    for metric, how in question["wanted"]:
        figure = measure.measure(cluster, metric, scope, start, end, statistic=how)
        found.append(asdict(figure) | {"at": figure.at.isoformat() if figure.at else None})
    return {"figures": found}
