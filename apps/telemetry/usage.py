"""Device hours by tenant, class or deployment: from days that are summed up, and uses since.

A day that is over does not change, except when a cluster is heard of later: uses that are new and
began before are found by their number, and their days are summed up again.
"""

# Names of tables and columns come from this module, values are parameters.
# ruff: noqa: S608

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Min

from apps.claims.models import Use
from apps.telemetry.models import UsageDay, UsageState

BY = {"tenant": "tenant", "class": "device_class", "deployment": "deployment", "cluster": "cluster"}
GRAIN = {"hour": 3600, "day": 86400, "week": 7 * 86400, "month": 0}
MOST_DAYS_A_RUN = 31
HISTORY = timedelta(days=400)
# A part is that of the share, of the device, or of the plugin's resource on its node; else whole.
_JOIN = """
    LEFT JOIN telemetry_part p ON p.cluster_id = u.cluster_id AND p.driver = u.driver
        AND p.pool = CASE WHEN u.driver = '' THEN u.node_name ELSE u.pool END
        AND p.device = CASE WHEN u.driver = '' THEN u.device_class ELSE u.device END
        AND p.share_id = u.share_id
"""
_DAY = f"""
INSERT INTO telemetry_usageday
    (day, cluster_id, tenant, deployment, device_class, seconds, charged, uses)
SELECT %(day)s, u.cluster_id, u.tenant, u.deployment, u.device_class,
    sum(extract(epoch FROM least(coalesce(u.ended_at, %(end)s), %(end)s)
        - greatest(u.allocated_at, %(start)s)) * u.amount),
    sum(extract(epoch FROM least(coalesce(u.ended_at, %(end)s), %(end)s)
        - greatest(u.allocated_at, %(start)s)) * u.amount * coalesce(p.part, 1)),
    count(*)
FROM claims_use u {_JOIN}
WHERE u.allocated_at < %(end)s AND (u.ended_at IS NULL OR u.ended_at > %(start)s)
GROUP BY u.cluster_id, u.tenant, u.deployment, u.device_class
"""


# --- Summing up days
def sum_up(now: datetime) -> int:
    """Sum up the days that are over and not yet summed; returns how many. Repeatable."""
    today = now.astimezone(UTC).date()
    done = 0
    for _ in range(MOST_DAYS_A_RUN):
        if not _sum_up_one(today):
            return done
        done += 1
    return done


@transaction.atomic
def _sum_up_one(today: date) -> bool:
    state = UsageState.objects.select_for_update(skip_locked=True).filter(pk=1).first()
    if state is None:
        if UsageState.objects.filter(pk=1).exists():
            return False  # another worker is at it
        first = Use.objects.aggregate(first=Min("allocated_at"))["first"]
        if first is None:
            return False
        begun = max(first.astimezone(UTC).date(), today - HISTORY)
        state = UsageState.objects.create(pk=1, until=begun)
    _go_back(state, today)
    if state.until >= today:
        state.save()
        return False
    _write_day(state.until)
    state.until += timedelta(days=1)
    state.save()
    return True


def _go_back(state: UsageState, today: date) -> None:
    """To the first day that uses which came in since belong to."""
    new = Use.objects.filter(pk__gt=state.last_use).order_by("-pk")
    newest = new.values_list("pk", flat=True).first()
    if newest is None:
        return
    if state.last_use:
        first = new.aggregate(first=Min("allocated_at"))["first"].astimezone(UTC).date()
        state.until = max(min(state.until, first), today - HISTORY)
    state.last_use = newest


def _write_day(day: date) -> None:
    UsageDay.objects.filter(day=day).delete()
    start = datetime.combine(day, time(), UTC)
    with connection.cursor() as cursor:
        cursor.execute(_DAY, {"day": day, "start": start, "end": start + timedelta(days=1)})


# --- Asking
@dataclass(frozen=True, slots=True)
class Asked:
    """Which time, whose, and how it is told apart. Empty texts narrow nothing."""

    start: datetime
    end: datetime
    by: str = "tenant"
    grain: str = "day"
    tenants: tuple[str, ...] | None = None  # None: all
    cluster: str = ""
    device_class: str = ""


@dataclass(frozen=True, slots=True)
class Amount:
    """Device hours of one group, and hours of whole cards that they are charged as."""

    name: str
    device_hours: float
    card_hours: float
    uses: int


@dataclass(frozen=True, slots=True)
class Step:
    """Of one group in one step of time."""

    at: datetime
    name: str
    card_hours: float


def amounts(asked: Asked, now: datetime) -> list[Amount]:
    """By group, the largest first."""
    query, params = _parts_of(asked, now)
    sql = f"""
        SELECT name, sum(seconds) / 3600, sum(charged) / 3600, sum(uses)
        FROM ({query}) parts GROUP BY name ORDER BY 3 DESC, 1
    """
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return [Amount(n, float(d), float(c), int(u)) for n, d, c, u in cursor.fetchall()]


def steps(asked: Asked, now: datetime) -> list[Step]:
    """By group and step of time. Hours are counted from the uses, longer steps from days."""
    if asked.grain == "hour":
        return _hours(asked, now)
    query, params = _parts_of(asked, now)
    sql = f"""
        SELECT date_trunc(%s, at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC', name,
            sum(charged) / 3600
        FROM ({query}) parts GROUP BY 1, 2 ORDER BY 1, 2
    """
    with connection.cursor() as cursor:
        cursor.execute(sql, [asked.grain, *params])
        return [Step(at, name, float(hours)) for at, name, hours in cursor.fetchall()]


def _parts_of(asked: Asked, now: datetime) -> tuple[str, list[Any]]:
    """Whole days that are summed up, and uses for the rest, as one query."""
    end = min(asked.end, now)
    state = UsageState.objects.filter(pk=1).first()
    summed = datetime.combine(state.until, time(), UTC) if state else asked.start
    first = midnight(asked.start, up=True)
    last = min(midnight(end), summed)
    pieces, params = [], list[Any]()
    if first < last:
        where, own = _where(asked, "d")
        pieces.append(
            f"SELECT d.day::timestamp AT TIME ZONE 'UTC' AS at, {_name(asked.by, 'd')} AS name,"
            " d.seconds, d.charged, d.uses FROM telemetry_usageday d"
            f" WHERE d.day >= %s AND d.day < %s {where}"
        )
        params += [first.date(), last.date(), *own]
        edges = [(asked.start, first), (last, end)]
    else:
        edges = [(asked.start, end)]
    for begin, over in edges:
        for low, high in _by_day(begin, over):
            piece, own = _of_uses(asked, low, high)
            pieces.append(piece)
            params += own
    if not pieces:
        return "SELECT now() AS at, '' AS name, 0 AS seconds, 0 AS charged, 0 AS uses LIMIT 0", []
    return " UNION ALL ".join(pieces), params


def _by_day(begin: datetime, over: datetime) -> list[tuple[datetime, datetime]]:
    """The time cut at midnights, so that each piece belongs to one day."""
    found = []
    while begin < over:
        high = min(midnight(begin) + timedelta(days=1), over)
        found.append((begin, high))
        begin = high
    return found


def _of_uses(asked: Asked, low: datetime, high: datetime) -> tuple[str, list[Any]]:
    where, own = _where(asked, "u")
    seconds = (
        "extract(epoch FROM least(coalesce(u.ended_at, %s), %s)"
        " - greatest(u.allocated_at, %s)) * u.amount"
    )
    piece = (
        f"SELECT %s::timestamptz AS at, {_name(asked.by, 'u')} AS name, {seconds} AS seconds,"
        f" {seconds} * coalesce(p.part, 1) AS charged, 1 AS uses FROM claims_use u {_JOIN}"
        f" WHERE u.allocated_at < %s AND (u.ended_at IS NULL OR u.ended_at > %s) {where}"
    )
    return piece, [low, high, high, low, high, high, low, high, low, *own]


def _hours(asked: Asked, now: datetime) -> list[Step]:
    where, own = _where(asked, "u")
    end = min(asked.end, now)
    sql = f"""
        SELECT hour, {_name(asked.by, "u")}, sum(extract(epoch FROM
            least(coalesce(u.ended_at, %s), hour + interval '1 hour', %s)
            - greatest(u.allocated_at, hour, %s)) * u.amount * coalesce(p.part, 1)) / 3600
        FROM generate_series(date_trunc('hour', %s::timestamptz), %s, interval '1 hour') hour
        JOIN claims_use u ON u.allocated_at < least(hour + interval '1 hour', %s)
            AND (u.ended_at IS NULL OR u.ended_at > greatest(hour, %s)) {_JOIN}
        WHERE true {where} GROUP BY 1, 2 ORDER BY 1, 2
    """
    with connection.cursor() as cursor:
        params = [end, end, asked.start, asked.start, end, end, asked.start, *own]
        cursor.execute(sql, params)
        return [Step(at, name, float(hours)) for at, name, hours in cursor.fetchall()]


def _name(by: str, table: str) -> str:
    if by == "cluster":
        return f"(SELECT slug FROM inventory_cluster WHERE id = {table}.cluster_id)"
    if by == "deployment":
        return f"{table}.tenant || '/' || {table}.deployment"
    return f"{table}.{BY[by]}"


def _where(asked: Asked, table: str) -> tuple[str, list[Any]]:
    text, params = "", list[Any]()
    if asked.tenants is not None:
        text += f" AND {table}.tenant = ANY(%s)"
        params.append(list(asked.tenants))
    if asked.cluster:
        text += f" AND {table}.cluster_id = (SELECT id FROM inventory_cluster WHERE slug = %s)"
        params.append(asked.cluster)
    if asked.device_class:
        text += f" AND {table}.device_class = %s"
        params.append(asked.device_class)
    return text, params


def midnight(moment: datetime, *, up: bool = False) -> datetime:
    day = moment.astimezone(UTC).date()
    found = datetime.combine(day, time(), UTC)
    return found + timedelta(days=1) if up and found < moment else found


def compared(asked: Asked, now: datetime) -> tuple[Sequence[Amount], Sequence[Amount]]:
    """The time asked for, and as long a time before it."""
    length = asked.end - asked.start
    before = Asked(
        asked.start - length,
        asked.start,
        asked.by,
        asked.grain,
        asked.tenants,
        asked.cluster,
        asked.device_class,
    )
    return amounts(asked, now), amounts(before, now)
