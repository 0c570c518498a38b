"""What Kubernetes checks of literals after the type check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from domain.placement.cel.arguments import Constant
from domain.placement.cel.checked import Checked
from domain.placement.cel.functions import bind_call
from domain.placement.cel.source import Problem
from domain.placement.cel.syntax import (
    Call,
    Expr,
    ListLiteral,
    Literal,
    MapLiteral,
    children,
    nodes,
    walk,
)
from domain.placement.cel.types import Type, shown
from domain.placement.cel.values import CelError

from .functions.text import BadPattern, pattern

TIMES = {
    "duration": ("string_to_duration",),
    "timestamp": ("string_to_timestamp", "int64_to_timestamp"),
}
EXEMPT = "format"  # string.format takes a list of mixed values


class Unjudgeable(Exception):
    """Upstream's own check panics: an optional entry whose type is not known, as `[?dyn(1)]`."""


def validate(checked: Checked) -> list[Problem]:
    """Bad literals of durations, timestamps and patterns; lists and maps of mixed types.

    Raises Unjudgeable.
    """
    if not any(map(_is_concerned, nodes(checked.root))):
        return []
    return [*_literals(checked), *_mixed(checked, checked.root)]


def _is_concerned(expr: Expr) -> bool:
    if isinstance(expr, Call):
        return expr.function == "matches" or expr.function in TIMES
    return isinstance(expr, ListLiteral | MapLiteral)


def _literals(checked: Checked) -> Iterator[Problem]:
    for expr in walk(checked.root):
        # Upstream looks at the first argument, which for the global matches() is the text.
        if isinstance(expr, Call) and expr.args and isinstance(expr.args[0], Literal):
            literal = expr.args[0]
            if _invalid(expr.function, literal.value):
                position = checked.source.position(literal.id)
                yield Problem(position, f"invalid {expr.function} argument")


def _invalid(function: str, value: object) -> bool:
    if function == "matches" and isinstance(value, str):
        try:
            pattern(value)
        except BadPattern:
            return True
    if function in TIMES and isinstance(value, str | int):
        try:
            bind_call(function, TIMES[function], [Constant(value)])([])
        except CelError:
            return True
    return False


def _mixed(checked: Checked, expr: Expr) -> Iterator[Problem]:
    if isinstance(expr, Call) and expr.function == EXEMPT:
        return
    if isinstance(expr, ListLiteral):
        yield from _mixed_list(checked, expr)
    elif isinstance(expr, MapLiteral):
        keys = [(entry.key, checked.types[entry.key.id]) for entry in expr.entries]
        values = [
            (entry.value, _unwrapped(checked.types[entry.value.id], entry.optional))
            for entry in expr.entries
        ]
        yield from _differing(checked, keys)
        yield from _differing(checked, values)
    for child in children(expr):
        yield from _mixed(checked, child)


def _mixed_list(checked: Checked, expr: ListLiteral) -> Iterator[Problem]:
    items = [
        (item, _unwrapped(checked.types[item.id], index in expr.optional))
        for index, item in enumerate(expr.items)
    ]
    yield from list(_differing(checked, items))[:1]


def _unwrapped(type_: Type, optional: bool) -> Type:
    if not optional:
        return type_
    if not type_.params:
        raise Unjudgeable
    return type_.params[0]


def _differing(checked: Checked, parts: Iterable[tuple[Expr, Type]]) -> Iterator[Problem]:
    expected: Type | None = None
    for expr, found in parts:
        if expected is None:
            expected = found
        elif found != expected:
            text = f"expected type '{shown(expected)}' but found '{shown(found)}'"
            yield Problem(checked.source.position(expr.id), text)
