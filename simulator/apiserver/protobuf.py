"""Request bodies in Kubernetes' protobuf encoding, turned into the JSON that they stand for.

Answers are always JSON, which every client accepts too.
"""

from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from simulator.apiserver.problems import bad_request
from simulator.apiserver.schema import built_in_schemas

MEDIA = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
_PACKAGES = "io.k8s.apimachinery.pkg"
_QUANTITY = f"{_PACKAGES}.api.resource.Quantity"
_INT_OR_STRING = f"{_PACKAGES}.util.intstr.IntOrString"
_TIMES = {f"{_PACKAGES}.apis.meta.v1.{name}" for name in ("Time", "MicroTime")}
_RAW = {f"{_PACKAGES}.apis.meta.v1.FieldsV1", f"{_PACKAGES}.runtime.RawExtension"}
# Go writes zeros of plain fields too; only where a field is a pointer does a zero say something.
_MEANT_ZERO = {
    "allowPrivilegeEscalation",
    "automountServiceAccountToken",
    "backoffLimit",
    "blockOwnerDeletion",
    "completions",
    "controller",
    "enableServiceLinks",
    "gracePeriodSeconds",
    "optional",
    "parallelism",
    "partition",
    "progressDeadlineSeconds",
    "replicas",
    "revisionHistoryLimit",
    "runAsNonRoot",
    "runAsUser",
    "suspend",
    "terminationGracePeriodSeconds",
    "ttlSecondsAfterFinished",
}


@cache
def _messages() -> dict[str, dict[str, list[str]]]:
    loaded: dict[str, dict[str, list[str]]] = orjson.loads(
        Path(__file__).with_name("protobuf.json").read_bytes()
    )
    return loaded


@cache
def _by_kind() -> dict[tuple[str, str], str]:
    """Message names by apiVersion and kind."""
    found = {}
    for name in _messages():
        package, _, kind = name.rpartition(".")
        for group, path in _GROUPS.items():
            if package == f"{path}.v1":
                found[(f"{group}/v1" if group else "v1", kind)] = name
    found["v1", "DeleteOptions"] = f"{_PACKAGES}.apis.meta.v1.DeleteOptions"
    return found


_GROUPS = {
    "": "io.k8s.api.core",
    "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    "admissionregistration.k8s.io": "io.k8s.api.admissionregistration",
    "authentication.k8s.io": "io.k8s.api.authentication",
    "authorization.k8s.io": "io.k8s.api.authorization",
    "coordination.k8s.io": "io.k8s.api.coordination",
    "discovery.k8s.io": "io.k8s.api.discovery",
    "networking.k8s.io": "io.k8s.api.networking",
    "rbac.authorization.k8s.io": "io.k8s.api.rbac",
    "resource.k8s.io": "io.k8s.api.resource",
    "scheduling.k8s.io": "io.k8s.api.scheduling",
} | {name: f"io.k8s.api.{name}" for name in ("apps", "autoscaling", "batch", "policy")}


def decoded(body: bytes) -> dict[str, Any]:
    """The object that an encoded body holds. Raises Refused (400)."""
    if not body.startswith(MAGIC):
        raise bad_request("provided data does not appear to be a protobuf message")
    try:
        envelope = dict(_fields(body[len(MAGIC) :]))
        about = {number: _text(value) for number, value in _fields(_bytes(envelope[1]))}
        version, kind = about.get(1, ""), about.get(2, "")
        raw = _bytes(envelope.get(2, b""))
        name = _by_kind().get((version, kind))
        if name is None:
            raise bad_request(f"no protobuf form is known of {kind} in {version}")
        return {"kind": kind, "apiVersion": version} | _message(raw, name)
    except (IndexError, KeyError, TypeError, UnicodeDecodeError):
        raise bad_request("the body is not a protobuf message of Kubernetes") from None


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    place = 0
    while place < len(data):
        tag, place = _varint(data, place)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, place = _varint(data, place)
            yield number, value
        elif wire == 2:
            length, place = _varint(data, place)
            if place + length > len(data):
                raise IndexError(place)
            yield number, data[place : place + length]
            place += length
        else:
            width = {1: 8, 5: 4}[wire]
            yield number, data[place : place + width]
            place += width


def _varint(data: bytes, place: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = data[place]
        place += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, place
        shift += 7


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise TypeError(value)
    return value


def _text(value: int | bytes) -> str:
    return _bytes(value).decode()


def _message(data: bytes, name: str) -> dict[str, Any]:
    known = _messages()[name]
    properties = built_in_schemas().get(name, {}).get("properties", {})
    result: dict[str, Any] = {}
    for number, value in _fields(data):
        described = known.get(str(number))
        if described is None:
            continue
        field, kind, many = described
        if many == "map":
            result.setdefault(field, {}).update(_pair(_bytes(value), kind))
        elif many == "repeated":
            result.setdefault(field, []).append(_value(value, kind))
        elif properties and field not in properties:
            result.update(_message(_bytes(value), kind))  # embedded in Go, inline in JSON
        else:
            _put(result, field, _value(value, kind))
    return result


def _put(result: dict[str, Any], field: str, value: Any) -> None:
    is_zero = value is None or value == "" or value is False or (value == 0 and value is not None)
    if value == {} or not is_zero or field in _MEANT_ZERO:
        result[field] = value


def _pair(data: bytes, kind: str) -> dict[str, Any]:
    parts = dict(_fields(data))
    scalar = "" if kind in ("string", "bytes") else None
    value = _value(parts[2], kind) if 2 in parts else scalar
    return {_text(parts.get(1, b"")): value}


def _value(value: int | bytes, kind: str) -> Any:
    if kind == "string":
        return _text(value)
    if kind == "bytes":
        return b64encode(_bytes(value)).decode()
    if kind == "bool":
        return bool(value)
    if isinstance(value, int):
        return value - (1 << 64) if value >= 1 << 63 else value
    return (
        _special(value, kind)
        if kind not in _messages() or kind in _SPECIAL
        else _message(value, kind)
    )


_SPECIAL = {_QUANTITY, _INT_OR_STRING, *_TIMES, *_RAW}


def _special(data: bytes, kind: str) -> Any:
    parts = dict(_fields(data))
    if kind == _QUANTITY:
        return _text(parts.get(1, b""))
    if kind == _INT_OR_STRING:
        return _text(parts.get(3, b"")) if parts.get(1) else parts.get(2, 0)
    if kind in _RAW:
        return orjson.loads(_bytes(parts.get(1, b"null")))
    if kind in _TIMES:
        return _time(parts, micro=kind.endswith("MicroTime"))
    raise KeyError(kind)


def _time(parts: dict[int, int | bytes], *, micro: bool) -> str | None:
    seconds = parts.get(1, 0)
    if not parts or not isinstance(seconds, int) or seconds >= 1 << 63:
        return None
    moment = datetime.fromtimestamp(seconds, UTC)
    if not micro:
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    nanos = parts.get(2, 0)
    assert isinstance(nanos, int)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{nanos // 1000:06}Z"
