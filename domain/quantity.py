"""Kubernetes quantities: "80Gi", "1500m", "2", "1e3".

Exact arithmetic on fractions, since a quota that is off by one byte is wrong. The grammar and the
suffixes are those of k8s.io/apimachinery/pkg/api/resource (Quantity).
"""

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

_PATTERN = re.compile(
    r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
    r"(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]{1,4})?"
)
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


class BadQuantity(ValueError):
    """Text that is not a quantity."""


@lru_cache(maxsize=65536)
def parse(text: str) -> Fraction:
    """Return the exact amount; raise BadQuantity."""
    found = _PATTERN.fullmatch(text)
    if found is None:
        raise BadQuantity(f"{text!r} is not a quantity such as 80Gi, 500m or 2")
    number, suffix = Fraction(Decimal(found[1])), found[2] or ""
    if suffix in _BINARY:
        return number * Fraction(1024 ** _BINARY[suffix])
    exponent = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
    power = Fraction(10 ** abs(exponent))
    return number * power if exponent >= 0 else number / power


def whole(text: str) -> int:
    """The amount rounded up to a whole number, as Quantity.Value() does."""
    amount = parse(text)
    return -(-amount.numerator // amount.denominator)


def mebibytes(text: str) -> int:
    """A memory size in MiB, rounded down: a card that has a little less never satisfies more."""
    return parse(text).__floor__() // 2**20


def binary(amount: int) -> str:
    """Print a number of bytes with the largest suffix that keeps it exact: 85899345920 -> 80Gi."""
    for suffix, power in reversed(_BINARY.items()):
        unit = 1024**power
        if amount and amount % unit == 0:
            return f"{amount // unit}{suffix}"
    return str(amount)
