"""Arithmetic of cost estimates: ranges of 64-bit numbers that saturate instead of overflowing."""

from __future__ import annotations

import math

type Range = tuple[int, int]

MOST = 2**64 - 1
ZERO: Range = (0, 0)
UNKNOWN: Range = (0, MOST)


def fixed(value: int) -> Range:
    return value, value


def add(a: Range, b: Range) -> Range:
    return min(a[0] + b[0], MOST), min(a[1] + b[1], MOST)


def times(a: Range, b: Range) -> Range:
    return min(a[0] * b[0], MOST), min(a[1] * b[1], MOST)


def union(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), max(a[1], b[1])


def scaled(a: Range, factor: float) -> Range:
    return _scaled(a[0], factor), _scaled(a[1], factor)


def _scaled(value: int, factor: float) -> int:
    """Rounded up, computed in doubles as upstream does."""
    product = float(value) * factor
    if value > 0 and factor > 0 and float(value) > MOST / factor:
        return MOST
    return min(math.ceil(product), MOST)


# What Kubernetes declares of the sizes in `device`.
DOMAIN, NAME, VALUE, ENTRIES, DRIVER = 63, 32, 64, 32, 63


def path_size(path: tuple[str, ...]) -> Range | None:
    """The size of a part of `device`, where its declaration bounds it."""
    if not path or path[0] != "device":
        return None
    most = _declared(path[1:])
    return None if most is None else (0, most)


def _declared(steps: tuple[str, ...]) -> int | None:
    match steps:
        case ():
            return 0
        case ("driver",):
            return DRIVER
        case ("allowMultipleAllocations",):
            return 1
        case ("attributes" | "capacity",):
            return ENTRIES
        case ("attributes" | "capacity", "@keys"):
            return DOMAIN
        case ("attributes" | "capacity", "@items" | "@values"):
            return ENTRIES
        case ("attributes" | "capacity", "@items" | "@values", "@keys"):
            return NAME
        case ("capacity", "@items" | "@values", "@items" | "@values"):
            return 0
        case ("attributes", "@items" | "@values", _):
            return VALUE
    return None
