"""One template per page; htmx gets a named part of it."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render, resolve_url
from django.utils.cache import patch_vary_headers


def wants_part(request: HttpRequest) -> bool:
    """True for a targeted htmx request; boosted links and history restores need the whole page."""
    htmx = request.htmx  # type: ignore[attr-defined]
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def render_page(
    request: HttpRequest,
    template: str,
    context: dict[str, Any],
    *,
    part: str,
    status: int = 200,
) -> HttpResponse:
    """Render `template`, or only its partial `part` when htmx asked for that."""
    name = f"{template}#{part}" if wants_part(request) else template
    response = render(request, name, context, status=status)
    # Without this the browser's cache can hand a bare fragment to the back button.
    patch_vary_headers(response, ["HX-Request"])
    return response


class LoginRedirectMiddleware:
    """Send the whole page, not one part of it, to the login when the session has ended."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.login_path = resolve_url(settings.LOGIN_URL)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        target = response.headers.get("Location", "")
        if not request.headers.get("HX-Request") or not target.startswith(self.login_path):
            return response
        # htmx would follow a redirect and put the login page into the part.
        page = request.headers.get("HX-Current-URL", "")
        query = urlencode({"next": urlsplit(page)._replace(scheme="", netloc="").geturl()})
        return HttpResponse(status=204, headers={"HX-Redirect": f"{self.login_path}?{query}"})


def posted(request: HttpRequest) -> QueryDict | None:
    """What a form was sent, even if that is nothing; None when the form is only looked at."""
    return request.POST if request.method == "POST" else None
