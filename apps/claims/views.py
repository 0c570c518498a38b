"""Claims, who holds what where, and devices in use over time."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.claims import selectors
from apps.claims.charts import allocation_figure, from_then
from apps.claims.filters import IDLE_MINUTES
from apps.claims.models import Claim
from apps.claims.tables import CLAIMS, claim_url, claim_word
from apps.common import tables
from apps.common.etags import etag_of, not_modified, stamp
from apps.inventory.models import Device
from apps.inventory.selectors import events_about, freshness, freshness_of, revision_of
from apps.tenancy.models import PlatformRole
from apps.tenancy.selectors import require_platform
from domain.diffs import to_yaml

KINDS = ("resourceclaims", "uses")
MOST_WAITING = 5
# Name of a range -> its length and the step between two points, in seconds.
RANGES = {"1h": (3600, 60), "6h": (6 * 3600, 300), "24h": (24 * 3600, 900)}


@require_GET
@login_required
def claim_list(request: HttpRequest) -> HttpResponseBase:
    cluster = request.GET.get("cluster", "")
    return tables.respond(
        request,
        CLAIMS,
        lambda: selectors.claims_for(request.user),
        "claims/list.html",
        revision=lambda: selectors.claims_revision(request.user, cluster),
        context=lambda: {"fresh": freshness(cluster)},
    )


@require_GET
@login_required
def claim_page(request: HttpRequest, claim_id: int) -> HttpResponse:
    claim = get_object_or_404(selectors.claims_for(request.user), pk=claim_id)
    body = selectors.whole_claim(claim) or {}
    pods = selectors.pods_of(claim)
    idle = claim.idle_since
    context = {
        "claim": claim,
        "word": claim_word(claim),
        "fresh": freshness_of(claim.cluster),
        "requests": selectors.requests_with_results(body, claim.results),
        "conditions": _conditions(body),
        "health": _health(body),
        "pods": pods,
        "waiting": next((pod.waiting for pod in pods if pod.waiting), ""),
        "events": events_about(claim.cluster_id, [claim.uid, *(pod.uid for pod in pods)])[:30],
        "is_leaked": idle is not None and timezone.now() - idle > timedelta(minutes=IDLE_MINUTES),
        "yaml": to_yaml(body) if body else "",
        "uses": selectors.uses_for(request.user)
        .filter(cluster=claim.cluster, uid=claim.uid)
        .order_by("-allocated_at"),
    }
    return render(request, "claims/detail.html", context)


def _conditions(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Conditions of the devices as their driver reports them, with the device's name."""
    return [
        {
            "type": f"{device.get('device', '')}: {one.get('type', '')}",
            "status": one.get("status", "Unknown"),
            "reason": one.get("reason", ""),
            "message": one.get("message", ""),
            "transitioned_at": one.get("lastTransitionTime", ""),
        }
        for device in (body.get("status") or {}).get("devices") or ()
        for one in device.get("conditions") or ()
    ]


def _health(body: dict[str, Any]) -> list[dict[str, Any]]:
    """What else the driver says of the allocated devices."""
    return [
        {
            "device": device.get("device", ""),
            "network": device.get("networkData"),
            "data": to_yaml(device["data"]) if device.get("data") else "",
        }
        for device in (body.get("status") or {}).get("devices") or ()
        if device.get("networkData") or device.get("data")
    ]


@require_GET
@login_required
def claim_by_uid(request: HttpRequest, cluster: str, uid: str) -> HttpResponse:
    """Leads to a claim from where only its uid is known; it moves with a rename of the row."""
    rows = selectors.claims_for(request.user)
    return redirect(claim_url(get_object_or_404(rows, cluster__slug=cluster, uid=uid)))


@require_GET
@login_required
def allocation_page(request: HttpRequest) -> HttpResponse:
    """Devices in use over 1 h, 6 h or 24 h, by class or tenant; the range is in the URL."""
    chosen = {
        "range": request.GET.get("range", "1h"),
        "by": request.GET.get("by", "class"),
        "cluster": request.GET.get("cluster", ""),
        "tenant": request.GET.get("tenant", ""),
    }
    if chosen["range"] not in RANGES:
        chosen["range"] = "1h"
    if chosen["by"] not in selectors.BY:
        chosen["by"] = "class"

    def link(**changes: str) -> str:
        return "?" + urlencode({k: v for k, v in {**chosen, **changes}.items() if v})

    context = {
        "chosen": chosen,
        "fresh": freshness(chosen["cluster"]),
        "chart_url": reverse("claims:allocation") + link(),
        "ranges": [(name, link(range=name)) for name in RANGES],
        "groups": [(name, link(by=name)) for name in selectors.BY],
    }
    return render(request, "claims/allocation.html", context)


# --- Parts
@require_GET
@login_required
def summary_part(request: HttpRequest) -> HttpResponse:
    """Pending, in use, allocated but unused, and the oldest that waits, for the overview."""
    cluster, tenant = request.GET.get("cluster", ""), request.GET.get("tenant", "")
    etag = etag_of(request, selectors.claims_revision(request.user, cluster))
    if (unchanged := not_modified(request, etag)) is not None:
        return unchanged
    claims = selectors.claims_for(request.user)
    if cluster:
        claims = claims.filter(cluster__slug=cluster)
    if tenant:
        claims = claims.filter(tenant=tenant)
    scope = {name: value for name, value in (("cluster", cluster), ("tenant", tenant)) if value}
    hour = urlencode({"range": "1h", "by": "class", **scope})
    longer = urlencode({"range": "6h", "by": "class", **scope})
    counts = selectors.counts(claims)
    context = {
        "numbers": _numbers(counts, scope),
        "oldest": counts["oldest_pending"],
        "rows": _longest_waiting(claims),
        "chart_url": f"{reverse('claims:allocation')}?{hour}",
        "page_url": f"{reverse('claims:allocation-page')}?{longer}",
    }
    return stamp(render(request, "claims/summary.html", context), etag)


def _numbers(counts: dict[str, Any], scope: dict[str, str]) -> list[dict[str, Any]]:
    """How many are in each state that matters, with the list of each."""
    return [
        {
            "label": str(state.label).lower(),
            "value": counts[state.value],
            "url": f"{reverse('claims:list')}?{urlencode({'state': state.value, **scope})}",
        }
        for state in (Claim.State.RESERVED, Claim.State.PENDING, Claim.State.ALLOCATED)
    ]


def _longest_waiting(claims: QuerySet[Claim]) -> list[dict[str, Any]]:
    pending = claims.filter(state=Claim.State.PENDING).order_by("created_at", "id")
    return [
        {
            "name": row.name,
            "url": reverse("placement:why-claim", args=[row.pk]),
            "tenant": row.tenant or row.namespace,
            "reason": row.device_class,
            "since": row.created_at,
        }
        for row in pending[:MOST_WAITING]
    ]


@require_GET
@login_required
def node_part(request: HttpRequest, cluster: str, node: str) -> HttpResponse:
    """Who holds devices of a node now."""
    require_platform(request.user, *PlatformRole)
    etag = etag_of(request, revision_of(*KINDS, cluster=cluster))
    if (unchanged := not_modified(request, etag)) is not None:
        return unchanged
    claims, uses = selectors.claims_for(request.user), selectors.uses_for(request.user)
    held = selectors.on_node(claims, uses, cluster, node)
    known = {
        row.uid: claim_url(row)
        for row in claims.filter(cluster__slug=cluster, uid__in=[use.uid for use in held])
    }
    context = {"uses": [(use, known.get(use.uid, "")) for use in held]}
    return stamp(render(request, "claims/on_node.html", context), etag)


@require_GET
@login_required
def device_part(request: HttpRequest, device_id: int) -> HttpResponse:
    """The latest uses of a device."""
    require_platform(request.user, *PlatformRole)
    device = get_object_or_404(Device, pk=device_id)
    uses = []
    if device.driver:
        uses = selectors.of_device(
            selectors.uses_for(request.user),
            device.cluster_id,
            device.driver,
            device.pool,
            device.name,
        )
    return render(request, "claims/of_device.html", {"uses": uses, "device": device})


@require_GET
@login_required
def allocation_chart(request: HttpRequest) -> HttpResponseBase:
    """Devices in use over time, as the figure that the page draws."""
    name = request.GET.get("range", "1h")
    length, step = RANGES.get(name, RANGES["1h"])
    by = request.GET.get("by", "class")
    cluster, tenant = request.GET.get("cluster", ""), request.GET.get("tenant", "")
    now = _on_the_step(timezone.now(), step)
    etag = etag_of(request, revision_of("uses", cluster=cluster), now)
    if (unchanged := not_modified(request, etag)) is not None:
        return unchanged
    series = selectors.in_use_over_time(
        request.user,
        by=by if by in selectors.BY else "class",
        start=now - timedelta(seconds=length),
        end=now,
        step_seconds=step,
        cluster=cluster,
        tenant=tenant,
    )
    start, first = now - timedelta(seconds=length), selectors.first_use(request.user)
    figure = allocation_figure(from_then(series, first))
    figure["layout"]["xaxis"]["range"] = [start.isoformat(), now.isoformat()]
    if note := _note(first, start, bool(series)):
        figure["note"] = note
    return stamp(JsonResponse(figure), etag)


def _note(first: datetime | None, start: datetime, has_series: bool) -> str:
    """What the picture does not show: history begins when a cluster is registered."""
    if not has_series:
        return "No device was in use in this time."
    return f"Kept since {first:%Y-%m-%d %H:%M} UTC." if first and first > start else ""


def _on_the_step(moment: datetime, step: int) -> datetime:
    """The last full step, so that the points of two requests fall on the same times."""
    return datetime.fromtimestamp(moment.timestamp() // step * step, UTC)
