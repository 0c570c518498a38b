"""A reading as bytes: MessagePack, then zlib. About 600 bytes for a page of 300 lines."""

import zlib

import msgspec

from domain.metrics import Reading

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Reading)


def pack(reading: Reading) -> bytes:
    return zlib.compress(_encoder.encode(reading), level=1)


def unpack(packed: bytes | memoryview) -> Reading:
    return _decoder.decode(zlib.decompress(packed))
