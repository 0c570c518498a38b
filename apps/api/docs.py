"""The API's own documentation, made from docs/openapi.yaml: works offline and under our CSP."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET


@require_GET
@login_required
def docs(request: HttpRequest) -> HttpResponse:
    return render(request, "api/docs.html")
