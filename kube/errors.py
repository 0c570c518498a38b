"""What can go wrong between us and a cluster, as kinds that callers can act on.

`Transient` may work if tried again as it is; `Permanent` will not until somebody changes something.
Messages are meant for people: they name what failed and never hold a credential.
"""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_MESSAGE = 2000


@dataclass(frozen=True, slots=True)
class Cause:
    """One detail of a refusal: which field, and why (or whose it is, for an apply conflict)."""

    field: str
    reason: str
    message: str


class ClusterError(Exception):
    """Base of all. `status` is the HTTP status, 0 when no answer came."""

    reason = "Unknown"

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        reason: str = "",
        causes: tuple[Cause, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        self.message = _shorten(message)
        self.status = status
        self.reason = reason or self.reason
        self.causes = causes
        self.retry_after = retry_after
        super().__init__(self.message)


class Transient(ClusterError):
    """Worth another try: the server was away, busy, or the connection broke."""


class Unreachable(Transient):
    """No answer: the name did not resolve, nobody listens, or the answer did not come in time."""

    reason = "Unreachable"


class Busy(Transient):
    """429 or 503; `retry_after` holds the seconds the server asked for, if it did."""

    reason = "TooManyRequests"


class ServerFault(Transient):
    """Any other 5xx."""

    reason = "InternalError"


class Cut(Transient):
    """A stream ended in the middle of an object, or held what is not JSON."""

    reason = "ConnectionCut"


class Gone(Transient):
    """410: the resource version or continue token is too old; list again."""

    reason = "Expired"


class Permanent(ClusterError):
    """Refused; the same request will be refused again."""


class Conflict(Permanent):
    """409: another writer was faster, or owns fields of an apply (then `causes` says which)."""

    reason = "Conflict"


class AlreadyExists(Conflict):
    reason = "AlreadyExists"


class Invalid(Permanent):
    """400 or 422; `causes` names the fields."""

    reason = "Invalid"


class NotFound(Permanent):
    """404: no such object, or (when `is_path`) no such API on this server."""

    reason = "NotFound"
    is_path = False


class Forbidden(Permanent):
    """403: a right is missing, or an admission policy said no."""

    reason = "Forbidden"


class Unauthorized(Permanent):
    """401: the token is wrong, expired or revoked."""

    reason = "Unauthorized"


class Untrusted(Permanent):
    """The server's certificate is not signed by the CA given, or is for another name."""

    reason = "Untrusted"


class BadCredentials(Permanent):
    """A kubeconfig or its parts cannot be used; `code` is stable, the message says what to do."""

    reason = "BadCredentials"

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class WritesStopped(Permanent):
    """The portal's own switch forbids writing to this cluster now."""

    reason = "WritesStopped"


def of_status(
    status: int, body: dict[str, object], *, what: str, retry_after: float | None = None
) -> ClusterError:
    """Turn an HTTP status and a Kubernetes Status object (or `{}`) into the kind it is."""
    message = str(body.get("message") or f"the server answered {status}")
    reason = str(body.get("reason") or "")
    kind = _kind_of(status, reason)
    error = kind(
        f"{what}: {message}",
        status=status,
        reason=reason,
        causes=_causes(body.get("details")),
        retry_after=retry_after,
    )
    if isinstance(error, NotFound):
        error.is_path = not _names_object(body.get("details"))
    return error


_KINDS: dict[int, type[ClusterError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: Invalid,
    409: Conflict,
    410: Gone,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: Busy,
    503: Busy,
    504: ServerFault,
}


def _kind_of(status: int, reason: str) -> type[ClusterError]:
    if status == 409 and reason == "AlreadyExists":
        return AlreadyExists
    if reason == "Expired":
        return Gone
    fallback: type[ClusterError] = ServerFault if status >= 500 else Permanent
    return _KINDS.get(status, fallback)


def _causes(details: object) -> tuple[Cause, ...]:
    if not isinstance(details, dict):
        return ()
    return tuple(
        Cause(
            field=str(cause.get("field", "")),
            reason=str(cause.get("reason", "")),
            message=_shorten(str(cause.get("message", ""))),
        )
        for cause in details.get("causes") or ()
        if isinstance(cause, dict)
    )


def _names_object(details: object) -> bool:
    return isinstance(details, dict) and bool(details.get("name"))


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"
