"""Error pages. Each names the request, so that a person and the log can speak of the same one.

They need no database, no session and no context processor: they must work when nothing else does.
"""

from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string

from apps.common.requests import current_request_id

_PAGES = {
    400: ("bad_request", "This request could not be understood", "Go back and try again."),
    403: ("forbidden", "You may not do this", "Ask an owner of the tenant or a platform admin."),
    404: (
        "not_found",
        "There is no such page",
        "It may have been removed, or you may not be a member of the team it belongs to.",
    ),
    413: ("too_large", "This request is too large", "A form or a body has 2 MiB at most."),
    500: (
        "internal",
        "The portal failed",
        "This is a fault of the portal, not yours. It is in the log; trying again may work.",
    ),
}


def _page(request: HttpRequest, code: int, said: str = "") -> HttpResponse:
    name, title, text = _PAGES[code]
    request_id = current_request_id()
    if request.path.startswith("/api/"):
        problem = {
            "type": "about:blank",
            "title": title,
            "status": code,
            "code": name,
            "detail": said or text,
            "request_id": request_id,
        }
        return JsonResponse(problem, status=code, content_type="application/problem+json")
    context = {"code": code, "title": title, "text": said or text, "request_id": request_id}
    return HttpResponse(render_to_string("error.html", context), status=code)


def bad_request(request: HttpRequest, exception: Any) -> HttpResponse:
    """Django's answer to any request that is not as it should be, too large ones included."""
    return _page(request, 413 if isinstance(exception, RequestDataTooBig) else 400)


def forbidden(request: HttpRequest, exception: Any) -> HttpResponse:
    return _page(request, 403, str(exception))


def not_found(request: HttpRequest, exception: Any) -> HttpResponse:
    return _page(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    return _page(request, 500)


def csrf_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _page(
        request, 403, "This form was too old or came from another site. Go back, reload, try again."
    )
