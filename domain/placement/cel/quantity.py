"""Kubernetes quantities with the semantics that CEL exposes.

Values are exact multiples of 10^-9. Upstream keeps a quantity either as a 64-bit
integer with a decimal scale or as a big decimal, and `isInteger` and `asInteger`
tell the two apart, so the same choice is made here.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
MAX_INT = 2**63 - 1
MIN_INT = -(2**63)
NANO = 10**9
MAX_EXPONENT = 4096  # far above anything real; keeps "1e999999999" from filling the memory

WRONG_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
WRONG_SUFFIX = "unable to parse quantity's suffix"
SYNTAX = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)", re.ASCII)


class InvalidQuantity(ValueError):
    """The text is no quantity; the message is upstream's."""


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """`nano` is the value in billionths; `small` its (value, scale) where 64 bits hold it.

    `computed` marks a sum or difference: upstream's `==` fails with such a right side.
    """

    nano: int
    small: tuple[int, int] | None
    computed: bool = False

    @property
    def sign(self) -> int:
        return (self.nano > 0) - (self.nano < 0)

    def as_integer(self) -> int | None:
        """The value where upstream would hand it out as a 64-bit integer."""
        if self.small is None or self.small[1] < 0:
            return None
        value: int = self.small[0] * 10 ** self.small[1]
        return value if MIN_INT <= value <= MAX_INT else None

    def as_float(self) -> float:
        value, scale = self.small or (self.nano, -9)
        return float(value) if scale == 0 else float(value) * math.pow(10, scale)

    def plus(self, other: Quantity) -> Quantity:
        return Quantity(self.nano + other.nano, _added(self.small, other.small), computed=True)

    def minus(self, other: Quantity) -> Quantity:
        negated = None if other.small is None else (-other.small[0], other.small[1])
        return Quantity(self.nano - other.nano, _added(self.small, negated), computed=True)


def integer_quantity(value: int) -> Quantity:
    return Quantity(value * NANO, (value, 0))


def _added(a: tuple[int, int] | None, b: tuple[int, int] | None) -> tuple[int, int] | None:
    if a is None or b is None:
        return None
    if b[0] == 0 or a[0] == 0:
        return a if b[0] == 0 else b
    scale = min(a[1], b[1])
    parts = [value * 10 ** (own - scale) for value, own in (a, b)]
    total = sum(parts)
    if any(not MIN_INT <= part <= MAX_INT for part in (*parts, total)):
        return None
    return total, scale


@lru_cache(maxsize=16384)
def parse_quantity(text: str) -> Quantity:
    """Raises InvalidQuantity. Digits beyond 10^-9 round away from zero, as upstream."""
    match = SYNTAX.fullmatch(text)
    if not match or not text:
        raise InvalidQuantity(WRONG_FORMAT)
    sign, number, fraction, suffix = match.groups()
    base, exponent = _suffix(suffix)
    digits, fraction = number or "0", fraction or ""
    value = int(digits + fraction)
    small = _small(value, len(digits), len(fraction), base, exponent)
    if small is not None:
        nano = small[0] * 10 ** (small[1] + 9)
    elif base == 2:
        nano = min(-(-(value << exponent) * NANO // 10 ** len(fraction)), MAX_INT * NANO)
    else:
        nano = _scaled(value, exponent - len(fraction) + 9)
    if sign == "-":
        nano, small = -nano, None if small is None else (-small[0], small[1])
    return Quantity(nano, small)


def _suffix(suffix: str) -> tuple[int, int]:
    if suffix in DECIMAL:
        return 10, DECIMAL[suffix]
    if suffix in BINARY:
        return 2, BINARY[suffix]
    if suffix[0] in "eE" and re.fullmatch(r"[+-]?[0-9]+", suffix[1:], re.ASCII):
        exponent = int(suffix[1:])
        if abs(exponent) <= MAX_EXPONENT:
            return 10, exponent
    raise InvalidQuantity(WRONG_SUFFIX)


def _small(
    value: int, digits: int, decimals: int, base: int, exponent: int
) -> tuple[int, int] | None:
    """The 64-bit form, where upstream's quick path takes the number."""
    if base == 2:
        if decimals or 15 - digits - exponent * 3 // 10 - 1 < 0:
            return None
        return (value << exponent, 0) if value << exponent <= MAX_INT else None
    scale = exponent - decimals
    if 18 - digits - decimals < 0 or scale < -9:
        return None
    return value, scale


def _scaled(value: int, exponent: int) -> int:
    power: int = 10 ** abs(exponent)
    return value * power if exponent >= 0 else -(-value // power)
