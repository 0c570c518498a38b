"""Optional values, beside the short-circuiting `or` and `orValue`."""

from __future__ import annotations

from typing import Any

from domain.placement.cel.functions.binding import overload
from domain.placement.cel.values import NONE, CelError, Optional, is_zero, shown


@overload("optional_of")
def of(value: Any) -> Optional:
    return Optional(value, True)


@overload("optional_ofNonZeroValue")
def of_non_zero(value: Any) -> Optional:
    return NONE if is_zero(value) else Optional(value, True)


@overload("optional_none")
def none() -> Optional:
    return NONE


@overload("optional_value")
def value_of(optional: Optional) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


@overload("optional_hasValue")
def has_value(optional: Optional) -> bool:
    return optional.present


@overload("optional_unwrap", "optional_unwrapOpt")
def unwrap(optionals: list[Any]) -> list[Any]:
    for item in optionals:
        if item.__class__ is not Optional:
            raise CelError(f"value {shown(item)} is not optional")
    return [item.value for item in optionals if item.present]


@overload("list_first")
def first(values: list[Any]) -> Optional:
    return Optional(values[0], True) if values else NONE


@overload("list_last")
def last(values: list[Any]) -> Optional:
    return Optional(values[-1], True) if values else NONE
