"""Just enough of the protocol buffer wire format to read a parsed expression."""

from __future__ import annotations

import struct
from typing import Any

VARINT, FIXED64, BYTES = 0, 1, 2


def _varint(buffer: bytes, at: int) -> tuple[int, int]:
    byte = buffer[at]
    if byte < 0x80:
        return byte, at + 1
    value = shift = 0
    while True:
        byte = buffer[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(buffer: bytes) -> list[tuple[int, Any]]:
    """(field number, value) in order: an int for a varint, the bytes for everything else."""
    found: list[tuple[int, Any]] = []
    at = 0
    value: int | bytes
    while at < len(buffer):
        key, at = _varint(buffer, at)
        wire = key & 7
        if wire == BYTES:
            length, at = _varint(buffer, at)
            value, at = buffer[at : at + length], at + length
        elif wire == VARINT:
            value, at = _varint(buffer, at)
        else:
            width = 8 if wire == FIXED64 else 4
            value, at = buffer[at : at + width], at + width
        found.append((key >> 3, value))
    return found


def varints(packed: bytes | int) -> list[int]:
    """The numbers of a repeated field, packed or not."""
    if isinstance(packed, int):
        return [packed]
    numbers, at = [], 0
    while at < len(packed):
        number, at = _varint(packed, at)
        numbers.append(number)
    return numbers


def signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


def double(value: bytes) -> float:
    return float(struct.unpack("<d", value)[0])
