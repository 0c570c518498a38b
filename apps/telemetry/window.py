"""What the tracks of a scope did between two moments, from readings or from minutes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from apps.claims.models import Use
from apps.inventory.models import Cluster
from apps.telemetry import columns, rollup, store
from apps.telemetry.models import Track
from apps.telemetry.scopes import Scope
from domain import metrics
from domain.metrics import CATALOGUE, Flow, Kind

FRESH = timedelta(seconds=60)
RAW_FOR = timedelta(hours=2)


@dataclass(slots=True)
class Window:
    """`flows` and `gauges` by track; `heard` are those that spoke at its end, `due` ought to."""

    tracks: dict[int, Track]
    flows: dict[int, Flow] = field(default_factory=dict)
    gauges: dict[int, dict[str, list[float]]] = field(default_factory=dict)
    latest: dict[int, float] = field(default_factory=dict)
    due: int = 0
    heard: int = 0

    @property
    def at(self) -> datetime | None:
        newest = max(self.latest.values(), default=None)
        return None if newest is None else datetime.fromtimestamp(newest, UTC)


def servers(cluster: Cluster, scope: Scope, start: datetime, end: datetime) -> list[Track]:
    """Model servers of the scope that were due at any time between."""
    rows = Track.objects.filter(
        in_scope(cluster, scope, start, end),
        cluster=cluster,
        kind=Track.Kind.SERVER,
        first_at__lte=end,
        tried_at__gte=start,
    )
    return list(rows.order_by("pod"))


def in_scope(cluster: Cluster, scope: Scope, start: datetime, end: datetime) -> Q:
    """The condition on tracks; a class is looked up in the uses of its devices."""
    wanted = {
        key: value
        for key in ("pool", "deployment", "tenant", "namespace", "model")
        if (value := getattr(scope, key))
    }
    condition = Q(**wanted)
    if scope.node:
        condition &= Q(node_name=scope.node)
    if scope.device_class:
        uses = Use.objects.filter(
            Q(ended_at=None) | Q(ended_at__gte=start),
            cluster=cluster,
            device_class=scope.device_class,
            allocated_at__lte=end,
        )
        using = Q(pk=None)
        for tenant, deployment, pool in uses.values_list(
            "tenant", "deployment", "model_pool"
        ).distinct():
            using |= Q(tenant=tenant, deployment=deployment, pool=pool)
        condition &= using
    return condition


def of(tracks: Sequence[Track], start: datetime, end: datetime, wanted: Sequence[str]) -> Window:
    """`wanted` names the metrics that will be asked of it."""
    window = Window({track.pk: track for track in tracks})
    window.due = sum(_spoke(track.tried_at, track.first_at, end) for track in tracks)
    if start >= timezone.now() - RAW_FOR:
        _of_readings(window, start, end)
    else:
        _of_minutes(window, start, end, wanted)
    fresh = (end - FRESH).timestamp()
    window.heard = sum(at >= fresh for at in window.latest.values())
    window.due = max(window.due, window.heard)
    return window


def _spoke(tried: datetime | None, first: datetime, end: datetime) -> bool:
    return tried is not None and first <= end and tried >= end - FRESH


def _of_readings(window: Window, start: datetime, end: datetime) -> None:
    for pk, timed in store.between(window.tracks, start, end).items():
        window.flows[pk] = metrics.flow(timed)
        gauges: dict[str, list[float]] = {}
        for _, reading in timed:
            for name, value in reading.gauges.items():
                gauges.setdefault(name, []).append(value)
        window.gauges[pk] = gauges
        window.latest[pk] = timed[-1][0]


def _of_minutes(window: Window, start: datetime, end: datetime, wanted: Sequence[str]) -> None:
    first, last = columns.minute_of(start), columns.minute_of(end)
    count = max(last - first, 1)
    numbers = columns.load(window.tracks, "", first, count)
    families = {
        name: columns.load(window.tracks, name, first, count)
        for name in wanted
        if CATALOGUE[name].kind is Kind.HISTOGRAM
    }
    for pk, table in numbers.items():
        own = {name: tables[pk] for name, tables in families.items() if pk in tables}
        window.flows[pk] = rollup.flow_of(table, own)
        window.gauges[pk] = {
            name: [value for value in table.column(name).tolist() if value == value]
            for name in table.names
            if (metric := CATALOGUE.get(name)) and metric.kind is Kind.GAUGE
        }
        heard = (table.column(columns.HEARD) > 0).nonzero()[0]
        if len(heard):
            window.latest[pk] = float(min((first + int(heard[-1]) + 1) * 60, end.timestamp()))
