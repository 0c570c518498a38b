"""The portal's own /metrics, for who has the token of the settings."""

import hmac

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from apps.telemetry import exporting


@require_GET
def own_metrics(request: HttpRequest) -> HttpResponse:
    """404 while no token is set; 401 without it."""
    tokens: list[str] = settings.METRICS_TOKENS
    if not tokens:
        raise Http404("CLAIMYARD_METRICS_TOKENS is not set.")
    given = request.headers.get("Authorization", "").encode()
    if not any(hmac.compare_digest(given, f"Bearer {one}".encode()) for one in tokens):
        answer = HttpResponse("A bearer token is needed.\n", status=401, content_type="text/plain")
        answer["WWW-Authenticate"] = "Bearer"
        return answer
    return HttpResponse(exporting.page(timezone.now()), content_type=exporting.KIND)
