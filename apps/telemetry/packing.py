"""Readings as bytes: MessagePack, then zlib. About 150 bytes a reading of 100 numbers.

Counters and buckets are cumulative, so a roll-up to one reading a minute loses no increment: it
keeps the last reading of each minute.
"""

import zlib
from collections.abc import Iterable

import msgspec

from domain.metrics import Reading

Timed = tuple[float, Reading]
CHUNK_SECONDS = 600

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[tuple[float, Reading]])


def pack(readings: Iterable[Timed]) -> bytes:
    return zlib.compress(_encoder.encode(list(readings)), level=6)


def unpack(packed: bytes | memoryview) -> list[Timed]:
    return _decoder.decode(zlib.decompress(packed))


def by_minute(readings: Iterable[Timed]) -> list[Timed]:
    """The last reading of every minute, in time order."""
    last: dict[int, Timed] = {}
    for at, reading in readings:
        last[int(at // 60)] = (at, reading)
    return list(last.values())


def chunk_start(at: float) -> float:
    return at - at % CHUNK_SECONDS
