"""The parts of a deployment's page that tell how it serves: figures of now, and a day of them."""

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.common.etags import etag_of, not_modified, stamp
from apps.telemetry import charts, selectors
from apps.telemetry.selectors import Figure
from apps.tenancy.selectors import tenant_for

RANGES = {"1h": 1, "6h": 6, "24h": 24}
MOST_SERVERS = 10_000
FIRST_BUCKET_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure as the page has it: `text` is empty where nothing can be said."""

    label: str
    text: str
    figure: Figure


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
    figures = selectors.live(found.slug, name, now=now, expected=expected)
    shown = _shown(figures)
    context = {
        "figures": shown,
        "state": shown[0].figure,
        "tenant": found,
        "name": name,
        "range": request.GET.get("range", "1h"),
    }
    return stamp(render(request, "telemetry/live.html", context), etag)


def _shown(live: selectors.Live) -> list[Shown]:
    return [
        Shown("Tokens a second", _number(live.tokens_per_second), live.tokens_per_second),
        Shown("Requests a second", _number(live.requests_per_second), live.requests_per_second),
        Shown("Prefix cache hit", _share(live.cache_hit), live.cache_hit),
        Shown("First token, half within", _seconds(live.ttft_p50), live.ttft_p50),
        Shown("First token, 90 % within", _seconds(live.ttft_p90), live.ttft_p90),
        Shown("Waited in the queue, half within", _coarse(live.queue_p50), live.queue_p50),
        Shown("Read the prompt, half within", _coarse(live.prefill_p50), live.prefill_p50),
        Shown("Running now", _number(live.running), live.running),
        Shown("Queued now", _number(live.queued), live.queued),
        Shown("KV cache in use", _share(live.kv_use), live.kv_use),
    ]


def _number(figure: Figure) -> str:
    if figure.value is None:
        return ""
    return f"{figure.value:,.0f}" if figure.value >= 10 else f"{figure.value:.1f}"


def _share(figure: Figure) -> str:
    return "" if figure.value is None else f"{figure.value * 100:.0f} %"


def _seconds(figure: Figure) -> str:
    if figure.value is None:
        return ""
    return f"{figure.value:.2f} s" if figure.value >= 1 else f"{figure.value * 1000:.0f} ms"


def _coarse(figure: Figure) -> str:
    """vLLM's first bucket of queue and prefill ends at 0.3 s: less than that is not resolved."""
    if figure.value is not None and figure.value < FIRST_BUCKET_SECONDS:
        return f"under {FIRST_BUCKET_SECONDS * 1000:.0f} ms"
    return _seconds(figure)


@require_GET
@login_required
def chart(request: HttpRequest, tenant: str, name: str) -> HttpResponse:
    """Tokens, cache hit and time to first token, a point a minute, as the page draws it."""
    found = tenant_for(request.user, tenant)
    hours = RANGES.get(request.GET.get("range", "1h"), 1)
    until = timezone.now().replace(second=0, microsecond=0)
    etag = etag_of(request, until)
    if answer := not_modified(request, etag):
        return answer
    since = until - timedelta(hours=hours)
    points = selectors.points(found.slug, name, since=since, until=until)
    figure = charts.serving(points)
    if all(point.tokens_per_second is None for point in points):
        figure["data"] = []
        figure["note"] = "No reading in this time: no server was ready, or none could be read."
    return stamp(JsonResponse(figure), etag)
