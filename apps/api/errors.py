"""Every error as application/problem+json (RFC 9457): a stable code, the fields, the request id."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import structlog
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import DataError, IntegrityError, OperationalError
from django.http import Http404, HttpResponse
from rest_framework import exceptions as drf
from rest_framework.response import Response

from apps.common.requests import current_request_id
from domain.errors import DomainError, InvalidValue

CONTENT_TYPE = "application/problem+json"
log = structlog.get_logger(__name__)


class PreconditionFailed(drf.APIException):
    status_code = 412
    default_code = "precondition_failed"
    default_detail = "It has changed since you read it: If-Match does not match. Read it again."


class KeyReused(drf.APIException):
    status_code = 422
    default_code = "idempotency_key_reused"
    default_detail = "This Idempotency-Key came with another request before. Use a new key."


class KeyInProgress(drf.APIException):
    status_code = 409
    default_code = "idempotency_in_progress"
    default_detail = (
        "A request with this Idempotency-Key is being answered or was cut off. Look at what it was "
        "to make before sending it again with a new key."
    )


class TooLarge(drf.APIException):
    status_code = 413
    default_code = "too_large"
    default_detail = "A body has 2 MiB at most."


class BadCursor(drf.APIException):
    status_code = 400
    default_code = "bad_cursor"
    default_detail = "This cursor is not of this list in this order. Begin without a cursor."


def problem(
    status: int, code: str, detail: str, *, fields: list[dict[str, str]] | None = None
) -> dict[str, Any]:
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
        "request_id": current_request_id(),
    }
    return body | {"errors": fields} if fields else body


def handle(error: Exception, context: dict[str, Any]) -> Response | HttpResponse | None:
    """DRF's exception handler. What is not an answer to a caller passes on and becomes a 500."""
    headers: dict[str, str] = {}
    if isinstance(error, DomainError):
        body = _refusal(error, context)
    elif isinstance(error, (ValidationError, drf.ValidationError)):
        fields = list(_fields_of(error))
        body = problem(400, "invalid", "Some fields cannot be used.", fields=fields)
    elif isinstance(error, Http404):
        body = problem(404, "not_found", "There is no such thing, or it is not yours to see.")
    elif isinstance(error, PermissionDenied):
        body = problem(403, "forbidden", str(error) or "You may not do this.")
    elif isinstance(error, drf.APIException):
        body, headers = _of_drf(error)
    elif isinstance(error, (IntegrityError, OperationalError)):
        log.warning("write refused by the database", error=str(error).splitlines()[0])
        body = problem(409, "conflict", "Someone else changed the same thing. Read it, try again.")
    elif isinstance(error, DataError):
        body = problem(400, "invalid", "A value is too large or cannot be stored.")
    else:
        return None
    return Response(body, status=body["status"], headers=headers, content_type=CONTENT_TYPE)


def _refusal(error: DomainError, context: dict[str, Any]) -> dict[str, Any]:
    if isinstance(error, InvalidValue):
        fields = [{"field": error.field, "code": error.code, "detail": str(error)}]
        return problem(400, "invalid", str(error), fields=fields)
    if error.code == "outdated" and "If-Match" in context["request"].headers:
        return problem(412, PreconditionFailed.default_code, str(error))
    return problem(409, error.code, str(error))


def _of_drf(error: drf.APIException) -> tuple[dict[str, Any], dict[str, str]]:
    headers = {}
    if (wait := getattr(error, "wait", None)) is not None:
        headers["Retry-After"] = str(int(wait) + 1)
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    code = error.get_codes()
    code = code if isinstance(code, str) else error.default_code
    return problem(error.status_code, code, str(error.detail)), headers


def _fields_of(error: ValidationError | drf.ValidationError) -> Iterator[dict[str, str]]:
    if isinstance(error, drf.ValidationError):
        yield from _walk(error.get_full_details(), "")
    elif hasattr(error, "error_dict"):
        for name, problems in error.message_dict.items():
            path = "" if name == "__all__" else name
            yield from ({"field": path, "code": "invalid", "detail": text} for text in problems)
    else:
        yield from ({"field": "", "code": "invalid", "detail": text} for text in error.messages)


def _walk(details: Any, path: str) -> Iterator[dict[str, str]]:
    """DRF's nested details as flat paths: `pools[0].replicas`."""
    if isinstance(details, dict) and set(details) == {"message", "code"}:
        yield {"field": path, "code": details["code"], "detail": str(details["message"])}
    elif isinstance(details, dict):
        for name, inner in details.items():
            step = "" if name == "non_field_errors" else str(name)
            yield from _walk(inner, f"{path}.{step}".strip(".") if step else path)
    elif isinstance(details, list):
        is_leaf = all(isinstance(one, dict) and set(one) == {"message", "code"} for one in details)
        for index, inner in enumerate(details):
            yield from _walk(inner, path if is_leaf else f"{path}[{index}]")
