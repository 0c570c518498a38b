"""Quantities, semantic versions and the named formats of Kubernetes."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable

from domain.placement.cel.functions.binding import overload
from domain.placement.cel.functions.network import is_url
from domain.placement.cel.functions.times import parse_timestamp
from domain.placement.cel.quantity import (
    InvalidQuantity,
    Quantity,
    integer_quantity,
    parse_quantity,
)
from domain.placement.cel.semver import InvalidSemver, Semver, normalized_semver, parse_semver
from domain.placement.cel.values import NONE, CelError, Format, Optional


@overload("string_to_quantity")
def to_quantity(text: str) -> Quantity:
    try:
        return parse_quantity(text)
    except InvalidQuantity as error:
        raise CelError(str(error)) from None


@overload("is_quantity_string")
def is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except InvalidQuantity:
        return False
    return True


@overload("quantity_sign")
def sign(quantity: Quantity) -> int:
    return quantity.sign


@overload("quantity_is_greater_than")
def quantity_greater(a: Quantity, b: Quantity) -> bool:
    return a.nano > b.nano


@overload("quantity_is_less_than")
def quantity_less(a: Quantity, b: Quantity) -> bool:
    return a.nano < b.nano


@overload("quantity_compare_to")
def quantity_compare(a: Quantity, b: Quantity) -> int:
    return (a.nano > b.nano) - (a.nano < b.nano)


@overload("quantity_get_float")
def as_float(quantity: Quantity) -> float:
    return quantity.as_float()


@overload("quantity_get_int")
def as_integer(quantity: Quantity) -> int:
    value = quantity.as_integer()
    if value is None:
        raise CelError("cannot convert value to integer")
    return value


@overload("quantity_is_integer")
def is_integer(quantity: Quantity) -> bool:
    return quantity.as_integer() is not None


@overload("quantity_add")
def add(a: Quantity, b: Quantity) -> Quantity:
    return a.plus(b)


@overload("quantity_add_int")
def add_int(a: Quantity, b: int) -> Quantity:
    return a.plus(integer_quantity(b))


@overload("quantity_sub")
def sub(a: Quantity, b: Quantity) -> Quantity:
    return a.minus(b)


@overload("quantity_sub_int")
def sub_int(a: Quantity, b: int) -> Quantity:
    return a.minus(integer_quantity(b))


def _semver(text: str, *, normalize: bool) -> Semver:
    try:
        return normalized_semver(text) if normalize else parse_semver(text)
    except InvalidSemver as error:
        raise CelError(str(error)) from None


@overload("string_to_semver")
def to_semver(text: str) -> Semver:
    return _semver(text, normalize=False)


@overload("string_bool_to_semver")
def to_semver_normalized(text: str, normalize: bool) -> Semver:
    return _semver(text, normalize=normalize)


@overload("is_semver_string")
def is_semver(text: str) -> bool:
    return is_semver_normalized(text, False)


@overload("is_semver_string_bool")
def is_semver_normalized(text: str, normalize: bool) -> bool:
    try:
        _semver(text, normalize=normalize)
    except CelError:
        return False
    return True


@overload("semver_is_greater_than")
def semver_greater(a: Semver, b: Semver) -> bool:
    return a.key > b.key


@overload("semver_is_less_than")
def semver_less(a: Semver, b: Semver) -> bool:
    return a.key < b.key


@overload("semver_compare_to")
def semver_compare(a: Semver, b: Semver) -> int:
    return (a.key > b.key) - (a.key < b.key)


def _int64(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


@overload("semver_major")
def major(version: Semver) -> int:
    return _int64(version.major)


@overload("semver_minor")
def minor(version: Semver) -> int:
    return _int64(version.minor)


@overload("semver_patch")
def patch(version: Semver) -> int:
    return _int64(version.patch)


LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
OLD_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)
SUBDOMAIN = re.compile(rf"{LABEL.pattern}(\.{LABEL.pattern})*", re.ASCII)
NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)
UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.I | re.A)
DATE = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])", re.ASCII)

LABEL_PROBLEM = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


def _named(regex: re.Pattern[str], most: int, *, prefix: bool = False) -> Callable[[str], bool]:
    def valid(text: str) -> bool:
        checked = text[:-1] + "a" if prefix and text.endswith("-") and len(text) > 1 else text
        return len(checked) <= most and regex.fullmatch(checked) is not None

    return valid


def _is_qualified(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    if slash and not (len(prefix) <= 253 and SUBDOMAIN.fullmatch(prefix)):
        return False
    return 0 < len(name) <= 63 and NAME.fullmatch(name) is not None


def _is_label_value(text: str) -> bool:
    return not text or (len(text) <= 63 and NAME.fullmatch(text) is not None)


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(text)


def _is_instant(text: str) -> bool:
    return parse_timestamp(text.upper()) is not None


def _is_date(text: str) -> bool:
    return bool(DATE.fullmatch(text)) and parse_timestamp(f"{text}T00:00:00Z") is not None


FORMATS: dict[str, tuple[str, Callable[[str], bool]]] = {
    "dns1123Label": ("DNS1123Label", _named(LABEL, 63)),
    "dns1123Subdomain": ("DNS1123Subdomain", _named(SUBDOMAIN, 253)),
    "dns1035Label": ("DNS1035Label", _named(OLD_LABEL, 63)),
    "qualifiedName": ("QualifiedName", _is_qualified),
    "dns1123LabelPrefix": ("DNS1123LabelPrefix", _named(LABEL, 63, prefix=True)),
    "dns1123SubdomainPrefix": ("DNS1123SubdomainPrefix", _named(SUBDOMAIN, 253, prefix=True)),
    "dns1035LabelPrefix": ("DNS1035LabelPrefix", _named(OLD_LABEL, 63, prefix=True)),
    "labelValue": ("LabelValue", _is_label_value),
    "uri": ("URI", is_url),
    "uuid": ("uuid", lambda text: UUID.fullmatch(text) is not None),
    "byte": ("byte", _is_base64),
    "date": ("date", _is_date),
    "datetime": ("datetime", _is_instant),
}
VALIDATORS = dict(FORMATS.values())


def _register_format(name: str, shown: str) -> None:
    @overload(f"format.{name}")
    def constant() -> Format:
        return Format(shown)


for _name, (_shown, _) in FORMATS.items():
    _register_format(_name, _shown)


@overload("format-named")
def named(name: str) -> Optional:
    found = FORMATS.get(name)
    return Optional(Format(found[0]), True) if found else NONE


@overload("format-validate")
def validate(format_: Format, text: str) -> Optional:
    """None where the text is valid. The wording of the problems is not upstream's."""
    if VALIDATORS[format_.name](text):
        return NONE
    return Optional([f"does not match the {format_.name} format"], True)
