"""Reading parts of values: fields, keys, indices, membership, presence."""

from __future__ import annotations

from typing import Any

from domain.placement.cel.device import DomainMap
from domain.placement.cel.syntax import UInt
from domain.placement.cel.values import (
    MAPS,
    NONE,
    NUMBERS,
    CelError,
    LiteralMap,
    Optional,
    as_key,
    go_type,
    no_overload,
    same,
    shown,
    type_name,
)

MISSING = object()
ABSENT_INDEX = object()
SIMPLE = frozenset((bool, str)) | NUMBERS


def _find(value: Any, key: Any, *, testing: bool = False) -> Any:
    """The part, or MISSING / ABSENT_INDEX. Raises CelError for an impossible index."""
    kind = value.__class__
    if kind in MAPS:
        return _find_key(value, key)
    if kind is list:
        at = _list_index(key)
        return value[at] if 0 <= at < len(value) else ABSENT_INDEX
    return MISSING


def _find_key(mapping: dict[Any, Any], key: Any) -> Any:
    if mapping.__class__ is DomainMap:
        return mapping[key] if key.__class__ is str else {}
    if mapping.__class__ is LiteralMap:
        return mapping.get(as_key(key), MISSING) if mapping else MISSING
    return mapping.get(key, MISSING) if key.__class__ is str else MISSING


def _list_index(key: Any) -> int:
    kind = key.__class__
    if kind is int or kind is UInt:
        return int(key)
    if kind is float:
        if key.is_integer():
            return int(key)
        raise CelError(f"unsupported index value {shown(key)} in list")
    raise CelError(f"unsupported index type '{type_name(key)}' in list")


def index(value: Any, key: Any) -> Any:
    """`value[key]` and `value.key`; of an optional, the optional of the part."""
    if value.__class__ is Optional:
        return optional_index(value, key)
    check_index(key)
    found = _find(value, key)
    if found is MISSING:
        raise CelError(f"no such key: {shown(key)}")
    if found is ABSENT_INDEX:
        raise CelError(f"index out of bounds: {shown(key)}")
    return found


def check_index(key: Any) -> None:
    """Raises CelError for what can be no index or key."""
    if key.__class__ not in SIMPLE:
        raise CelError(f"invalid qualifier type: {go_type(key)}")


def optional_index(value: Any, key: Any) -> Optional:
    """`value[?key]` and `value.?key`."""
    check_index(key)
    if value.__class__ is Optional:
        if not value.present:
            return NONE
        value = value.value
    found = _find(value, key)
    return NONE if found is MISSING or found is ABSENT_INDEX else Optional(found, True)


def has(value: Any, field: str) -> bool:
    if value.__class__ is Optional:
        return optional_index(value, field).present
    found = _find(value, field)
    return found is not MISSING and found is not ABSENT_INDEX


def contains(item: Any, container: Any) -> bool:
    """`item in container`."""
    kind = container.__class__
    if kind is list:
        return any(same(item, member) for member in container)
    if kind is DomainMap:
        return item.__class__ is str and item in container
    if kind in MAPS:
        return _find_key(container, item) is not MISSING
    raise no_overload()


def members(values: Any) -> frozenset[Any] | None:
    """A constant list as a set, where all of it are simple values; else None."""
    if any(value.__class__ not in SIMPLE for value in values):
        return None
    return frozenset(as_key(value) for value in values)


def is_member(item: Any, of: frozenset[Any]) -> bool:
    return as_key(item) in of
