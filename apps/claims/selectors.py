"""Reading claims and uses of devices."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

from django.db import connection
from django.db.models import Count, Min, Q, QuerySet

from apps.claims.models import Claim, Use
from apps.inventory.models import Mirrored, Pod
from apps.inventory.selectors import active_ids, revision_of
from apps.tenancy.selectors import tenants_of


def claims_for(user: Any) -> QuerySet[Claim]:
    """The claims that a person may see: all for platform roles, else those of their tenants."""
    found = Claim.objects.filter(cluster__in=active_ids()).select_related("cluster")
    return found if user.is_platform else found.filter(tenant__in=_slugs(user))


def claims_revision(user: Any, cluster: str = "") -> str:
    """A text that changes when the claims that a person may see do, or which those are."""
    found = revision_of("resourceclaims", cluster=cluster)
    return found if user.is_platform else f"{found}:{','.join(_slugs(user))}"


def uses_for(user: Any) -> QuerySet[Use]:
    found = Use.objects.select_related("cluster")
    return found if user.is_platform else found.filter(tenant__in=_slugs(user))


def _slugs(user: Any) -> list[str]:
    return list(tenants_of(user).values_list("slug", flat=True))


def on_node(claims: QuerySet[Claim], uses: QuerySet[Use], cluster: str, node: str) -> list[Use]:
    """What is held on a node now, the oldest first."""
    held = uses.filter(cluster__slug=cluster, node_name=node, ended_at=None)
    return list(held.order_by("allocated_at", "id"))


def of_device(
    uses: QuerySet[Use], cluster_id: int, driver: str, pool: str, device: str
) -> list[Use]:
    """The latest uses of a device, newest first."""
    found = uses.filter(cluster_id=cluster_id, driver=driver, pool=pool, device=device)
    return list(found.order_by("-allocated_at", "-id")[:20])


def whole_claim(claim: Claim) -> dict[str, Any] | None:
    """The object itself, as it was last seen."""
    rows = Mirrored.objects.filter(
        cluster_id=claim.cluster_id, kind="resourceclaims", uid=claim.uid
    )
    return rows.values_list("body", flat=True).first()


def pods_of(claim: Claim) -> list[Pod]:
    """The pods that use a claim, or wait for it."""
    named = Q(name__in=list(claim.pods)) | Q(claims__contains=[claim.name])
    mine = Pod.objects.filter(named, cluster_id=claim.cluster_id, namespace=claim.namespace)
    return list(mine.order_by("name"))


def counts(claims: QuerySet[Claim]) -> dict[str, Any]:
    """How many are in each state, and since when the oldest pending one waits."""
    return claims.aggregate(
        pending=Count("pk", filter=Q(state=Claim.State.PENDING)),
        allocated=Count("pk", filter=Q(state=Claim.State.ALLOCATED)),
        reserved=Count("pk", filter=Q(state=Claim.State.RESERVED)),
        oldest_pending=Min("created_at", filter=Q(state=Claim.State.PENDING)),
        idle_since=Min("idle_since"),
    )


# --- Allocation over time
# Begins and ends by the first step that sees them; adding them up gives what is in use at each.
_CHANGES = """
SELECT what, step, sum(amount) FROM (
    SELECT {group} AS what, greatest(0, ceil(extract(epoch FROM allocated_at - %s) / %s)) AS step,
        amount
    FROM claims_use WHERE allocated_at <= %s AND (ended_at IS NULL OR ended_at > %s) {where}
    UNION ALL
    SELECT {group}, ceil(extract(epoch FROM ended_at - %s) / %s), -amount
    FROM claims_use WHERE allocated_at <= %s AND ended_at > %s AND ended_at <= %s {where}
) changes GROUP BY 1, 2
"""

BY = {"class": "device_class", "tenant": "tenant"}
MOST_SERIES = 8
OTHERS = ""


def in_use_over_time(
    user: Any,
    *,
    by: str,
    start: datetime,
    end: datetime,
    step_seconds: int,
    cluster: str = "",
    tenant: str = "",
) -> dict[str, list[tuple[datetime, int]]]:
    """Devices in use at each step, by class or tenant; the smaller ones together under OTHERS."""
    where, extra = _narrowed(user, cluster, tenant)
    query = _CHANGES.format(group=_GROUPS[by], where=where)
    begins = [start, step_seconds, end, start, *extra]
    ends = [start, step_seconds, end, start, end, *extra]
    count = int((end - start).total_seconds()) // step_seconds + 1
    changes: dict[str, list[int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(query, [*begins, *ends])
        for what, step, amount in cursor.fetchall():
            if step < count:
                changes.setdefault(what, [0] * count)[int(step)] += int(amount)
    times = [start + timedelta(seconds=step_seconds * number) for number in range(count)]
    return {
        what: list(zip(times, amounts, strict=True))
        for what, amounts in _largest({w: list(accumulate(n)) for w, n in changes.items()}).items()
    }


def _largest(series: dict[str, list[int]]) -> dict[str, list[int]]:
    """The largest series; the others added up under OTHERS."""
    order = sorted(series, key=lambda what: (-sum(series[what]), what))
    found = {what: series[what] for what in order[:MOST_SERIES]}
    if rest := order[MOST_SERIES:]:
        found[OTHERS] = [sum(step) for step in zip(*(series[w] for w in rest), strict=True)]
    return found


_GROUPS = {
    "class": "coalesce(nullif(device_class, ''), 'no class')",
    "tenant": "coalesce(nullif(tenant, ''), 'no tenant')",
}


def _narrowed(user: Any, cluster: str, tenant: str) -> tuple[str, list[Any]]:
    where = ""
    extra: list[Any] = []
    if not user.is_platform:
        where += " AND tenant = ANY(%s)"
        extra.append(_slugs(user))
    if cluster:
        where += " AND cluster_id IN (SELECT id FROM inventory_cluster WHERE slug = %s)"
        extra.append(cluster)
    if tenant:
        where += " AND tenant = %s"
        extra.append(tenant)
    return where, extra


def first_use(user: Any) -> datetime | None:
    """Since when there is history."""
    found: datetime | None = uses_for(user).aggregate(first=Min("allocated_at"))["first"]
    return found


def requests_with_results(body: dict[str, Any], results: Iterable[dict[str, Any]]) -> list[Any]:
    """A claim's requests, each with what it was given."""
    held: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        held.setdefault(result["request"].partition("/")[0], []).append(result)
    found = []
    for request in ((body.get("spec") or {}).get("devices") or {}).get("requests") or ():
        exactly = request.get("exactly") or {}
        choices = request.get("firstAvailable") or ()
        found.append(
            {
                "name": request.get("name", ""),
                "class": exactly.get("deviceClassName")
                or ", then ".join(str(one.get("deviceClassName")) for one in choices),
                "mode": exactly.get("allocationMode") or "ExactCount",
                "count": exactly.get("count", 1),
                "selectors": [
                    (one.get("cel") or {}).get("expression", "")
                    for part in (exactly, *choices)
                    for one in part.get("selectors") or ()
                ],
                "results": held.get(str(request.get("name")), []),
            }
        )
    return found
