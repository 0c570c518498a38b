"""CEL's run-time values and what the language itself says of them: type, equality, order.

A value is a Python object of one exact class: bool, int, UInt, float, str, bytes,
None, list, dict, or one of the classes here. Errors are exceptions while an
expression is evaluated, and values only inside a comprehension's accumulator.
"""

from __future__ import annotations

import ipaddress
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from domain.placement.cel.device import DomainMap
from domain.placement.cel.quantity import Quantity
from domain.placement.cel.semver import Semver
from domain.placement.cel.syntax import UInt
from domain.placement.cel.types import Type

MIN_INT, MAX_INT, MAX_UINT = -(2**63), 2**63 - 1, 2**64 - 1


class CelError(Exception):
    """An error value; `str()` is the message."""


class Aborted(Exception):
    """Upstream's evaluation breaks off: an error that nothing in the expression absorbs."""


@dataclass(frozen=True, slots=True)
class Optional:
    """`present` tells optional.of(null) from optional.none()."""

    value: Any = None
    present: bool = False


NONE = Optional()


@dataclass(frozen=True, slots=True)
class Duration:
    nano: int


@dataclass(frozen=True, slots=True)
class Timestamp:
    """Nanoseconds since 1970 in UTC."""

    nano: int


@dataclass(frozen=True, slots=True)
class Address:
    value: ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Network:
    """An address with a prefix length; the address keeps its host bits."""

    address: ipaddress.IPv4Address | ipaddress.IPv6Address
    bits: int


@dataclass(frozen=True, slots=True)
class Url:
    scheme: str
    host: str
    path: str
    query: str
    text: str


@dataclass(frozen=True, slots=True)
class Format:
    name: str


@dataclass(frozen=True, slots=True)
class TypeValue:
    name: str


class LiteralMap(dict[Any, Any]):
    """A map made in the expression; upstream keeps its keys in a hash table of CEL values."""


class Key:
    """A map key that Python would take for another (True for 1), or could not hash at all."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


BOOL_KEYS = (Key(False), Key(True))

TYPE_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    dict: "map",
    DomainMap: "map",
    LiteralMap: "map",
    Quantity: "kubernetes.Quantity",
    Semver: "kubernetes.Semver",
    Url: "kubernetes.URL",
    Format: "kubernetes.NamedFormat",
    Address: "net.IP",
    Network: "net.CIDR",
    Optional: "optional_type",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    TypeValue: "type",
}
GO_TYPES: dict[type, str] = {
    type(None): "types.Null",
    Quantity: "cel.Quantity",
    Semver: "cel.Semver",
    Url: "cel.URL",
    Format: "cel.Format",
    Address: "cel.IP",
    Network: "cel.CIDR",
    Optional: "*types.Optional",
    list: "*types.baseList",
    dict: "*types.baseMap",
    LiteralMap: "*types.baseMap",
    TypeValue: "*types.Type",
}
# Kubernetes' own types refuse to be compared with anything else; CEL's say "not equal".
PARTICULAR = frozenset((Quantity, Semver, Url, Format, Address, Network))
NUMBERS = frozenset((int, UInt, float))
RECEIVERS = frozenset((str, Duration, Timestamp))
COMPARABLE = frozenset((bool, str, bytes, Duration, Timestamp)) | NUMBERS
MAPS = frozenset((dict, DomainMap, LiteralMap))


def go_type(value: Any) -> str:
    """The name of the Go type that upstream's messages show for a value."""
    kind = value.__class__
    if kind in GO_TYPES:
        return GO_TYPES[kind]
    return f"types.{type_name(value).rpartition('.')[2].capitalize()}"


def type_name(value: Any) -> str:
    return TYPE_NAMES[value.__class__]


def type_value(type_: Type) -> TypeValue:
    return TypeValue(type_.name)


def no_overload(function: str = "", *args: Any) -> CelError:
    if not function:
        return CelError("no such overload")
    return CelError(f"no such overload: {function}({', '.join(type_name(arg) for arg in args)})")


def cannot(function: str, value: Any) -> CelError:
    """The operand is of a type that does not know the operator."""
    if value.__class__ in RECEIVERS:
        return no_overload()
    return CelError(f"no such overload: {function}")


def as_key(value: Any) -> Any:
    """The value as a key of a Python dict.

    Raises Aborted for a version or bytes, which break upstream's hash table of keys.
    """
    kind = value.__class__
    if kind is str or kind in NUMBERS:
        return value
    if kind is bool:
        return BOOL_KEYS[value]
    if kind is Semver or kind is bytes:
        raise Aborted(f"internal error: runtime error: hash of unhashable type {go_type(value)}")
    return Key(value)


def from_key(key: Any) -> Any:
    return key.value if key.__class__ is Key else key


def items(mapping: dict[Any, Any]) -> list[tuple[Any, Any]]:
    return [(from_key(key), value) for key, value in mapping.items()]


def equal(a: Any, b: Any) -> bool:
    """CEL's `==`. Raises CelError where Kubernetes' types meet something else."""
    kind, other = a.__class__, b.__class__
    if kind is other and (kind is str or kind is int or kind is bool):
        return bool(a == b)
    if a is None or b is None:
        return a is b
    if kind in NUMBERS:
        return other in NUMBERS and a == b
    if kind in PARTICULAR:
        return _equal_particular(a, b)
    if kind is list:
        return other is list and _equal_lists(a, b)
    if kind in MAPS:
        return other in MAPS and _equal_maps(a, b)
    if kind is Optional and other is Optional:
        return a.present == b.present and (not a.present or equal(a.value, b.value))
    return kind is other and bool(a == b)


def _equal_particular(a: Any, b: Any) -> bool:
    if a.__class__ is not b.__class__ or (b.__class__ is Quantity and b.computed):
        raise no_overload()
    if a.__class__ is Quantity:
        return bool(a.nano == b.nano)
    if a.__class__ is Semver:
        return bool(a.key == b.key)
    if a.__class__ is Url:
        return bool(a.text == b.text)
    return bool(a == b)


def _not_unequal(a: Any, b: Any) -> bool:
    """How lists and maps compare their parts: what cannot be compared counts as equal."""
    try:
        return equal(a, b)
    except CelError:
        return True


def same(a: Any, b: Any) -> bool:
    """Whether two values are certainly equal."""
    try:
        return equal(a, b)
    except CelError:
        return False


def _equal_lists(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(_not_unequal(x, y) for x, y in zip(a, b, strict=True))


def _equal_maps(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    if len(a) != len(b):
        return False
    # A map of domains answers every key, so a foreign domain compares with an empty map.
    forgiving = b.__class__ is DomainMap
    return all((forgiving or key in b) and _not_unequal(value, b[key]) for key, value in a.items())


def compare(a: Any, b: Any) -> int:
    """-1, 0 or 1 as CEL orders values. Raises CelError where there is no order."""
    kind, other = a.__class__, b.__class__
    if kind in NUMBERS and other in NUMBERS:
        if math.isnan(a) or math.isnan(b):
            raise CelError("NaN values cannot be ordered")
        return int(a > b) - int(a < b)
    if kind is not other:
        raise no_overload()
    if kind is str:
        return _compare_text(a.encode(), b.encode())
    if kind is bytes:
        return _compare_text(a, b)
    if kind is bool:
        return int(a) - int(b)
    if kind is Duration or kind is Timestamp:
        return int(a.nano > b.nano) - int(a.nano < b.nano)
    raise no_overload()


def _compare_text(a: bytes, b: bytes) -> int:
    return (a > b) - (a < b)


def is_zero(value: Any) -> bool:
    """Whether optional.ofNonZeroValue counts the value as none."""
    kind = value.__class__
    if kind is Duration:
        return bool(value.nano == 0)
    if kind is Timestamp:
        return bool(value.nano == -62135596800 * 10**9)
    if kind is Optional:
        return not value.present or is_zero(value.value)
    return kind not in PARTICULAR and kind is not TypeValue and not value


def float_text(value: float, from_power: int) -> str:
    """Go's shortest notation: with an exponent below 10^-4 and from the given power of ten."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'+' if value > 0 else '-'}Inf"
    sign, digits, power = Decimal(repr(value)).normalize().as_tuple()
    if not isinstance(power, int) or not value:
        return "-0" if math.copysign(1, value) < 0 else "0"
    text, exponent = "".join(map(str, digits)), len(digits) - 1 + power
    minus = "-" if sign else ""
    if -4 <= exponent < from_power:
        return minus + f"{Decimal((0, digits, power)):f}"
    fraction = f".{text[1:]}" if len(text) > 1 else ""
    return f"{minus}{text[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def shown(value: Any) -> str:
    """The value as it stands in error messages."""
    kind = value.__class__
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        return float_text(value, 21)
    if kind is Semver:
        return str(value.text)
    if kind is list:
        return f"[{', '.join(shown(item) for item in value)}]"
    return value.decode(errors="replace") if kind is bytes else str(value)
