"""Lists, sets and the map insertions of two-variable macros."""

from __future__ import annotations

from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from domain.placement.cel.access import MISSING, contains
from domain.placement.cel.functions.binding import overload, singleton
from domain.placement.cel.functions.operators import add
from domain.placement.cel.syntax import UInt
from domain.placement.cel.values import COMPARABLE as COMPARABLE_TYPES
from domain.placement.cel.values import (
    CelError,
    Duration,
    LiteralMap,
    as_key,
    cannot,
    compare,
    no_overload,
    same,
    shown,
    type_name,
)

MAX_RANGE = 1_000_000
COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")


@overload(*(f"list_{name}_is_sorted_bool" for name in COMPARABLE))
def is_sorted(values: list[Any]) -> bool:
    _check_comparable(values)
    return all(_order(a, b) != 1 for a, b in pairwise(values))


def _check_comparable(values: list[Any]) -> None:
    if any(value.__class__ not in COMPARABLE_TYPES for value in values):
        raise no_overload()


def _order(a: Any, b: Any) -> int | None:
    """None where upstream's comparison is an error, which it takes for "not greater"."""
    try:
        return compare(a, b)
    except CelError:
        return None


@overload("list_int_sum_int")
def sum_ints(values: list[Any]) -> Any:
    return _sum(values, 0)


@overload("list_uint_sum_uint")
def sum_uints(values: list[Any]) -> Any:
    return _sum(values, UInt(0))


@overload("list_double_sum_double")
def sum_doubles(values: list[Any]) -> Any:
    return _sum(values, 0.0)


@overload("list_duration_sum_duration")
def sum_durations(values: list[Any]) -> Any:
    return _sum(values, Duration(0))


def _sum(values: list[Any], total: Any) -> Any:
    for value in values:
        total = add(total, value)
    return total


@overload(*(f"list_{name}_max_{name}" for name in COMPARABLE))
def largest(values: list[Any]) -> Any:
    return _extreme("max", values, wanted=-1)


@overload(*(f"list_{name}_min_{name}" for name in COMPARABLE))
def smallest(values: list[Any]) -> Any:
    return _extreme("min", values, wanted=1)


def _extreme(name: str, values: list[Any], *, wanted: int) -> Any:
    if not values:
        raise CelError(f"{name} called on empty list")
    _check_comparable(values)
    best = values[0]
    for value in values[1:]:
        if _order(best, value) == wanted:
            best = value
    return best


@overload("list_a_index_of_int")
def index_of(values: list[Any], item: Any) -> int:
    return next((at for at, value in enumerate(values) if same(value, item)), -1)


@overload("list_a_last_index_of_int")
def last_index_of(values: list[Any], item: Any) -> int:
    found = [at for at, value in enumerate(values) if same(value, item)]
    return found[-1] if found else -1


@overload("list_includes_dyn_dyn")
def includes(target: Any, item: Any) -> bool:
    """An attribute's value, or one of its values."""
    if target.__class__ is list:
        return any(same(value, item) for value in target)
    return same(target, item)


@overload("list_distinct")
def distinct(values: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for value in values:
        if not any(same(value, other) for other in kept):
            kept.append(value)
    return kept


@singleton("flatten")
def flatten(values: Any, depth: Any = 1) -> list[Any]:
    if values.__class__ is not list or depth.__class__ is not int:
        raise CelError(f"no such overload: {type_name(values)}.flatten()")
    if depth < 0:
        raise CelError("level must be non-negative")
    return _flatten(values, depth)


def _flatten(values: list[Any], depth: int) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        if value.__class__ is list and depth > 0:
            flat += _flatten(value, depth - 1)
        else:
            flat.append(value)
    return flat


@overload("lists_range")
def numbers(length: int) -> list[int]:
    if length < 0:
        raise CelError(f"lists.range: size must be non-negative, got {length}")
    if length > MAX_RANGE:
        raise CelError(f"lists.range: size {length} exceeds maximum allowed ({MAX_RANGE})")
    return list(range(length))


@overload("list_reverse")
def reverse(values: list[Any]) -> list[Any]:
    return values[::-1]


@overload("list_slice")
def cut(values: list[Any], start: int, end: int) -> list[Any]:
    asked = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        raise CelError(f"{asked}, negative indexes not supported")
    if start > end:
        raise CelError(f"{asked}, start index must be less than or equal to end index")
    if len(values) < end:
        raise CelError(f"{asked}, list is length {len(values)}")
    return values[start:end]


@singleton("sort")
def sort(values: Any) -> list[Any]:
    if values.__class__ is not list:
        raise cannot("sort", values)
    return sort_by(values, values)


@singleton("@sortByAssociatedKeys")
def sort_by(values: Any, keys: Any) -> list[Any]:
    if values.__class__ is not list:
        raise cannot("@sortByAssociatedKeys", values)
    if keys and keys[0].__class__ not in COMPARABLE_TYPES:
        raise CelError("list elements must be comparable")
    if any(key.__class__ is not keys[0].__class__ for key in keys):
        raise CelError("list elements must have the same type")
    pairs = sorted(zip(keys, values, strict=True), key=lambda pair: _ORDERED(pair[0]))
    return [value for _, value in pairs]


_ORDERED = cmp_to_key(lambda a, b: _order(a, b) or 0)


@overload("list_sets_contains_list")
def sets_contains(values: list[Any], wanted: list[Any]) -> bool:
    return all(contains(item, values) for item in wanted)


@overload("list_sets_intersects_list")
def sets_intersects(a: list[Any], b: list[Any]) -> bool:
    return any(contains(item, b) for item in a)


@overload("list_sets_equivalent_list")
def sets_equivalent(a: list[Any], b: list[Any]) -> bool:
    return sets_contains(a, b) and sets_contains(b, a)


@overload("@mapInsert_map_key_value")
def map_insert(mapping: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    known = as_key(key)
    if mapping.get(known, MISSING) is not MISSING:
        raise CelError(f"insert failed: key {shown(key)} already exists")
    return LiteralMap({**mapping, known: value})


@overload("@mapInsert_map_map")
def map_merge(mapping: dict[Any, Any], more: dict[Any, Any]) -> dict[Any, Any]:
    for key in more:
        if key in mapping:
            raise CelError(f"insert failed: key {shown(key)} already exists")
    return LiteralMap({**mapping, **more})
