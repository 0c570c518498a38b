"""Usage: card hours by tenant, class, deployment or cluster, with its export."""

import csv
import io
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import plotly.graph_objects as go
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.common.etags import etag_of, not_modified, stamp
from apps.telemetry import sheets, usage
from apps.telemetry.charts import COLOURS
from apps.telemetry.questions import span_of
from apps.telemetry.usage import Amount, Asked, Step
from apps.tenancy.selectors import tenant_for, tenants_of
from domain.errors import InvalidValue

RANGES = "24h 7d 30d"
MOST_STACKED = 8
MOST_ROWS = 500
OTHERS = "all others"
HEADS = ("name", "card hours", "device hours", "uses")


def asked_of(user: Any, given: Mapping[str, str], now: datetime) -> Asked:
    """Raises InvalidValue; Http404 for a tenant that they may not see."""
    by = given.get("by") or "tenant"
    grain = given.get("grain") or "day"
    if by not in usage.BY:
        raise InvalidValue(f"Usage is told apart by one of {', '.join(usage.BY)}.", field="by")
    if grain not in usage.GRAIN:
        raise InvalidValue(f"A step is one of {', '.join(usage.GRAIN)}.", field="grain")
    own = dict(given) | {"range": given.get("range") or "30d"}
    start, end, name = span_of(own, now)
    if name and grain != "hour":
        start = usage.midnight(start)  # whole days: each bar is one, the first one too
    if grain == "hour" and end - start > timedelta(days=8):
        raise InvalidValue("By the hour, ask for 8 days at most.", field="grain")
    tenants: tuple[str, ...] | None = None
    if slug := given.get("tenant", ""):
        tenants = (tenant_for(user, slug).slug,)
    elif not user.is_platform:
        tenants = tuple(tenants_of(user).values_list("slug", flat=True))
    return Asked(
        start,
        end,
        by,
        grain,
        tenants,
        given.get("cluster", "")[:50],
        given.get("device_class", "")[:253],
    )


@require_GET
@login_required
def page(request: HttpRequest) -> HttpResponse:
    """Numbers against the time before, bars over time, and the table of the same."""
    now = timezone.now()
    try:
        asked = asked_of(request.user, request.GET.dict(), now)
    except InvalidValue as refusal:
        refused = {"problem": str(refusal), "ranges": RANGES}
        return render(request, "telemetry/usage.html", refused, status=400)
    found, before = usage.compared(asked, now)
    earlier = {one.name: one.card_hours for one in before}
    context = {
        "asked": asked,
        "rows": [(one, earlier.get(one.name)) for one in found[:MOST_ROWS]],
        "hidden": max(len(found) - MOST_ROWS, 0),
        "numbers": _numbers(found, before),
        "by": list(usage.BY),
        "grains": list(usage.GRAIN),
        "range": request.GET.get("range") or "30d",
        "ranges": RANGES,
        "query": urlencode({key: value for key, value in request.GET.items() if value}),
        "estimate": len(found),
    }
    return render(request, "telemetry/usage.html", context)


def _numbers(found: Any, before: Any) -> list[tuple[str, float, float]]:
    """Title, value now, value before."""
    return [
        ("Card hours", _total(found, "card_hours"), _total(before, "card_hours")),
        ("Device hours", _total(found, "device_hours"), _total(before, "device_hours")),
        ("Uses", _total(found, "uses"), _total(before, "uses")),
        ("In the table", float(len(found)), float(len(before))),
    ]


def _total(amounts: list[Amount], name: str) -> float:
    return float(sum(getattr(one, name) for one in amounts))


@require_GET
@login_required
def bars(request: HttpRequest) -> HttpResponse:
    """Card hours over time, stacked: the largest groups, the others together."""
    now = timezone.now()
    try:
        asked = asked_of(request.user, request.GET.dict(), now)
    except InvalidValue as refusal:
        return JsonResponse({"data": [], "note": str(refusal)}, status=400)
    etag = etag_of(request, int(now.timestamp()) // 60)
    if answer := not_modified(request, etag):
        return answer
    return stamp(JsonResponse(figure(usage.steps(asked, now))), etag)


def figure(steps: list[Step]) -> dict[str, Any]:
    """Stacked bars as Plotly has them."""
    totals: dict[str, float] = {}
    for one in steps:
        totals[one.name] = totals.get(one.name, 0.0) + one.card_hours
    largest = sorted(totals, key=lambda name: (-totals[name], name))[:MOST_STACKED]
    times = sorted({one.at for one in steps})
    held: dict[str, dict[datetime, float]] = {}
    for one in steps:
        name = one.name if one.name in largest else OTHERS
        inside = held.setdefault(name, {})
        inside[one.at] = inside.get(one.at, 0.0) + one.card_hours
    order = [name for name in (*largest, OTHERS) if name in held]
    made = go.Figure(
        data=[
            go.Bar(name=name or "none", x=times, y=[held[name].get(at, 0.0) for at in times])
            for name in order
        ],
        layout={
            "template": None,
            "barmode": "stack",
            "yaxis": {"title": {"text": "card hours"}, "rangemode": "tozero"},
            "xaxis": {"type": "date"},
        },
    )
    found: dict[str, Any] = dict(made.to_plotly_json())
    for number, trace in enumerate(found["data"]):
        trace["marker"] = {"color": f"var(--yard-series-{number % COLOURS + 1})"}
    if not order:
        found["note"] = "No device was in use in this time."
    return found


@require_GET
@login_required
def export(request: HttpRequest) -> HttpResponse:
    """The table and its steps, as CSV (the table) or XLSX (both)."""
    now = timezone.now()
    try:
        asked = asked_of(request.user, request.GET.dict(), now)
    except InvalidValue as refusal:
        return HttpResponse(str(refusal), status=400, content_type="text/plain; charset=utf-8")
    found = usage.amounts(asked, now)
    rows = [(one.name, one.card_hours, one.device_hours, one.uses) for one in found]
    if request.GET.get("form") == "xlsx":
        steps = [(one.at.isoformat(), one.name, one.card_hours) for one in usage.steps(asked, now)]
        book = sheets.workbook(
            [
                (f"By {asked.by}", [HEADS, *rows]),
                (f"By {asked.grain}", [(asked.grain, asked.by, "card hours"), *steps]),
            ]
        )
        return _file(book, sheets.MIME, "usage.xlsx")
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(HEADS)
    writer.writerows((_safe(name), *numbers) for name, *numbers in rows)
    return _file(out.getvalue().encode(), "text/csv; charset=utf-8", "usage.csv")


def _safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in {"=", "+", "-", "@"} else text


def _file(content: bytes, kind: str, name: str) -> HttpResponse:
    response = HttpResponse(content, content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
