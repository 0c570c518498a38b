"""From readings to minutes: of each server, and of each model pool together.

Runs every minute or late; minutes that were done are not done again. A gap longer than three
minutes belongs to no minute: what happened in it cannot be given to one.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from django.db import transaction

from apps.telemetry import columns, store
from apps.telemetry.models import Progress, Track
from domain import metrics
from domain.metrics import CATALOGUE, Flow, Kind, Timed

# The last scrape of a minute is stored this much later at the latest.
LAG = timedelta(seconds=20)
LONGEST_GAP = 180
MOST_MINUTES = 30

Minute = dict[str, dict[str, float]]  # family -> column -> value


@transaction.atomic
def roll_up(cluster_id: int, now: datetime) -> int:
    """Do the minutes that are over; returns how many. Another worker's turn is left to it."""
    last = columns.minute_of(now - LAG)
    start = datetime.fromtimestamp((last - 1) * 60, UTC)
    Progress.objects.get_or_create(cluster_id=cluster_id, defaults={"until": start})
    rows = Progress.objects.select_for_update(skip_locked=True).filter(cluster_id=cluster_id)
    progress = rows.first()
    if progress is None:
        return 0
    oldest = columns.minute_of(now - store.RAW_KEPT) + 1
    first = max(columns.minute_of(progress.until), oldest)
    last = min(last, first + MOST_MINUTES)
    if first >= last:
        return 0
    _roll_up(cluster_id, first, last)
    rows.update(until=datetime.fromtimestamp(last * 60, UTC))
    return last - first


def _roll_up(cluster_id: int, first: int, last: int) -> None:
    since = datetime.fromtimestamp(first * 60 - LONGEST_GAP, UTC)
    until = datetime.fromtimestamp(last * 60 - 0.001, UTC)
    tracks = {
        track.pk: track
        for track in Track.objects.filter(
            cluster_id=cluster_id, kind=Track.Kind.SERVER, tried_at__gte=since, first_at__lte=until
        )
    }
    readings = store.between(tracks, since, until)
    rows: dict[columns.RowKey, Mapping[str, float]] = {}
    pools: dict[tuple[str, str, str], dict[int, list[Minute]]] = {}
    for pk, timed in readings.items():
        track = tracks[pk]
        minutes = minutes_of(timed, first, last)
        pool = pools.setdefault((track.tenant, track.deployment, track.pool), {})
        for minute, found in minutes.items():
            pool.setdefault(minute, []).append(found)
            rows |= {(pk, family, minute): values for family, values in found.items()}
    for names, minutes_by in pools.items():
        known = sum(
            (track.tenant, track.deployment, track.pool) == names for track in tracks.values()
        )
        pk = _pool(cluster_id, names, datetime.fromtimestamp(first * 60, UTC), until)
        for minute, parts in minutes_by.items():
            found = together(parts, known)
            rows |= {(pk, family, minute): values for family, values in found.items()}
    columns.put(rows)


def _pool(cluster_id: int, names: tuple[str, str, str], at: datetime, until: datetime) -> int:
    tenant, deployment, pool = names
    track, _ = Track.objects.update_or_create(
        cluster_id=cluster_id,
        kind=Track.Kind.POOL,
        key="/".join(names),
        defaults={"tried_at": until, "read_at": until},
        create_defaults={
            "tenant": tenant,
            "deployment": deployment,
            "pool": pool,
            "first_at": at,
            "tried_at": until,
            "read_at": until,
        },
    )
    return track.pk


def minutes_of(timed: Sequence[Timed], first: int, last: int) -> dict[int, Minute]:
    """One server's minutes; a reading belongs to the minute in which it was taken."""
    found: dict[int, Minute] = {}
    before: Timed | None = None
    inside: dict[int, list[Timed]] = {}
    for one in timed:
        minute = int(one[0] // 60)
        if first <= minute < last:
            held = inside.setdefault(minute, [])
            if not held and before is not None and one[0] - before[0] <= LONGEST_GAP:
                held.append(before)
            held.append(one)
        before = one
    for minute, readings in inside.items():
        found[minute] = _minute(readings, minute)
    return found


def _minute(readings: Sequence[Timed], minute: int) -> Minute:
    numbers: dict[str, float] = {columns.HEARD: 1.0}
    own = [reading for at, reading in readings if int(at // 60) == minute]
    for name in own[-1].gauges:
        values = [reading.gauges[name] for reading in own if name in reading.gauges]
        numbers[name] = sum(values) / len(values)
        numbers[f"{name}^"] = max(values)
    found: Minute = {"": numbers}
    if len(readings) < 2:
        return found
    flow = metrics.flow(readings)
    numbers[columns.SECONDS] = flow.seconds
    numbers |= flow.counters
    for name, held in flow.histograms.items():
        family = {repr(bound): count for bound, count in held.items()}
        if name in flow.sums:
            family["sum"] = flow.sums[name]
        found[name] = family
    return found


def together(parts: Sequence[Minute], known: int) -> Minute:
    """The servers of a pool in one minute: increments add up, gauges join as the catalogue says."""
    numbers: dict[str, float] = {columns.HEARD: float(len(parts)), columns.KNOWN: float(known)}
    names = {name for part in parts for name in part[""]} - {columns.HEARD}
    for name in names:
        values = [part[""][name] for part in parts if name in part[""]]
        numbers[name] = _joined(name, values)
    found: Minute = {"": numbers}
    for family in {name for part in parts for name in part if name}:
        inside = [part[family] for part in parts if family in part]
        common = set(inside[0]).intersection(*inside[1:])
        found[family] = {name: sum(part[name] for part in inside) for name in common}
    return found


def _joined(name: str, values: Sequence[float]) -> float:
    if name.endswith("^") or name == columns.SECONDS:
        return max(values)
    metric = CATALOGUE.get(name)
    return sum(values) / (len(values) if metric and metric.join == "mean" else 1)


def _is_counted(name: str) -> bool:
    metric = CATALOGUE.get(name.partition("/")[0])
    return metric is not None and metric.kind in {Kind.COUNTER, Kind.RATIO}


def flow_of(numbers: columns.Table, families: Mapping[str, columns.Table]) -> Flow:
    """The sum of all minutes of one track, as a flow."""
    total = columns.steps(numbers, max(len(numbers.values), 1))
    row = dict(zip(total.names, total.values[0].tolist(), strict=True)) if len(total.values) else {}
    counters = {name: value for name, value in row.items() if value == value and _is_counted(name)}
    histograms, sums = {}, {}
    for name, table in families.items():
        added = columns.steps(table, max(len(table.values), 1))
        inside = dict(zip(added.names, added.values[0].tolist(), strict=True))
        held = {float(k): v for k, v in inside.items() if k != "sum" and v == v}
        if held:
            histograms[name] = dict(sorted(held.items()))
            if inside.get("sum", float("nan")) == inside.get("sum"):
                sums[name] = inside["sum"]
    seconds = row.get(columns.SECONDS, 0.0)
    return Flow(0.0 if seconds != seconds else seconds, counters, histograms, sums)
