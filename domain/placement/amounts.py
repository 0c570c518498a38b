"""Kubernetes quantities, exactly: the arithmetic that decides whether a capacity still fits.

An amount is a whole number of nanos, so "0.5", "500m" and "1Gi" are all integers and no
comparison ever rounds. The spelling rules are those of apimachinery's `resource.Quantity`.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Format = Literal["BinarySI", "DecimalSI", "DecimalExponent"]

NANO = 10**9
MAX_INT64 = 2**63 - 1
_WRITTEN = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*)([-+]?\d*)\Z")
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIX = {power: suffix for suffix, power in _BINARY.items()} | {0: ""}


class NotAnAmount(ValueError):
    """The text is not a Kubernetes quantity."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity; equal if the value is equal, however it was written."""

    nanos: int
    format: Format = "DecimalSI"
    spelled: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Amount) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __str__(self) -> str:
        """Canonical form: the largest suffix that loses nothing."""
        return self.spelled or _canonical(self.nanos, self.format)

    @property
    def whole(self) -> int:
        """Units, rounded up as Quantity.Value() does (away from zero for negatives)."""
        return _round_away(self.nanos, NANO)

    @property
    def millis(self) -> int:
        """Thousandths, rounded up as Quantity.MilliValue() does."""
        return _round_away(self.nanos, NANO // 1000)


def units(count: int, form: Format) -> Amount:
    return Amount(count * NANO, form)


@lru_cache(maxsize=65536)
def parse(text: str) -> Amount:
    """Raises NotAnAmount for text that the API server would refuse."""
    found = _WRITTEN.match(text) if text else None
    if found is None or not any(character.isdigit() for character in text):
        raise NotAnAmount(f"{text!r} is not a quantity such as 2, 500m or 40Gi")
    sign, whole, fraction, suffix, exponent = found.groups()
    numerator, fraction = (whole or "").lstrip("0") or "0", fraction or ""
    base, power, form = _suffix(text, suffix, exponent)
    value = int(numerator + fraction)
    scaled = value * NANO * (base**power if power >= 0 else 1)
    divisor = 10 ** len(fraction) * (1 if power >= 0 else base**-power)
    nanos = -(-scaled // divisor)  # tiny amounts are rounded up: who asks for some gets some
    if form == "BinarySI":
        nanos = min(nanos, MAX_INT64 * NANO)
        if 0 < nanos < NANO:
            form = "DecimalSI"
    return Amount(
        -nanos if sign == "-" else nanos,
        form,
        text if _keeps_its_spelling(numerator + fraction, fraction, power, form) else "",
    )


def _suffix(text: str, suffix: str, exponent: str) -> tuple[int, int, Format]:
    if suffix in _BINARY and not exponent:
        return 2, _BINARY[suffix], "BinarySI"
    if suffix in _DECIMAL and not exponent:
        return 10, _DECIMAL[suffix], "DecimalSI"
    if suffix in ("e", "E") and exponent.lstrip("+-"):
        return 10, int(exponent), "DecimalExponent"
    raise NotAnAmount(f"{text!r} has no suffix that a quantity may have")


def _keeps_its_spelling(digits: str, fraction: str, power: int, form: Format) -> bool:
    """Upstream prints some amounts as they were written, canonical or not."""
    if form == "BinarySI":
        short = 15 - len(digits) - int(power * 3 / 10) - 1 >= 0
        return not fraction and short and int(digits) & 7 != 0
    scale = power - len(fraction)
    return (
        len(digits) <= 18
        and scale >= -9
        and scale % 3 == 0
        and not digits.endswith("000")
        and digits[0] != "0"
    )


def _canonical(nanos: int, form: Format) -> str:
    if nanos == 0:
        return "0"
    sign, size = ("-", -nanos) if nanos < 0 else ("", nanos)
    if form == "BinarySI" and size >= 1024 * NANO and size % NANO == 0:
        value, power = size // NANO, 0
        while value % 1024 == 0 and power < 60:
            value, power = value // 1024, power + 10
        return f"{sign}{value}{_BINARY_SUFFIX[power]}"
    power = -9
    while size % 1000 == 0 and power < 18:
        size, power = size // 1000, power + 3
    if form == "DecimalExponent":
        return f"{sign}{size}e{power}" if power else f"{sign}{size}"
    return f"{sign}{size}{_DECIMAL_SUFFIX[power]}"


def _round_away(nanos: int, unit: int) -> int:
    return -(-nanos // unit) if nanos >= 0 else nanos // unit
