"""One template per page; htmx gets a named part of it."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
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
