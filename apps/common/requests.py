"""A request id for every request: in its answer, its log lines, its errors and its audit rows."""

import re
import uuid
from collections.abc import Callable

import structlog
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse

HEADER = "X-Request-Id"
_ACCEPTED = re.compile(r"[A-Za-z0-9._-]{8,64}")


class RequestIdMiddleware:
    """Keep the caller's id when it is short and harmless, otherwise make one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get(HEADER, "")
        request_id = given if _ACCEPTED.fullmatch(given) else uuid.uuid4().hex
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = self.get_response(request)
        response[HEADER] = request_id
        return response


class RefuseNulMiddleware:
    """400 for an address with the character NUL: PostgreSQL cannot compare with it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "\0" in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):
            raise BadRequest("The address holds the character NUL.")
        return self.get_response(request)


def current_request_id() -> str:
    """The id of the request or task that runs now, empty outside of both."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))
