"""Operators: arithmetic with overflow, order, equality, negation, size."""

from __future__ import annotations

import math
from typing import Any

from domain.placement.cel.access import contains
from domain.placement.cel.functions.binding import singleton
from domain.placement.cel.functions.times import checked_duration, checked_timestamp
from domain.placement.cel.syntax import UInt
from domain.placement.cel.values import (
    COMPARABLE,
    MAPS,
    MAX_INT,
    MAX_UINT,
    MIN_INT,
    CelError,
    Duration,
    Timestamp,
    cannot,
    compare,
    equal,
    no_overload,
    same,
)


@singleton("_==_")
def equals(a: Any, b: Any) -> bool:
    return equal(a, b)


@singleton("_!=_")
def differs(a: Any, b: Any) -> bool:
    return not same(a, b)


@singleton("_<_")
def less(a: Any, b: Any) -> bool:
    return _ordered("_<_", a, b) < 0


@singleton("_<=_")
def at_most(a: Any, b: Any) -> bool:
    return _ordered("_<=_", a, b) <= 0


@singleton("_>_")
def greater(a: Any, b: Any) -> bool:
    return _ordered("_>_", a, b) > 0


@singleton("_>=_")
def at_least(a: Any, b: Any) -> bool:
    return _ordered("_>=_", a, b) >= 0


def _ordered(function: str, a: Any, b: Any) -> int:
    if a.__class__ not in COMPARABLE:
        raise cannot(function, a)
    return compare(a, b)


@singleton("!_")
def negation(value: Any) -> bool:
    if value.__class__ is not bool:
        raise no_overload()
    return not value


@singleton("-_")
def minus(value: Any) -> Any:
    if value.__class__ is int:
        return signed(-value)
    if value.__class__ is float:
        return -value
    if value.__class__ is Duration:
        return checked_duration(-value.nano)
    raise cannot("-_", value) if value.__class__ is not bool else no_overload()


def signed(value: int) -> int:
    if not MIN_INT <= value <= MAX_INT:
        raise CelError("integer overflow")
    return value


def unsigned(value: int) -> UInt:
    if not 0 <= value <= MAX_UINT:
        raise CelError("unsigned integer overflow")
    return UInt(value)


def _numbers(function: str, a: Any, b: Any) -> type:
    kind = a.__class__
    if kind not in (int, UInt, float):
        raise cannot(function, a)
    if b.__class__ is not kind:
        raise no_overload()
    return kind  # type: ignore[no-any-return]


def _exact(kind: type, value: int) -> Any:
    return signed(value) if kind is int else unsigned(value)


@singleton("_+_")
def add(a: Any, b: Any) -> Any:
    kind = a.__class__
    if kind in (str, bytes, list):
        if b.__class__ is not kind:
            raise no_overload()
        return a + b
    if kind is Duration and b.__class__ is Duration:
        return checked_duration(a.nano + b.nano)
    if {kind, b.__class__} == {Duration, Timestamp}:
        return checked_timestamp(a.nano + b.nano)
    if kind in (Duration, Timestamp):
        raise no_overload()
    kind = _numbers("_+_", a, b)
    return a + b if kind is float else _exact(kind, int(a) + int(b))


@singleton("_-_")
def subtract(a: Any, b: Any) -> Any:
    kind = a.__class__
    if kind is Duration and b.__class__ is Duration:
        return checked_duration(a.nano - b.nano)
    if kind is Timestamp and b.__class__ is Timestamp:
        return checked_duration(a.nano - b.nano)
    if kind is Timestamp and b.__class__ is Duration:
        return checked_timestamp(a.nano - b.nano)
    if kind in (Duration, Timestamp):
        raise no_overload()
    kind = _numbers("_-_", a, b)
    return a - b if kind is float else _exact(kind, int(a) - int(b))


@singleton("_*_")
def multiply(a: Any, b: Any) -> Any:
    kind = _numbers("_*_", a, b)
    return a * b if kind is float else _exact(kind, int(a) * int(b))


def _quotient(a: float, b: float) -> float:
    if b:
        return a / b
    if math.isnan(a) or a == 0:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1, b)


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


@singleton("_/_")
def divide(a: Any, b: Any) -> Any:
    kind = _numbers("_/_", a, b)
    if kind is float:
        return _quotient(a, b)
    if b == 0:
        raise CelError("division by zero")
    return _exact(kind, _truncated(int(a), int(b)))


@singleton("_%_")
def modulo(a: Any, b: Any) -> Any:
    kind = _numbers("_%_", a, b)
    if kind is float:
        raise cannot("_%_", a)
    if b == 0:
        raise CelError("modulus by zero")
    a, b = int(a), int(b)
    if kind is int and a == MIN_INT and b == -1:
        raise CelError("integer overflow")
    return _exact(kind, a - b * _truncated(a, b))


@singleton("size")
def size(value: Any) -> int:
    if value.__class__ in (str, bytes, list) or value.__class__ in MAPS:
        return len(value)
    raise cannot("size", value)


for _name in ("in", "_in_"):
    singleton(_name)(contains)
