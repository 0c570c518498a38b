"""What the rules refuse. Each has a stable `code`, for the API and for tests to match on."""


class DomainError(Exception):
    """A request that the rules refuse. The message is written for the person who asked."""

    code = "refused"


class QuotaExceeded(DomainError):
    code = "quota_exceeded"


class IllegalTransition(DomainError):
    """The object is not in a state from which this step is allowed."""

    code = "illegal_transition"


class InvalidValue(DomainError):
    """A value that cannot be used; `field` is its path in the request, such as `params.count`."""

    code = "invalid_value"

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field
