"""The answer to an ask, as the part that polls for it."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_POST

from apps.common import asks
from apps.common.models import Ask


@require_GET
@login_required
def ask_part(request: HttpRequest, key: UUID) -> HttpResponse:
    """404 for all but the one who asked. While it waits, the part asks again every second."""
    ask = get_object_or_404(Ask, key=key, asked_by=request.user.pk)
    return _part(request, ask)


@require_POST
@login_required
def ask_take_back(request: HttpRequest, key: UUID) -> HttpResponse:
    ask = get_object_or_404(Ask, key=key, asked_by=request.user.pk)
    return _part(request, asks.take_back(ask))


def _part(request: HttpRequest, ask: Ask) -> HttpResponse:
    response = render(request, "parts/ask.html", {"ask": ask})
    response["Cache-Control"] = "private, no-store"
    return response
