"""What a page's or the API's parameters ask for, checked against who asks."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from apps.inventory.models import Cluster
from apps.telemetry.lines import BY
from apps.telemetry.models import Track
from apps.telemetry.scopes import Scope
from apps.telemetry.statistics import STATISTICS
from apps.tenancy.selectors import tenant_for, tenants_of
from domain.errors import InvalidValue
from domain.metrics import CATALOGUE

RANGES = {
    "15m": timedelta(minutes=15),
    "1h": timedelta(hours=1),
    "3h": timedelta(hours=3),
    "6h": timedelta(hours=6),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}
SCOPES = ("tenant", "namespace", "deployment", "pool", "model", "device_class", "node")
LONGEST = timedelta(days=92)
LONGEST_NAME = 300


@dataclass(frozen=True, slots=True)
class Question:
    """One metric in one scope over a time; `range` is the name that the URL had, "" for own."""

    cluster: Cluster
    metric: str
    statistic: str
    scope: Scope
    start: datetime
    end: datetime
    range: str
    by: str
    most: float | None = None  # a limit to draw

    @property
    def query(self) -> str:
        """As parameters of a URL."""
        given = scope_parameters(self.cluster, self.scope)
        given |= {"metric": self.metric, "statistic": self.statistic, "by": self.by}
        if self.range:
            given["range"] = self.range
        else:
            given |= {"start": self.start.isoformat(), "end": self.end.isoformat()}
        if self.most is not None:
            given["most"] = f"{self.most:g}"
        return urlencode({key: value for key, value in given.items() if value})


def scope_parameters(cluster: Cluster | None, scope: Scope) -> dict[str, str]:
    found = {"cluster": cluster.slug if cluster else ""}
    found |= {name: getattr(scope, name) or "" for name in SCOPES}
    return {key: value for key, value in found.items() if value}


def question_of(user: Any, given: Mapping[str, str], *, now: datetime | None = None) -> Question:
    """Raises InvalidValue for what cannot be asked, Http404 for what they may not see."""
    metric = given.get("metric", "")
    if metric not in CATALOGUE:
        known = ", ".join(sorted(CATALOGUE))
        raise InvalidValue(
            f"There is no metric {metric[:40]!r}. There are: {known}.", field="metric"
        )
    statistic = given.get("statistic") or CATALOGUE[metric].statistic
    if statistic not in STATISTICS:
        raise InvalidValue(f"A statistic is one of {', '.join(STATISTICS)}.", field="statistic")
    by = given.get("by", "")
    if by not in BY:
        raise InvalidValue(f"Lines are told apart by one of {', '.join(BY[1:])}.", field="by")
    scope = scope_of(user, given)
    start, end, name = span_of(given, now or timezone.now())
    return Question(
        cluster=cluster_of(user, given, scope),
        metric=metric,
        statistic=statistic,
        scope=scope,
        start=start,
        end=end,
        range=name,
        by=by,
        most=_number(given.get("most", "")),
    )


def scope_of(user: Any, given: Mapping[str, str]) -> Scope:
    """The scope; people of a tenant must name one of theirs, platform roles need none."""
    wanted = {name: given.get(name, "")[:LONGEST_NAME] or None for name in SCOPES}
    scope = Scope(**wanted)
    if scope.tenant:
        tenant_for(user, scope.tenant)
    elif not user.is_platform:
        own = list(tenants_of(user).values_list("slug", flat=True)[:2])
        if len(own) != 1:
            raise InvalidValue("Name the tenant: ?tenant=…", field="tenant")
        scope = Scope(**wanted | {"tenant": own[0]})
    if scope.pool and not scope.deployment:
        raise InvalidValue("A pool is named together with its deployment.", field="pool")
    return scope


def cluster_of(user: Any, given: Mapping[str, str], scope: Scope) -> Cluster:
    """The cluster that was named; else the one where the scope's servers are, or the first."""
    slug = given.get("cluster", "")
    rows = Cluster.objects.filter(retired_at=None)
    if slug:
        return get_object_or_404(rows, slug=slug)
    tracks = Track.objects.filter(kind=Track.Kind.SERVER, cluster__in=rows)
    if scope.tenant:
        tracks = tracks.filter(tenant=scope.tenant)
    if scope.deployment:
        tracks = tracks.filter(deployment=scope.deployment)
    latest = tracks.select_related("cluster").order_by("-tried_at").first()
    found = latest.cluster if latest else rows.order_by("slug").first()
    if found is None:
        raise Http404("No cluster is registered.")
    return found


def span_of(given: Mapping[str, str], now: datetime) -> tuple[datetime, datetime, str]:
    """`range` back from now, or `start` and `end`."""
    if given.get("start") or given.get("end"):
        start, end = _moment(given, "start", now - RANGES["1h"]), _moment(given, "end", now)
        if not start < end:
            raise InvalidValue("The start has to come before the end.", field="start")
        if end - start > LONGEST:
            raise InvalidValue("Ask for 92 days at most.", field="start")
        return start, end, ""
    name = given.get("range", "") or "1h"
    if name not in RANGES:
        raise InvalidValue(f"A range is one of {', '.join(RANGES)}.", field="range")
    return now - RANGES[name], now, name


def _moment(given: Mapping[str, str], name: str, default: datetime) -> datetime:
    text = given.get(name, "")
    if not text:
        return default
    try:
        found = parse_datetime(text.replace(" ", "+"))
    except ValueError:
        found = None
    if found is None:
        raise InvalidValue(f"{name} is a time such as 2026-11-30T12:00:00Z.", field=name)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if found == found and abs(found) < 1e300 else None
