"""What belongs to no room: the front page, health, and reports of blocked content."""

import json

import structlog
from django.contrib.auth.decorators import login_required
from django.core.cache import cache
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

log = structlog.get_logger(__name__)


@require_GET
def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers; says nothing of its database, so that a restart is not the cure."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_GET
def readyz(request: HttpRequest) -> JsonResponse:
    """Ready when the database answers. Redis may be away: pages work without it, and it is said."""
    checks = {"database": _database_answers(), "redis": _redis_answers()}
    status = 200 if checks["database"] == "ok" else 503
    return JsonResponse(checks, status=status)


def _database_answers() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Exception as error:  # noqa: BLE001 - whatever it is, the answer is "not ready"
        return type(error).__name__
    return "ok"


def _redis_answers() -> str:
    try:
        cache.get("readyz")
    except Exception as error:  # noqa: BLE001 - whatever it is, the answer is "away"
        return type(error).__name__
    return "ok"


@csrf_exempt
@require_POST
def csp_report(request: HttpRequest) -> HttpResponse:
    """Log what a browser refused to load; a page of ours never causes one."""
    try:
        report = json.loads(request.body[:10_000])
    except ValueError:
        return HttpResponse(status=400)
    log.warning("csp report", report=report)
    return HttpResponse(status=204)


@require_GET
@login_required
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "home.html")
