"""What calls cost: CEL's own functions, its extensions, and those of Kubernetes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from domain.placement.cel.cost_sizes import (
    MOST,
    UNKNOWN,
    Range,
    add,
    fixed,
    scaled,
    times,
)
from domain.placement.cel.types import Type

TRAVERSAL, REGEX = 0.1, 0.25
FORMAT_REGEX = 128
ONE = fixed(1)


class Node(NamedTuple):
    """An argument: where it stands in `device`, its type, its size, its value if literal."""

    path: tuple[str, ...]
    type: Type
    size: Range | None
    literal: Any = None

    @property
    def extent(self) -> Range:
        return UNKNOWN if self.size is None else self.size


class Call(NamedTuple):
    cost: Range
    size: Range | None = None


# CEL's own functions


def standard_cost(overload: str, target: Node | None, args: Sequence[Node]) -> Call:
    """The cost without that of the arguments."""
    rule = _STANDARD.get(overload)
    found = rule(target, args) if rule else None
    return found or Call(ONE)


def _string_to_bytes(target: Node | None, args: Sequence[Node]) -> Call:
    size = args[0].extent
    return Call(scaled(size, TRAVERSAL), (size[0], size[1] * 4 % (MOST + 1)))


def _bytes_to_string(target: Node | None, args: Sequence[Node]) -> Call:
    size = args[0].extent
    return Call(scaled(size, TRAVERSAL), (size[0] // 4, size[1]))


def _quote(target: Node | None, args: Sequence[Node]) -> Call:
    size = args[0].extent
    wrapped = ((size[0] + 2) % (MOST + 1), (size[1] * 2 + 2) % (MOST + 1))
    return Call(scaled(size, TRAVERSAL), wrapped)


def _affix(target: Node | None, args: Sequence[Node]) -> Call:
    return Call(scaled(args[0].extent, TRAVERSAL))


def _format(target: Node | None, args: Sequence[Node]) -> Call | None:
    return Call(scaled(target.extent, TRAVERSAL)) if target else None


def _in_list(target: Node | None, args: Sequence[Node]) -> Call:
    return Call(args[1].extent)


def _matches(target: Node | None, args: Sequence[Node]) -> Call:
    text, regex = (target, args[0]) if target else (args[0], args[1])
    text_cost = scaled(add(text.extent, ONE), TRAVERSAL)
    return Call(times(text_cost, scaled(regex.extent, REGEX)))


def _contains(target: Node | None, args: Sequence[Node]) -> Call | None:
    if target is None:
        return None
    return Call(times(scaled(target.extent, TRAVERSAL), scaled(args[0].extent, TRAVERSAL)))


def _added(target: Node | None, args: Sequence[Node]) -> Call:
    size = add(args[0].extent, args[1].extent)
    return Call(scaled(size, TRAVERSAL), size)


def _added_lists(target: Node | None, args: Sequence[Node]) -> Call:
    return Call(ONE, add(args[0].extent, args[1].extent))


def _compared(target: Node | None, args: Sequence[Node]) -> Call:
    most = min(args[0].extent[1], args[1].extent[1])
    return Call(scaled((1 if most else 0, most), TRAVERSAL))


type Rule = Callable[[Node | None, Sequence[Node]], Call | None]

_STANDARD: dict[str, Rule] = {
    "string_format": _format,
    "string_to_bytes": _string_to_bytes,
    "bytes_to_string": _bytes_to_string,
    "strings_quote": _quote,
    "starts_with_string": _affix,
    "ends_with_string": _affix,
    "in_list": _in_list,
    "matches": _matches,
    "matches_string": _matches,
    "contains_string": _contains,
    "add_string": _added,
    "add_bytes": _added,
    "add_list": _added_lists,
    "equals": _compared,
    "not_equals": _compared,
    **{
        f"{order}_{kind}": _compared
        for order in ("less", "greater", "less_equals", "greater_equals")
        for kind in ("string", "bytes")
    },
}


# Lists and sets, the extensions of CEL


def listed_cost(overload: str, target: Node | None, args: Sequence[Node]) -> Call | None:
    """Costs that CEL's list and set extensions state by overload."""
    if overload.startswith("list_sets_"):
        factor = 2 if "equivalent" in overload else 1
        return Call(add(scaled(times(args[0].extent, args[1].extent), factor), ONE))
    if overload == "lists_range":
        return _allocating(1, fixed(_count(args[0], MOST)))
    if target is None or not overload.startswith("list_"):
        return None
    if overload == "list_slice":
        return _slice(target.extent, args)
    return _list_call(overload, target.extent, args)


def _slice(size: Range, args: Sequence[Node]) -> Call:
    length = _count(args[1], size[1]) - _count(args[0], 0)
    return _allocating(1, fixed(length % (MOST + 1)))


def _list_call(overload: str, size: Range, args: Sequence[Node]) -> Call | None:
    match overload:
        case "list_reverse":
            return _allocating(1, size)
        case "list_flatten":
            return _allocating(1, size)
        case "list_flatten_int":
            return _allocating(_count(args[0], MOST), size)
        case "list_distinct":
            return _allocating(2, times(size, size))
    if overload.endswith("_sort"):
        return _sorted(overload, size)
    if overload.endswith("_sortByAssociatedKeys"):
        return _sorted(overload, args[0].extent)
    return None


def _sorted(overload: str, size: Range) -> Call:
    texts = overload.startswith(("list_string_", "list_bytes_"))
    return _allocating(2 + TRAVERSAL if texts else 2, times(size, size))


def _allocating(factor: float, size: Range) -> Call:
    return Call(add(add(scaled(size, factor), ONE), fixed(10)), size)


def _count(node: Node, otherwise: int) -> int:
    """The value of an int literal, not below zero."""
    return max(node.literal, 0) if node.literal.__class__ is int else otherwise
