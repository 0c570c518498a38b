"""Conversions between CEL's types."""

from __future__ import annotations

import math
import re
from typing import Any

from domain.placement.cel.functions import times
from domain.placement.cel.functions.binding import overload, singleton
from domain.placement.cel.syntax import UInt
from domain.placement.cel.values import (
    MAX_INT,
    MAX_UINT,
    MIN_INT,
    CelError,
    Duration,
    Timestamp,
    TypeValue,
    float_text,
    type_name,
)

INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
DECIMAL = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)",
    re.ASCII | re.IGNORECASE,
)
TRUTH = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def refused(source: str, target: str) -> CelError:
    return CelError(f"type conversion error from '{source}' to '{target}'")


@singleton("dyn")
def dyn(value: Any) -> Any:
    return value


@singleton("type")
def type_of(value: Any) -> TypeValue:
    return TypeValue(type_name(value))


@overload(
    "bool_to_bool",
    "bytes_to_bytes",
    "double_to_double",
    "int64_to_int64",
    "uint64_to_uint64",
    "string_to_string",
    "duration_to_duration",
    "timestamp_to_timestamp",
)
def unchanged(value: Any) -> Any:
    return value


@overload("string_to_bool")
def text_to_bool(value: str) -> bool:
    if value not in TRUTH:
        raise refused("string", "bool")
    return TRUTH[value]


@overload("string_to_bytes")
def text_to_bytes(value: str) -> bytes:
    return value.encode()


@overload("bytes_to_string")
def bytes_to_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


@overload("int64_to_double", "uint64_to_double")
def to_double(value: int) -> float:
    return float(value)


@overload("string_to_double")
def text_to_double(value: str) -> float:
    if not DECIMAL.fullmatch(value):
        raise refused("string", "double")
    number = float(value)
    if math.isinf(number) and "inf" not in value.lower():
        raise refused("string", "double")
    return number


@overload("double_to_int64")
def double_to_int(value: float) -> int:
    if not math.isfinite(value) or not MIN_INT < value < MAX_INT:
        raise CelError("integer overflow")
    return int(value)


@overload("uint64_to_int64")
def uint_to_int(value: UInt) -> int:
    if value > MAX_INT:
        raise CelError("integer overflow")
    return int(value)


@overload("string_to_int64")
def text_to_int(value: str) -> int:
    if INTEGER.fullmatch(value) and len(value) < 64 and MIN_INT <= int(value) <= MAX_INT:
        return int(value)
    raise refused("string", "int")


@overload("duration_to_int64")
def duration_to_int(value: Duration) -> int:
    return value.nano


@overload("timestamp_to_int64")
def timestamp_to_int(value: Timestamp) -> int:
    return value.nano // times.SECOND


@overload("double_to_uint64")
def double_to_uint(value: float) -> UInt:
    if not math.isfinite(value) or not 0 <= value < MAX_UINT:
        raise CelError("unsigned integer overflow")
    return UInt(int(value))


@overload("int64_to_uint64")
def int_to_uint(value: int) -> UInt:
    if value < 0:
        raise CelError("unsigned integer overflow")
    return UInt(value)


@overload("string_to_uint64")
def text_to_uint(value: str) -> UInt:
    plain = value[:1].isdigit() and INTEGER.fullmatch(value) and len(value) < 64
    if plain and int(value) <= MAX_UINT:
        return UInt(int(value))
    raise refused("string", "uint")


@overload("bool_to_string")
def bool_to_text(value: bool) -> str:
    return "true" if value else "false"


@overload("int64_to_string", "uint64_to_string")
def integer_to_text(value: int) -> str:
    return str(int(value))


@overload("double_to_string")
def double_to_text(value: float) -> str:
    return float_text(value, 6)


@overload("duration_to_string")
def duration_to_text(value: Duration) -> str:
    return times.seconds_text(value) + "s"


@overload("timestamp_to_string")
def timestamp_to_text(value: Timestamp) -> str:
    return times.timestamp_text(value)


@overload("string_to_duration")
def text_to_duration(value: str) -> Duration:
    found = times.parse_duration(value)
    if found is None:
        raise refused("string", "google.protobuf.Duration")
    return found


@overload("string_to_timestamp")
def text_to_timestamp(value: str) -> Timestamp:
    found = times.parse_timestamp(value)
    if found is None:
        raise refused("string", "google.protobuf.Timestamp")
    return times.checked_timestamp(found.nano)


@overload("int64_to_timestamp")
def int_to_timestamp(value: int) -> Timestamp:
    return times.checked_timestamp(value * times.SECOND)
