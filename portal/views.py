"""What belongs to no room: the front page, health, and reports of blocked content."""

import json
from contextlib import suppress
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LoginView
from django.core.cache import cache
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from apps.tenancy.selectors import sees_anything
from portal.navigation import scope_of

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


# The overview's parts, by the name home.html knows them by. A room's part is left out until there
# is one, so that the rooms need not know of the overview.
HOME_PARTS = {
    "freshness": "inventory:freshness",
    "summary": "inventory:summary",
    "claims": "claims:summary",
    "deployments": "deployments:summary",
    "tenants": "quotas:summary",
}


@require_GET
@login_required
def home(request: HttpRequest) -> HttpResponse:
    query = scope_of(request).query
    parts: dict[str, str] = {}
    if not sees_anything(request.user):
        return render(request, "home.html", {"parts": parts})
    for name, url_name in HOME_PARTS.items():
        with suppress(NoReverseMatch):
            parts[name] = reverse(url_name) + query
    return render(request, "home.html", {"parts": parts})


# As `make demo` makes them; it prints their password, which is new for each demo.
DEMO_LOGINS = (
    ("admin", "platform admin"),
    ("approver", "approves classes and patterns"),
    ("editor", "deploys models for a tenant"),
)


class Login(LoginView):
    """Local logins and, where it is set up, the provider's."""

    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context = super().get_context_data(**kwargs)
        context["sso_name"] = settings.OIDC_NAME
        if settings.OIDC_ISSUER:
            context["sso_url"] = reverse("openid_connect_login", args=["sso"])
        if settings.AUTH_DEMO_LOGINS:
            context["demo_logins"] = DEMO_LOGINS
        return context
