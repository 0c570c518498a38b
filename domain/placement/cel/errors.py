"""What can go wrong with a selector: it is refused, it is beyond us, or it fails on a device."""

from __future__ import annotations

from dataclasses import dataclass

NO_SUCH_KEY_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) "
    "or guarding the check with has() for optional fields"
)


@dataclass(frozen=True, slots=True)
class Position:
    """A place in an expression; line and column count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class CompileFailure:
    """Kubernetes would refuse the expression; the message is worded as its own."""

    message: str
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Kubernetes may well accept the expression, but it cannot be judged here."""

    reason: str


class SelectorError(Exception):
    """The selector failed on this device, as it would in the scheduler.

    One such device ends the whole attempt to place a pod, so the message is
    worded as kube-scheduler words it, with its hint about missing keys.
    """

    @property
    def message(self) -> str:
        return str(self.args[0])


def runtime_message(message: str) -> str:
    """The error text that Kubernetes shows, with the hint it adds for missing keys."""
    return message + NO_SUCH_KEY_HINT if "no such key:" in message else message
