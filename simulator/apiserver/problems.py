"""Refusals, each in the words and the Status body of the real API server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from simulator.apiserver.kinds import Kind
from simulator.apiserver.paths import Target

REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}
STALE = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


class Refused(Exception):  # a refusal is an answer
    """A request that the server answers with a Status of kind Failure."""

    def __init__(
        self,
        code: int,
        message: str,
        *,
        reason: str | None = None,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = REASONS.get(code, "Unknown") if reason is None else reason
        self.details = details
        self.headers = dict(headers or {})
        self.metadata = dict(metadata or {})

    def status(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = dict(self.details)
        return body | {"code": self.code}


@dataclass(frozen=True, slots=True)
class Cause:
    """One field at fault: `reason` as in field.ErrorType, `message` with its lead word."""

    field: str
    reason: str
    message: str

    def line(self) -> str:
        return f"{self.field}: {self.message}"

    def as_dict(self) -> dict[str, str]:
        return {"reason": self.reason, "message": self.message, "field": self.field}


def required(field: str, message: str = "") -> Cause:
    return Cause(
        field, "FieldValueRequired", "Required value" + (f": {message}" if message else "")
    )


def invalid_value(field: str, value: Any, message: str) -> Cause:
    return Cause(field, "FieldValueInvalid", f"Invalid value: {_shown(value)}: {message}")


def forbidden_field(field: str, message: str) -> Cause:
    return Cause(field, "FieldValueForbidden", f"Forbidden: {message}")


def unsupported_value(field: str, value: Any, allowed: Sequence[str]) -> Cause:
    choices = ", ".join(f'"{word}"' for word in allowed)
    return Cause(
        field,
        "FieldValueNotSupported",
        f"Unsupported value: {_shown(value)}: supported values: {choices}",
    )


def duplicate(field: str, value: Any) -> Cause:
    return Cause(field, "FieldValueDuplicate", f"Duplicate value: {_shown(value)}")


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    return orjson.dumps(value).decode()


def _about(kind: Kind, name: str) -> dict[str, Any]:
    details: dict[str, Any] = {"name": name} if name else {}
    if kind.group:
        details["group"] = kind.group
    return details | {"kind": kind.plural}


def not_found(kind: Kind, name: str) -> Refused:
    return Refused(404, f'{kind.resource} "{name}" not found', details=_about(kind, name))


def unknown_resource() -> Refused:
    return Refused(404, "the server could not find the requested resource", details={})


def already_exists(kind: Kind, name: str, *, going: bool = False) -> Refused:
    lead = "object is being deleted: " if going else ""
    return Refused(
        409,
        f'{lead}{kind.resource} "{name}" already exists',
        reason="AlreadyExists",
        details=_about(kind, name),
    )


def conflict(kind: Kind, name: str, message: str = STALE) -> Refused:
    return Refused(
        409,
        f'Operation cannot be fulfilled on {kind.resource} "{name}": {message}',
        details=_about(kind, name),
    )


def invalid(kind: Kind, name: str, causes: Sequence[Cause]) -> Refused:
    lines = [cause.line() for cause in causes]
    text = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
    details: dict[str, Any] = {"name": name} if name else {}
    if kind.group:
        details["group"] = kind.group
    details |= {"kind": kind.kind, "causes": [cause.as_dict() for cause in causes]}
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    return Refused(422, f'{qualified} "{name}" is invalid: {text}', details=details)


def forbidden(kind: Kind, name: str, message: str) -> Refused:
    return Refused(
        403, f'{kind.resource} "{name}" is forbidden: {message}', details=_about(kind, name)
    )


def bad_request(message: str) -> Refused:
    return Refused(400, message)


def unauthorized() -> Refused:
    return Refused(401, "Unauthorized")


def method_not_supported() -> Refused:
    return Refused(
        405, "the server does not allow this method on the requested resource", details={}
    )


def too_old(asked: int, oldest: int) -> Refused:
    return Refused(410, f"too old resource version: {asked} ({oldest})")


def expired_page(token: str) -> Refused:
    """A list whose first page is forgotten; the token goes on without its consistency."""
    return Refused(
        410,
        "The provided continue parameter is too old to display a consistent list result. You can "
        "start a new list without the continue parameter, or use the continue token in this "
        "response to retrieve the remainder of the results. Continuing with the provided token "
        "results in an inconsistent list - objects that were created, modified, or deleted "
        "between the time the first chunk was returned and now may show up in the list.",
        metadata={"continue": token},
    )


def too_many_requests(seconds: int) -> Refused:
    return Refused(
        429,
        "the server has received too many requests and has asked us to try again later",
        details={"retryAfterSeconds": seconds},
        headers={"Retry-After": str(seconds)},
    )


def invalid_options(field: str, value: str) -> Refused:
    """An option of the request that is missing or not known."""
    if field == "fieldManager":
        cause = required(field, "is required for apply patch")
        name = "PatchOptions"
    elif field == "fieldValidation":
        cause = unsupported_value(field, value, ("", "Ignore", "Strict", "Warn"))
        name = "CreateOptions"
    elif field == "dryRun":
        cause = unsupported_value(field, [value], ("All",))
        name = "CreateOptions"
    else:
        cause = unsupported_value(field, value, ("Foreground", "Background", "Orphan", "nil"))
        name = "DeleteOptions"
    return Refused(
        422,
        f'{name}.meta.k8s.io "" is invalid: {cause.line()}',
        details={"group": "meta.k8s.io", "kind": name, "causes": [cause.as_dict()]},
    )


def invalid_token_request(seconds: int) -> Refused:
    cause = invalid_value(
        "spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes"
    )
    about = {"group": "authentication.k8s.io", "kind": "TokenRequest"}
    return Refused(
        422,
        f'TokenRequest.authentication.k8s.io "" is invalid: {cause.line()}',
        details=about | {"causes": [cause.as_dict()]},
    )


def plain_failure(message: str) -> Refused:
    """A failure that the real server does not classify."""
    return Refused(500, message, reason="")


def revision_on_create() -> Refused:
    return plain_failure("resourceVersion should not be set on objects to be created")


def anonymous(method: str, wanted: Target | None, path: str) -> Refused:
    """A request without credentials, as a cluster refuses it that asks RBAC about everybody."""
    verbs = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
    verb = verbs.get(method, "get")
    if wanted is None:
        return Refused(
            403, f'forbidden: User "system:anonymous" cannot {verb} path "{path}"', details={}
        )
    if verb == "get" and not wanted.name:
        verb = "list"
    place = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
    resource = f"{wanted.plural}.{wanted.group}" if wanted.group else wanted.plural
    details = {"group": wanted.group} if wanted.group else {}
    return Refused(
        403,
        f'{resource} is forbidden: User "system:anonymous" cannot {verb} resource '
        f'"{wanted.plural}" in API group "{wanted.group}" {place}',
        details=details | {"kind": wanted.plural},
    )


def outdated(kind: Kind, name: str, message: str) -> Refused:
    """A precondition of a deletion that does not hold; it names the kind, not the resource."""
    details = {"name": name} | ({"group": kind.group} if kind.group else {})
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    return Refused(
        409,
        f'Operation cannot be fulfilled on {qualified} "{name}": {message}',
        details=details | {"kind": kind.kind},
    )


def bad_patch(item: Any, trouble: str) -> Refused:
    """A patch whose result is not of the kind."""
    cause = invalid_value("patch", orjson.dumps(item).decode(), "").message[: -len(": ")]
    message = f"{cause}: {trouble}"
    return Refused(
        422,
        f' "" is invalid: patch: {message}',
        details={"causes": [{"reason": "FieldValueInvalid", "message": message, "field": "patch"}]},
    )


def foreign_namespace() -> Refused:
    return bad_request(
        "the namespace of the provided object does not match the namespace sent on the request"
    )


def too_large(limit: int) -> Refused:
    return Refused(413, f"Request entity too large: limit is {limit}")
