"""Figures that only the placement process can tell, asked every minute and kept like readings:
how many devices each class matches, and how scattered what is free is."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db.models import Q
from django.utils import timezone

from apps.common import asks
from apps.common.models import Ask
from apps.inventory.models import Cluster, Mirrored
from apps.telemetry import columns
from apps.telemetry.models import Track
from apps.telemetry.scopes import Scope
from domain.figures import Figure, State
from domain.metrics import Metric

log = structlog.get_logger(__name__)

METRICS = frozenset({"matches", "matches_free", "fragmentation"})
MOST_CLASSES = 50
WAIT_MS = 3000
SCATTERED_EVERY = 5
FRESH_MINUTES = 7


def classes(cluster: Cluster) -> list[tuple[str, list[str]]]:
    """Device classes of the cluster with their selectors."""
    rows = Mirrored.objects.filter(cluster=cluster, kind="deviceclasses").order_by("name")
    return [
        (name, [one["cel"]["expression"] for one in spec.get("selectors") or () if one.get("cel")])
        for name, spec in rows.values_list("name", "body__spec")[:MOST_CLASSES]
        if spec is not None
    ]


def record(cluster: Cluster, now: datetime) -> int:
    """Ask the placement process and keep what it answers in time; returns how many answered."""
    asked = [
        (
            Track.Kind.CLASS,
            name,
            _put(cluster, "placement.match", {"class_selectors": selectors}),
        )
        for name, selectors in classes(cluster)
    ]
    if _is_due(cluster, now):
        asked.append((Track.Kind.CLUSTER, "", _put(cluster, "placement.fragments", {})))
    rows: dict[columns.RowKey, dict[str, float]] = {}
    left = WAIT_MS
    for kind, name, ask in asked:
        before = timezone.now()
        ask = asks.wait(ask, milliseconds=max(left, 0))
        left -= int((timezone.now() - before).total_seconds() * 1000)
        values = _values(kind, ask)
        track = _track(cluster, kind, name, now, ask, answered=bool(values))
        if values:
            rows[track.pk, "", columns.minute_of(now)] = values
    columns.put(rows)
    return len(rows)


def _is_due(cluster: Cluster, now: datetime) -> bool:
    """Fragments take the placement process longer than matches: every five minutes will do."""
    since = now - timedelta(minutes=SCATTERED_EVERY, seconds=-30)
    return not Track.objects.filter(
        cluster=cluster, kind=Track.Kind.CLUSTER, key="", read_at__gte=since
    ).exists()


def _put(cluster: Cluster, kind: str, question: dict[str, Any]) -> Ask:
    if kind == "placement.match":
        question = question | {"request_selectors": []}
    return asks.put(kind, question, cluster_id=cluster.pk)


def _values(kind: str, ask: Ask) -> dict[str, float]:
    answer = ask.answer if ask.state == Ask.State.ANSWERED else None
    if not answer:
        return {}
    if kind == Track.Kind.CLASS:
        return {"matches": float(answer["matches"]), "matches_free": float(answer["free"])}
    cards = float(answer["cards"])
    return {"fragmentation": answer["stranded"] / cards} if cards else {}


def _track(
    cluster: Cluster, kind: Track.Kind, name: str, now: datetime, ask: Ask, *, answered: bool
) -> Track:
    problem = "" if answered else (ask.problem or "the placement process did not answer")
    changes: dict[str, Any] = {"problem": problem[:300]}
    if answered:
        changes["read_at"] = now
    return track_of(cluster, kind, name, now, **changes)


def track_of(cluster: Cluster, kind: Track.Kind, name: str, now: datetime, **changes: Any) -> Track:
    """The track of a class or of the cluster, made where there is none."""
    changes["tried_at"] = now
    track, _ = Track.objects.update_or_create(
        cluster=cluster,
        kind=kind,
        key=name[:260],
        defaults=changes,
        create_defaults=changes | {"first_at": now},
    )
    return track


def tracks(cluster: Cluster, scope: Scope, metric: str) -> list[Track]:
    """The tracks that hold the metric; a class scope narrows to that class."""
    kind = Track.Kind.CLUSTER if metric == "fragmentation" else Track.Kind.CLASS
    own = Q(key=scope.device_class) if scope.device_class and kind == Track.Kind.CLASS else Q()
    return list(Track.objects.filter(own, cluster=cluster, kind=kind))


def measure(
    cluster: Cluster, metric: Metric, scope: Scope, start: datetime, end: datetime, statistic: str
) -> Figure:
    """Over the minutes between; the newest one, where that is all the time asked for."""
    found = tracks(cluster, scope, metric.name)
    if not found:
        detail = "the placement process has not told it yet"
        return Figure(None, State.NOT_CONFIGURED, detail, unit=metric.unit)
    if start < columns.oldest(timezone.now()):
        return Figure(None, State.NOT_KEPT, "the portal keeps 24 hours", unit=metric.unit)
    first = columns.minute_of(min(start, end - timedelta(minutes=FRESH_MINUTES)))
    count = columns.minute_of(end) - first + 1
    held = columns.load([track.pk for track in found], "", first, count)
    values: list[float] = []
    newest = 0
    for table in held.values():
        inside = [
            (first + index, value)
            for index, value in enumerate(table.column(metric.name).tolist())
            if value == value
        ]
        if inside:
            newest = max(newest, inside[-1][0])
            values.append(_over(inside, statistic))
    at = max((track.read_at for track in found if track.read_at), default=None)
    problem = next((track.problem for track in found if track.problem), "")
    base = Figure(
        None, State.TARGET_DOWN, problem, at, metric.unit, known=len(values), total=len(found)
    )
    if not values:
        return base
    base = replace(base, value=sum(values), state=State.LIVE)
    if newest < columns.minute_of(end) - FRESH_MINUTES:
        return replace(base, state=State.STALE)
    return replace(base, state=State.PARTIAL) if len(values) < len(found) else base


def _over(inside: Iterable[tuple[int, float]], statistic: str) -> float:
    values = [value for _, value in inside]
    if statistic == "max":
        return max(values)
    if statistic == "mean":
        return sum(values) / len(values)
    return values[-1]
