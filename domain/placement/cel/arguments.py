"""Evaluating the arguments of a call.

The first error is the call's error. Upstream evaluates the other arguments all the
same, and where one of those breaks off the evaluation, that is what counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from domain.placement.cel.values import CelError

type Frame = list[Any]
type Step = Callable[[Frame], Any]


class Constant:
    """A step whose value is known: literals, and conversions and lists of literals."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, frame: Frame) -> Any:
        return self.value


def values(steps: Sequence[Step], frame: Frame) -> list[Any]:
    """Raises CelError or Aborted."""
    found: list[Any] = []
    try:
        for step in steps:
            found.append(step(frame))  # noqa: PERF401 - how far it came is needed
    except CelError:
        _settle(steps[len(found) + 1 :], frame)
        raise
    return found


def _settle(steps: Iterable[Step], frame: Frame) -> None:
    for step in steps:
        with suppress(CelError):
            step(frame)


def call(function: Callable[..., Any], steps: Sequence[Step]) -> Step:
    """The step that calls the function with the values of other steps."""
    if len(steps) == 1:
        only = steps[0]
        return lambda frame: function(only(frame))
    if len(steps) == 2:
        return _binary(function, *steps)
    return lambda frame: function(*values(steps, frame))


def _binary(function: Callable[[Any, Any], Any], left: Step, right: Step) -> Step:
    if isinstance(right, Constant):
        value = right.value
        return lambda frame: function(left(frame), value)

    def apply(frame: Frame) -> Any:
        try:
            first = left(frame)
        except CelError:
            _settle((right,), frame)
            raise
        return function(first, right(frame))

    return apply
