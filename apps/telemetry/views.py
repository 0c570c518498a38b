"""Pages of telemetry: figures of now, charts with their tables, CSV; by any subject."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.common.etags import etag_of, not_modified, stamp
from apps.inventory.models import Cluster
from apps.telemetry import asking, bands, charts, measure, selectors, words
from apps.telemetry.lines import Chart
from apps.telemetry.models import Track
from apps.telemetry.panels import MORE, NUMBERS, PANELS, Panel
from apps.telemetry.questions import (
    RANGES,
    Question,
    cluster_of,
    question_of,
    scope_of,
    scope_parameters,
    span_of,
)
from apps.telemetry.scopes import Scope
from apps.telemetry.selectors import Shown, titled
from apps.tenancy.models import PlatformRole
from apps.tenancy.selectors import require_platform, tenant_for, tenants_of
from domain.errors import InvalidValue
from domain.figures import Figure, State

MOST_SERVERS = 10_000
NOW = timedelta(minutes=5)
MOST_TABLE_ROWS = 60


@dataclass(frozen=True, slots=True)
class Number:
    """A figure as a page has it: `text` is empty where there is no value."""

    title: str
    text: str
    figure: Figure
    why: str


def numbers(shown: list[Shown]) -> list[Number]:
    return [
        Number(
            one.title, words.text(one.metric, one.figure.value), one.figure, words.why(one.figure)
        )
        for one in shown
    ]


# --- Pages of a subject
@require_GET
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """The whole platform, a cluster, or a tenant's part of it, as the URL narrows it.

    People of several tenants begin with their first; the menu of tenants leads to the others.
    """
    user: Any = request.user
    given = request.GET.dict()
    if not given.get("tenant") and not user.is_platform:
        first = tenants_of(user).order_by("slug").values_list("slug", flat=True).first()
        if first:
            return redirect(f"{request.path}?{urlencode(given | {'tenant': first})}")
    return _page(request, "home", given)


@require_GET
@login_required
def deployment(request: HttpRequest, tenant: str, name: str) -> HttpResponse:
    given = request.GET.dict() | {"tenant": tenant, "deployment": name}
    return _page(request, "deployment", given)


@require_GET
@login_required
def tenant_page(request: HttpRequest, tenant: str) -> HttpResponse:
    return _page(request, "tenant", request.GET.dict() | {"tenant": tenant})


@require_GET
@login_required
def device_class(request: HttpRequest, name: str) -> HttpResponse:
    return _page(request, "class", request.GET.dict() | {"device_class": name})


@require_GET
@login_required
def node(request: HttpRequest, cluster: str, name: str) -> HttpResponse:
    require_platform(request.user, *PlatformRole)
    given = request.GET.dict() | {"cluster": cluster, "node": name}
    return _page(request, "node", given)


def _page(request: HttpRequest, subject: str, given: Mapping[str, Any]) -> HttpResponse:
    if subject == "home" and not Cluster.objects.filter(retired_at=None).exists():
        context = {"subject": subject, "scope_asked": Scope(), "no_cluster": True}
        return render(request, "telemetry/page.html", context)
    problem = ""
    scope, cluster, name = Scope(), None, "1h"
    try:
        scope = scope_of(request.user, given)
        cluster = cluster_of(request.user, given, scope)
        name = span_of(given, timezone.now())[2]
    except InvalidValue as refusal:
        problem = str(refusal)
    common = scope_parameters(cluster, scope)
    context = {
        "subject": subject,
        "scope_asked": scope,
        "cluster": cluster,
        "problem": problem,
        "range": name or "own",
        "ranges": " ".join(RANGES),
        "query": _query(common | {"range": name} if name else common | _own_span(given)),
        "panels": []
        if problem
        else [_placed(panel, common, given, name) for panel in PANELS[subject]],
        "pools": _pools(scope) if subject == "deployment" else [],
        "source": measure.source_of(cluster) if cluster else None,
    }
    status = 400 if problem else 200
    return render(request, "telemetry/page.html", context, status=status)


def _placed(
    panel: Panel, common: dict[str, str], given: Mapping[str, str], name: str
) -> dict[str, str]:
    time = {"range": name} if name else _own_span(given)
    wanted = {"metric": panel.metric, "statistic": panel.statistic, "by": panel.by}
    return {
        "title": titled(panel.metric, panel.statistic),
        "metric": panel.metric,
        "query": _query(common | time | wanted),
    }


def _own_span(given: Mapping[str, str]) -> dict[str, str]:
    return {key: given[key] for key in ("start", "end") if given.get(key)}


def _query(given: dict[str, str]) -> str:
    return urlencode({key: value for key, value in given.items() if value})


def _pools(scope: Scope) -> list[str]:
    rows = Track.objects.filter(
        kind=Track.Kind.POOL, tenant=scope.tenant, deployment=scope.deployment
    )
    return sorted(set(rows.values_list("pool", flat=True)))


# --- Their parts
@require_GET
@login_required
def figures(request: HttpRequest) -> HttpResponse:
    """The ten figures of a scope and some more, over the last five minutes."""
    try:
        scope = scope_of(request.user, request.GET)
        cluster = cluster_of(request.user, request.GET, scope)
    except InvalidValue as refusal:
        return _refused(request, refusal)
    now = timezone.now().replace(microsecond=0)
    etag = etag_of(request, int(now.timestamp()) // 5)
    if answer := not_modified(request, etag):
        return answer
    rows = []
    for wanted in (NUMBERS, MORE):
        found = asking.figures(cluster, wanted, scope, now - NOW, now, asked_by=request.user)
        if found is not None:
            shown = [Shown(*one, figure) for one, figure in zip(wanted, found, strict=True)]
            rows.append(numbers(shown))
    context = {"rows": rows, "cluster": cluster, "scope_asked": scope}
    return stamp(render(request, "telemetry/figures.html", context), etag if len(rows) == 2 else "")


@require_GET
@login_required
def chart(request: HttpRequest) -> HttpResponse:
    """One metric over time, as the page draws it."""
    try:
        asked = question_of(request.user, request.GET)
    except InvalidValue as refusal:
        return JsonResponse({"data": [], "note": str(refusal)}, status=400)
    etag = etag_of(request, asked.cluster.slug, int(asked.end.timestamp()) // 15)
    if answer := not_modified(request, etag):
        return answer
    found = _chart(request, asked)
    if found is None:
        return JsonResponse({"data": [], "note": "Asking Prometheus …"})
    shaded = bands.of(asked.metric, asked.most)
    return stamp(JsonResponse(charts.figure(found, shaded)), etag)


@require_GET
@login_required
def table(request: HttpRequest) -> HttpResponse:
    """The numbers of a chart as a table, the newest first."""
    try:
        asked = question_of(request.user, request.GET)
    except InvalidValue as refusal:
        return _refused(request, refusal)
    etag = etag_of(request, asked.cluster.slug, int(asked.end.timestamp()) // 15)
    if answer := not_modified(request, etag):
        return answer
    found = _chart(request, asked)
    rows = _table_rows(asked, found) if found else []
    context = {
        "asked": asked,
        "chart": found,
        "rows": rows,
        "hidden": max(len(found.times) - MOST_TABLE_ROWS, 0) if found else 0,
        "note": charts.note_of(found) if found else "Asking Prometheus …",
    }
    return stamp(render(request, "telemetry/table.html", context), etag if found else "")


def _table_rows(asked: Question, chart: Chart) -> list[tuple[datetime, list[str]]]:
    places = range(len(chart.times) - 1, max(len(chart.times) - 1 - MOST_TABLE_ROWS, -1), -1)
    return [
        (
            datetime.fromtimestamp(chart.times[place], UTC),
            [words.text(asked.metric, line.values[place]) for line in chart.lines],
        )
        for place in places
    ]


@require_GET
@login_required
def as_csv(request: HttpRequest) -> HttpResponse:
    """What the chart shows: a row a step, a column a line, nothing where nothing is known."""
    try:
        asked = question_of(request.user, request.GET)
    except InvalidValue as refusal:
        return HttpResponse(str(refusal), status=400, content_type="text/plain; charset=utf-8")
    found = _chart(request, asked)
    if found is None:
        return HttpResponse(
            "Prometheus has not answered yet; try again.\n",
            status=503,
            content_type="text/plain; charset=utf-8",
        )
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["time", *(_cell(line.name) for line in found.lines)])
    for index, at in enumerate(found.times):
        values = (line.values[index] for line in found.lines)
        moment = datetime.fromtimestamp(at, UTC).isoformat()
        writer.writerow([moment, *("" if value is None else repr(value) for value in values)])
    response = HttpResponse(out.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{asked.metric}.csv"'
    return response


def _cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in {"=", "+", "-", "@", "\t", "\r"} else text


def _chart(request: HttpRequest, asked: Question) -> Chart | None:
    return asking.chart(
        asked.cluster,
        asked.metric,
        asked.scope,
        asked.start,
        asked.end,
        statistic=asked.statistic,
        by=asked.by,
        asked_by=request.user,
    )


def _refused(request: HttpRequest, refusal: InvalidValue) -> HttpResponse:
    return render(request, "telemetry/refused.html", {"problem": str(refusal)}, status=400)


# --- Parts of a deployment's page
@require_GET
@login_required
def live(request: HttpRequest, tenant: str, name: str) -> HttpResponse:
    """Figures of the last five minutes; `expected` is how many servers ought to report."""
    found = tenant_for(request.user, tenant)
    given = request.GET.get("expected", "")
    expected = min(int(given), MOST_SERVERS) if given.isascii() and given.isdigit() else 0
    now = timezone.now()
    etag = etag_of(request, selectors.revision(found.slug, name, now=now))
    if answer := not_modified(request, etag):
        return answer
    scope = Scope(tenant=found.slug, deployment=name)
    cluster = selectors.cluster_of(found.slug, name)
    shown: list[Shown] | None = []
    if cluster is not None and measure.source_of(cluster).is_prometheus:
        held = asking.figures(
            cluster, selectors.SERVING, scope, now - NOW, now, asked_by=request.user
        )
        shown = None
        if held is not None:
            both = zip(selectors.SERVING, held, strict=True)
            shown = [Shown(*one, figure) for one, figure in both]
    elif cluster is not None:
        shown = selectors.serving(cluster, scope, now, expected=expected)
    state = selectors.together(shown) if shown else Figure(None, State.NOT_CONFIGURED)
    context = {
        "figures": numbers(shown or []),
        "state": state,
        "has_values": any(one.figure.value is not None for one in shown or ()),
        "waiting": shown is None,
        "tenant": found,
        "name": name,
    }
    return stamp(render(request, "telemetry/live.html", context), etag if shown else "")


@require_GET
@login_required
def over_time(request: HttpRequest, tenant: str, name: str) -> HttpResponse:
    """Four charts of a deployment, for its own page; the others are one link away."""
    found = tenant_for(request.user, tenant)
    chosen = request.GET.get("range", "")
    span = chosen if chosen in RANGES else "1h"
    common = {"tenant": found.slug, "deployment": name}
    panels = [
        _placed(Panel(metric, statistic, "pool"), common, {}, span)
        for metric, statistic in (
            ("tokens", "rate"),
            ("cache_hit", "ratio"),
            ("ttft", "p95"),
            ("error_ratio", "ratio"),
        )
    ]
    context = {"panels": panels, "tenant": found, "name": name, "range": span}
    etag = etag_of(request, span)
    return not_modified(request, etag) or stamp(
        render(request, "telemetry/over_time.html", context), etag
    )
