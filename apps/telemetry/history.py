"""Figures of claims, pods and cards over time: recorded every minute, or counted from history."""

from datetime import datetime

from django.db import connection
from django.db.models import Q

from apps.claims.models import Claim
from apps.inventory.models import Cluster, Pod
from apps.telemetry import columns, recorded, rows
from apps.telemetry.lines import MOST_LINES, Chart, Line, Span
from apps.telemetry.models import Track
from apps.telemetry.scopes import Scope
from apps.telemetry.statistics import QUANTILES, unit_of
from domain.figures import State
from domain.metrics import CATALOGUE, Metric
from domain.metrics.reading import PART, WHOLE

FAMILY = "rows"
SHARES = frozenset({"ready", "alive"})
COUNTS = frozenset({"waiting", "held_idle", "alloc_failures"})
FROM_USES = {"pending": ("created_at", "allocated_at"), "starting": ("allocated_at", "running_at")}


def record(cluster: Cluster, now: datetime) -> int:
    """Write down how the pools of a cluster stand in this minute; returns how many pools."""
    minute = columns.minute_of(now)
    pools = _pools(cluster)
    found: dict[columns.RowKey, dict[str, float]] = {}
    for (tenant, deployment, pool), values in pools.items():
        track = Track.objects.get_or_create(
            cluster=cluster,
            kind=Track.Kind.POOL,
            key=f"{tenant}/{deployment}/{pool}",
            defaults={
                "tenant": tenant,
                "deployment": deployment,
                "pool": pool,
                "first_at": now,
                "tried_at": now,
            },
        )[0]
        found[track.pk, FAMILY, minute] = values
    Track.objects.filter(pk__in=[key[0] for key in found]).update(tried_at=now)
    track = recorded.track_of(cluster, Track.Kind.CLUSTER, "", now)
    found[track.pk, FAMILY, minute] = _of_cluster(cluster, now)
    columns.put(found)
    return len(pools)


def _pools(cluster: Cluster) -> dict[tuple[str, str, str], dict[str, float]]:
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    serving = Pod.objects.filter(cluster=cluster).exclude(deployment="")
    for tenant, deployment, pool, phase, ready, containers in serving.exclude(
        phase__in=["Succeeded", "Failed"]
    ).values_list("tenant", "deployment", "model_pool", "phase", "is_ready", "containers"):
        held = found.setdefault((tenant, deployment, pool), _none())
        alive = phase == "Running" and all(one.get("state") != "waiting" for one in containers)
        for name, is_so in (("ready", ready), ("alive", alive)):
            held[f"{name}/{PART}"] += is_so
            held[f"{name}/{WHOLE}"] += 1
    for tenant, deployment, pool, state, devices in (
        Claim.objects.filter(cluster=cluster, state__in=["pending", "allocated"])
        .exclude(deployment="")
        .values_list("tenant", "deployment", "model_pool", "state", "devices")
    ):
        held = found.setdefault((tenant, deployment, pool), _none())
        if state == Claim.State.PENDING:
            held["waiting"] += 1
        else:
            held["held_idle"] += devices
    return found


def _none() -> dict[str, float]:
    names = [f"{name}/{part}" for name in SHARES for part in (PART, WHOLE)]
    return dict.fromkeys([*names, "waiting", "held_idle"], 0.0)


def _of_cluster(cluster: Cluster, now: datetime) -> dict[str, float]:
    minute = datetime.fromtimestamp(columns.minute_of(now) * 60 - 60, now.tzinfo)
    found: dict[str, float] = {}
    for name in ("allocation", "waiting", "held_idle"):
        figure = rows.measure(cluster, CATALOGUE[name], Scope(), minute, now, "last")
        if figure.value is not None and figure.state is not State.STALE:
            found[name] = figure.value
    failures = rows.measure(cluster, CATALOGUE["alloc_failures"], Scope(), minute, now, "increase")
    if failures.usable and failures.value is not None:
        found["alloc_failures"] = failures.value
    return found or {"unknown": 1.0}


def chart(
    cluster: Cluster, metric: Metric, scope: Scope, span: Span, statistic: str, by: str
) -> Chart:
    """The metric over time; what was not recorded for the scope says so."""
    empty = (metric.name, statistic, unit_of(metric, statistic), span.times, span.step * 60)
    if metric.name in FROM_USES:
        values = _durations(cluster, metric, scope, span, statistic)
        state = State.LIVE if any(v is not None for v in values) else State.NO_TRAFFIC
        return Chart(*empty, [Line("all", values, state)], state, "")
    found = _tracks(cluster, metric, scope, by)
    if not found:
        detail = "nothing was recorded in this scope"
        return Chart(*empty, [], State.NOT_CONFIGURED, detail)
    ids = [track.pk for tracks in found.values() for track in tracks]
    family = "" if metric.name in recorded.METRICS else FAMILY
    held = columns.load(ids, family, span.first, span.minutes)
    lines = []
    for name, tracks in sorted(found.items())[:MOST_LINES]:
        tables = [held[track.pk] for track in tracks if track.pk in held]
        values = _values(metric, tables, span)
        known = any(value is not None for value in values)
        state = State.LIVE if known else State.TARGET_DOWN
        lines.append(Line(name, values, state, "" if known else "nothing was recorded"))
    state = State.LIVE if any(line.state is State.LIVE for line in lines) else State.TARGET_DOWN
    return Chart(*empty, lines, state, "" if state is State.LIVE else "nothing was recorded")


def _tracks(cluster: Cluster, metric: Metric, scope: Scope, by: str) -> dict[str, list[Track]]:
    found: dict[str, list[Track]] = {}
    if metric.name in recorded.METRICS:
        for track in recorded.tracks(cluster, scope, metric.name):
            found.setdefault(track.key or "all", []).append(track)
        return found
    narrow = any((scope.tenant, scope.deployment, scope.pool))
    if not narrow and metric.name not in SHARES:
        rows_of = Track.objects.filter(cluster=cluster, kind=Track.Kind.CLUSTER)
        return {"all": list(rows_of)} if rows_of else {}
    wanted = Q()
    for field in ("tenant", "deployment", "pool"):
        if value := getattr(scope, field):
            wanted &= Q(**{field: value})
    for track in Track.objects.filter(wanted, cluster=cluster, kind=Track.Kind.POOL):
        name = {
            "pool": f"{track.deployment}/{track.pool}",
            "deployment": f"{track.tenant}/{track.deployment}",
            "tenant": track.tenant,
        }.get(by, "all")
        found.setdefault(name, []).append(track)
    return found


def _values(metric: Metric, tables: list[columns.Table], span: Span) -> list[float | None]:
    """Means of a step's minutes; shares are of the sums, counts of failures add up."""
    if not tables:
        return [None] * span.count
    table = columns.summed(tables)
    total = columns.steps(table, span.step)
    minutes = columns.known_minutes(table, span.step, metric.name)
    if metric.name in SHARES:
        part = total.column(f"{metric.name}/{PART}").tolist()
        whole = total.column(f"{metric.name}/{WHOLE}").tolist()
        pairs = zip(part, whole, strict=True)
        return [one / all_ if all_ == all_ and all_ > 0 else None for one, all_ in pairs]
    values = total.column(metric.name).tolist()
    if metric.name == "alloc_failures":
        return [None if value != value else value for value in values]
    return [
        None if value != value or not count else value / count
        for value, count in zip(values, minutes.tolist(), strict=True)
    ]


def _durations(
    cluster: Cluster, metric: Metric, scope: Scope, span: Span, statistic: str
) -> list[float | None]:
    """A statistic of the durations that ended in each step, from the history of uses."""
    since, until = FROM_USES[metric.name]
    aggregate = "avg(seconds)"
    if statistic in QUANTILES:
        aggregate = f"percentile_cont({QUANTILES[statistic]}) WITHIN GROUP (ORDER BY seconds)"
    elif statistic == "max":
        aggregate = "max(seconds)"
    inside = rows.uses(cluster, scope).filter(
        **{f"{until}__gte": span.start, f"{until}__lt": span.end}
    )
    query, params = inside.values("uid", since, until).distinct().query.sql_with_params()
    seconds = span.step * 60
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT floor((extract(epoch FROM {until}) - %s) / %s), {aggregate} FROM ("  # noqa: S608
            f" SELECT *, greatest(extract(epoch FROM {until} - {since}), 0) AS seconds"
            f" FROM ({query}) uses) spans GROUP BY 1",
            [span.first * 60, seconds, *params],
        )
        held = {int(step): float(value) for step, value in cursor.fetchall() if value is not None}
    return [held.get(index) for index in range(span.count)]
