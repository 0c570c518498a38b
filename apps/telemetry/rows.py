"""Figures of claims, pods and cards, from the portal's own rows: what the clusters were seen to do.

Their freshness is the mirror's: a cluster that is not heard makes them stale, not zero.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet, Sum
from django.utils import timezone

from apps.claims.models import Claim, Use
from apps.inventory.models import Cluster, Event, Node, Pod
from apps.inventory.selectors import freshness_of
from apps.telemetry import recorded
from apps.telemetry.scopes import Scope
from domain.figures import Figure, State
from domain.metrics import Metric

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
MOST_DURATIONS = 20_000
# As kube-scheduler's DynamicResources plugin and the claim controller word it.
ABOUT_CLAIMS = r"claim|cannot allocate|device"

# Value (None: nothing happened), detail, how many of how many are known.
Found = tuple[float | None, str, int | None, int | None]


def measure(
    cluster: Cluster,
    metric: Metric,
    scope: Scope,
    start: datetime,
    end: datetime,
    statistic: str,
) -> Figure:
    if metric.name in recorded.METRICS:
        return recorded.measure(cluster, metric, scope, start, end, statistic)
    fresh = freshness_of(cluster)
    if fresh.kind in {"waiting", "error"}:
        detail = fresh.message or "the cluster has not been listed yet"
        return Figure(None, State.ERROR, detail, unit=metric.unit)
    value, detail, known, total = _COUNTS[metric.name](cluster, scope, start, end, statistic)
    query = f"mirrored rows of {cluster.slug}: {scope}"
    base = Figure(value, State.LIVE, detail, fresh.at, metric.unit, query, known, total)
    if value is None:
        return replace(base, state=State.NOT_EXPORTED if total else State.NO_TRAFFIC)
    if not fresh.is_live and end > timezone.now() - timedelta(minutes=1):
        return replace(base, state=State.STALE, detail=fresh.message)
    if known is not None and total is not None and known < total:
        return replace(base, state=State.PARTIAL)
    return base


def uses(cluster: Cluster, scope: Scope) -> QuerySet[Use]:
    return Use.objects.filter(_own(scope), cluster=cluster)


def pods(cluster: Cluster, scope: Scope) -> QuerySet[Pod]:
    """The model servers of the scope; a class is that of the claims they use."""
    wanted = _narrowed(scope)
    rows = Pod.objects.filter(wanted, cluster=cluster).exclude(deployment="")
    if scope.device_class:
        held = uses(cluster, scope).filter(ended_at=None)
        rows = rows.filter(deployment__in=held.values("deployment"))
    return rows


def claims(cluster: Cluster, scope: Scope) -> QuerySet[Claim]:
    rows = Claim.objects.filter(_narrowed(scope), cluster=cluster)
    return rows.filter(device_class__contains=scope.device_class) if scope.device_class else rows


def _narrowed(scope: Scope) -> Q:
    condition = Q()
    for field, value in (
        ("tenant", scope.tenant),
        ("namespace", scope.namespace),
        ("deployment", scope.deployment),
        ("model_pool", scope.pool),
        ("node_name", scope.node),
    ):
        if value:
            condition &= Q(**{field: value})
    return condition


def _own(scope: Scope) -> Q:
    condition = _narrowed(scope)
    return condition & Q(device_class=scope.device_class) if scope.device_class else condition


# --- Claims
def _alloc_failures(
    cluster: Cluster, scope: Scope, start: datetime, end: datetime, statistic: str
) -> Found:
    """Pods that the scheduler tried and found no devices for. Events are kept for a day."""
    rows = Event.objects.filter(
        cluster=cluster,
        reason="FailedScheduling",
        last_at__gte=start,
        last_at__lte=end,
        message__iregex=ABOUT_CLAIMS,
    )
    if scope.deployment:
        prefix = "-".join(filter(None, (scope.deployment, scope.pool))) + "-"
        rows = rows.filter(about_name__startswith=prefix)
    if scope.namespace:
        rows = rows.filter(namespace=scope.namespace)
    if scope.tenant or scope.device_class:
        held = uses(cluster, scope).values_list("namespace", flat=True).distinct()
        waiting = claims(cluster, scope).values_list("namespace", flat=True).distinct()
        rows = rows.filter(namespace__in={*held, *waiting})
    return float(rows.values("about_uid").distinct().count()), "", None, None


def _pending(
    cluster: Cluster, scope: Scope, start: datetime, end: datetime, statistic: str
) -> Found:
    """Created to allocated; a claim that still waits counts with its age, a lower bound."""
    waited = durations(cluster, scope, start, end, "created_at", "allocated_at")
    now = min(end, timezone.now())
    rows = claims(cluster, scope).filter(state=Claim.State.PENDING, created_at__lte=now)
    begun = rows.values_list("created_at", flat=True)
    still = [(now - created).total_seconds() for created in begun if created]
    detail = f"{len(still)} still wait, counted with their age" if still else ""
    return _statistic([*waited, *still], statistic), detail or _none(waited), None, None


def _starting(
    cluster: Cluster, scope: Scope, start: datetime, end: datetime, statistic: str
) -> Found:
    found = durations(cluster, scope, start, end, "allocated_at", "running_at")
    return _statistic(found, statistic), _none(found), None, None


def _none(found: Sequence[float]) -> str:
    return "" if found else "no claim got that far in this time"


def durations(
    cluster: Cluster, scope: Scope, start: datetime, end: datetime, since: str, until: str
) -> list[float]:
    """Seconds from one step of a claim to the next, of those that took it in this time."""
    rows = uses(cluster, scope).filter(**{f"{until}__gte": start, f"{until}__lte": end})
    rows = rows.order_by("uid").distinct("uid")
    found = rows.values_list(since, until)[:MOST_DURATIONS]
    return [max((after - before).total_seconds(), 0.0) for before, after in found]


def _statistic(values: Sequence[float], statistic: str) -> float | None:
    if not values:
        return None
    if statistic == "max":
        return max(values)
    if statistic == "increase":
        return float(len(values))
    if statistic in QUANTILES:
        order = sorted(values)
        place = QUANTILES[statistic] * (len(order) - 1)
        low = int(place)
        high = min(low + 1, len(order) - 1)
        return order[low] + (order[high] - order[low]) * (place - low)
    return sum(values) / len(values)


def _waiting(
    cluster: Cluster, scope: Scope, start: datetime, end: datetime, statistic: str
) -> Found:
    rows = claims(cluster, scope).filter(state=Claim.State.PENDING)
    return float(rows.count()), "", None, None


def _held_idle(
    cluster: Cluster, scope: Scope, start: datetime, end: datetime, statistic: str
) -> Found:
    """Devices of claims that are allocated and used by no pod."""
    rows = claims(cluster, scope).filter(state=Claim.State.ALLOCATED)
    held = rows.aggregate(devices=Sum("devices"))["devices"] or 0
    return float(held), "allocated, used by no pod", None, None


# --- Pods and cards
def _ready(cluster: Cluster, scope: Scope, start: datetime, end: datetime, statistic: str) -> Found:
    rows = pods(cluster, scope).exclude(phase__in=["Succeeded", "Failed"])
    total, ready = rows.count(), rows.filter(is_ready=True).count()
    if not total:
        return None, "no model server in this scope", None, None
    return ready / total, f"{ready} of {total} ready", None, None


def _alive(cluster: Cluster, scope: Scope, start: datetime, end: datetime, statistic: str) -> Found:
    """Containers that run, whether or not they are ready."""
    rows = pods(cluster, scope).exclude(phase__in=["Succeeded", "Failed"])
    total = rows.count()
    if not total:
        return None, "no model server in this scope", None, None
    running = rows.filter(phase="Running").exclude(containers__contains=[{"state": "waiting"}])
    alive = running.count()
    return alive / total, f"{alive} of {total} running", None, None


def _allocation(
    cluster: Cluster, scope: Scope, start: datetime, end: datetime, statistic: str
) -> Found:
    """Cards in use of those known; nodes whose cards nobody tells leave it partial."""
    rows = Node.objects.filter(cluster=cluster, has_cards=True)
    told = rows.exclude(physical=None)
    sums = told.aggregate(all=Sum("physical"), dra=Sum("in_dra"), plugin=Sum("in_plugin"))
    known, total = told.count(), rows.count()
    if not sums["all"]:
        return None, "no node tells its cards", known, total
    used = (sums["dra"] or 0) + (sums["plugin"] or 0)
    return used / sums["all"], f"{used} of {sums['all']} cards", known, total


def _attributed(
    cluster: Cluster, scope: Scope, start: datetime, end: datetime, statistic: str
) -> Found:
    """Of the device time in use, the part whose tenant is known."""
    whole = own = 0.0
    now = min(end, timezone.now())
    rows = uses(cluster, scope).filter(
        Q(ended_at=None) | Q(ended_at__gte=start), allocated_at__lte=now
    )
    for tenant, begun, over, amount in rows.values_list(
        "tenant", "allocated_at", "ended_at", "amount"
    ):
        seconds = (min(over or now, now) - max(begun, start)).total_seconds() * amount
        whole += max(seconds, 0.0)
        own += max(seconds, 0.0) if tenant else 0.0
    return (own / whole if whole else None), "", None, None


_COUNTS: dict[str, Callable[[Cluster, Scope, datetime, datetime, str], Found]] = {
    "alloc_failures": _alloc_failures,
    "pending": _pending,
    "starting": _starting,
    "waiting": _waiting,
    "held_idle": _held_idle,
    "ready": _ready,
    "alive": _alive,
    "allocation": _allocation,
    "attributed": _attributed,
}
