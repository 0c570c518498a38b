"""Bodies in Kubernetes' protobuf encoding."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.apiserver.problems import Refused
from simulator.apiserver.protobuf import MAGIC, decoded


def field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def enveloped(version: str, kind: str, raw: bytes) -> bytes:
    about = field(1, version.encode()) + field(2, kind.encode())
    return MAGIC + field(1, about) + field(2, raw)


def test_maps_lists_and_embedded_structs_become_json() -> None:
    volume = field(1, b"v") + field(2, field(2, field(1, b"Memory")))  # emptyDir, inline in JSON
    pod = field(1, field(1, b"p")) + field(2, field(1, volume) + field(4, 30))
    assert decoded(enveloped("v1", "Pod", pod)) == {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p"},
        "spec": {
            "volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}],
            "terminationGracePeriodSeconds": 30,
        },
    }


def test_zeros_are_kept_only_where_they_say_something() -> None:
    spec = field(1, 0) + field(5, 0)  # replicas, minReadySeconds
    body = enveloped("apps/v1", "Deployment", field(2, spec))
    assert decoded(body)["spec"] == {"replicas": 0}


@pytest.mark.parametrize("body", [b"", b"{}", MAGIC, MAGIC + b"\xff" * 9, MAGIC + b"\x0a\x05ab"])
def test_what_is_no_message_is_refused(body: bytes) -> None:
    with pytest.raises(Refused):
        decoded(body)


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(Refused, match="no protobuf form is known of Thing in x/v1"):
        decoded(enveloped("x/v1", "Thing", b""))


@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_refused(raw: bytes) -> None:
    with suppress(Refused):
        assert decoded(enveloped("v1", "Pod", raw))["kind"] == "Pod"
