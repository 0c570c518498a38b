"""From the value of an expression to yes or no, with the words Kubernetes has for neither."""

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
