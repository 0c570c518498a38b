"""Steps that take a shorter way: constant paths into the device, and constant patterns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from domain.placement.cel.arguments import Constant, Frame, Step, values
from domain.placement.cel.device import raw_reader, typed_attribute, typed_capacity
from domain.placement.cel.functions.text import all_matches, first_match, found_in, pattern
from domain.placement.cel.syntax import Call, Expr, Ident, Literal, Select
from domain.placement.cel.values import CelError, no_overload

PATTERNED: dict[str, Callable[..., Any]] = {
    "matches": found_in,
    "find": first_match,
    "findAll": all_matches,
}


def device_path(expr: Expr) -> tuple[str, ...]:
    """`device.attributes["d"].n` as ("attributes", "d", "n"); empty for anything else."""
    if isinstance(expr, Select) and not expr.test_only:
        return _path_step(expr.operand, expr.field)
    if isinstance(expr, Call) and expr.function == "_[_]":
        key = expr.args[1]
        if isinstance(key, Literal) and isinstance(key.value, str):
            return _path_step(expr.args[0], key.value)
    return ()


def _path_step(operand: Expr, step: str) -> tuple[str, ...]:
    if isinstance(operand, Ident) and operand.name == "device":
        return (step,)
    path = device_path(operand)
    return (*path, step) if path else ()


def value_step(part: str, domain: str, name: str) -> Step:
    raw = raw_reader(part, domain, name)
    typed = typed_attribute if part == "attributes" else typed_capacity

    def read(frame: Frame) -> Any:
        found = raw(frame[0])
        if found is None:
            raise CelError(f"no such key: {name}")
        return typed(found)

    return read


def is_text(step: Step) -> bool:
    return isinstance(step, Constant) and step.value.__class__ is str


def patterned(function: str, steps: list[Step]) -> Step:
    """A call with a constant pattern: the pattern is compiled once, and now.

    Raises CelError where it is no regular expression.
    """
    apply, (text, regex, *more) = PATTERNED[function], steps
    compiled = pattern(regex([]))

    def search(frame: Frame) -> Any:
        value = text(frame)
        rest = values(more, frame)
        if value.__class__ is not str or any(item.__class__ is not int for item in rest):
            raise no_overload()
        return apply(compiled, value, *rest)

    return search
