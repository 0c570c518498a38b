"""Quantities in their canonical form: 1000m is 1, 0.5 is 500m, 1024Mi is 1Gi, 1.5Gi is 1536Mi."""

import re
from fractions import Fraction
from functools import lru_cache

_SHAPE = re.compile(r"([+-]?\d*\.?\d*)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?)")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_UNIT = _DECIMAL.index("")


@lru_cache(4096)
def canonical(value: str | float) -> str:
    """The form in which the real server stores a quantity; what is none comes back as it was."""
    text = str(value)
    found = _SHAPE.fullmatch(text)
    if found is None or not found[1].strip("+-."):
        return text
    digits, suffix = found.groups()
    amount = Fraction(digits)
    if suffix in _BINARY[1:]:
        amount *= 1024 ** _BINARY.index(suffix)
        if amount.denominator == 1:
            return _scaled(amount, 1024, _BINARY, 0)
    else:
        amount *= Fraction(1000) ** (_DECIMAL.index(suffix) - _UNIT)
    return _scaled(amount, 1000, _DECIMAL, _UNIT)


def _scaled(amount: Fraction, base: int, suffixes: tuple[str, ...], unit: int) -> str:
    if not amount:
        return "0"
    for place in range(len(suffixes) - 1, 0, -1):
        scaled = amount / Fraction(base) ** (place - unit)
        if scaled.denominator == 1:
            return f"{scaled}{suffixes[place]}"
    smallest = amount / Fraction(base) ** -unit
    return f"{-(-smallest.numerator // smallest.denominator)}{suffixes[0]}"
