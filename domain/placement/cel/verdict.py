"""From the value of an expression to yes or no, or to an attribute, in Kubernetes' words."""

from __future__ import annotations

from typing import Any

from domain.placement.cel.errors import SelectorError
from domain.placement.cel.quantity import Quantity
from domain.placement.cel.semver import Semver
from domain.placement.cel.syntax import UInt
from domain.placement.cel.values import (
    Address,
    Duration,
    Format,
    Network,
    Optional,
    Timestamp,
    TypeValue,
    Url,
    type_name,
)

GO_NAMES: dict[type, str] = {
    float: "Double",
    bytes: "Bytes",
    list: "list",
    type(None): "'null_type'",
    Quantity: "'Quantity'",
    Semver: "'Semver'",
    Duration: "'Duration'",
    Timestamp: "'Timestamp'",
    Address: "'IP'",
    Network: "'CIDR'",
    Url: "'URL'",
    Format: "'Format'",
}


KINDS: dict[type, str] = {bool: "bool", int: "int", str: "string", Semver: "version"}
NATIVE: dict[type, str] = {
    bool: "bool",
    int: "int64",
    UInt: "uint64",
    float: "float64",
    str: "string",
    bytes: "[]uint8",
    type(None): "structpb.NullValue",
    Semver: "semver.Version",
    Quantity: "*resource.Quantity",
    Duration: "time.Duration",
    Timestamp: "time.Time",
    Address: "netip.Addr",
    Network: "netip.Prefix",
    Url: "*url.URL",
    Format: "cel.Format",
    list: "[]ref.Val",
}


def as_bool(value: Any) -> bool:
    """Raises SelectorError for what is no bool; an optional counts as what it holds."""
    inner = value
    while inner.__class__ is Optional and inner.present:
        inner = inner.value
    if inner.__class__ is bool:
        return bool(inner)
    raise SelectorError(
        f"CEL result of type {type_name(value)} could not be converted to bool: {_why(inner)}"
    )


def _why(value: Any) -> str:
    kind = value.__class__
    if kind is int or kind is UInt:
        return f"unsupported type conversion from '{type_name(value)}' to bool"
    if kind is str:
        return "unsupported native conversion from string to 'bool'"
    if kind is TypeValue:
        return "type conversion not supported for 'type'"
    if kind is Optional:
        return "optional.none() dereference"
    return f"type conversion error from {GO_NAMES.get(kind, 'map')} to 'bool'"


def as_attribute(value: Any) -> tuple[str, Any]:
    """(kind, value) as the API writes an attribute. Raises SelectorError for other values."""
    if value.__class__ is list:
        return _listed([_inner(item) for item in value])
    value = _inner(value)
    kind = KINDS.get(value.__class__)
    if kind is None:
        raise SelectorError(f"unsupported CEL return type: {_native(value)}")
    return kind, _content(value)


def _listed(values: list[Any]) -> tuple[str, Any]:
    if not values:
        return "strings", []
    kind = KINDS.get(values[0].__class__)
    if kind is None:
        raise SelectorError(f"unsupported list element type: {_native(values[0])}")
    for at, item in enumerate(values):
        if KINDS.get(item.__class__) != kind:
            wanted = "semver" if kind == "version" else kind
            raise SelectorError(
                f"expected list element at index {at} to be {wanted}, got {_native(item)}"
            )
    return f"{kind}s", [_content(item) for item in values]


def _inner(value: Any) -> Any:
    """What Go's Value() hands out: an optional's content, a type's name."""
    while value.__class__ is Optional and value.present:
        value = value.value
    return value.name if value.__class__ is TypeValue else value


def _native(value: Any) -> str:
    return NATIVE.get(value.__class__, "map[ref.Val]ref.Val")


def _content(value: Any) -> Any:
    return value.text if value.__class__ is Semver else value
