"""From a request body to an object of its kind: shape, unknown fields, wrong types."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import yaml

from simulator.apiserver import protobuf
from simulator.apiserver.kinds import Kind
from simulator.apiserver.problems import Refused, bad_request
from simulator.apiserver.quantities import canonical
from simulator.apiserver.schema import ANY, Type

_PYTHON = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "quantity": (str, int, float),
    "int-or-string": (str, int),
}


def loaded(body: bytes, content_type: str) -> Any:
    """A JSON or YAML document. Raises Refused (400, 415)."""
    media = content_type.partition(";")[0].strip().lower()
    if media == protobuf.MEDIA:
        return protobuf.decoded(body)
    if media in ("application/yaml", "text/yaml", "application/apply-patch+yaml"):
        return _yaml(body)
    if media in ("", "application/json") or media.endswith("+json"):
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            raise unrecognized("unexpected end of JSON input", body) from None
    raise Refused(
        415,
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf",
    )


def unrecognized(trouble: str, body: bytes) -> Refused:
    """A body that is no object, quoted in hexadecimal as far as it is short."""
    shown = body[:512].hex() if body else "<empty>"
    return bad_request(
        "the object provided is unrecognized: couldn't get version/kind; json parse error: "
        f"{trouble} ({shown})"
    )


def _yaml(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return yaml.load(body, Loader=_Loader)  # noqa: S506 - a safe loader, see below
    except yaml.YAMLError as failure:
        raise bad_request(f"error decoding YAML: {failure}") from None


class _Loader(yaml.SafeLoader):
    """A safe loader that leaves timestamps as text, as JSON does."""


_Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
# Go's YAML reads these letters as booleans, as YAML 1.1 says; PyYAML does not.
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^[yYnN]$"), list("yYnN"))
_Loader.bool_values = yaml.SafeLoader.bool_values | {"y": True, "n": False}


def object_of(kind: Kind, document: Any, *, applying: bool = False) -> dict[str, Any]:
    """The document as an object of `kind`, with `metadata`. Raises Refused (400)."""
    if not isinstance(document, dict):
        trouble = "json: cannot unmarshal array into Go value of type struct"
        raise unrecognized(trouble, orjson.dumps(document))
    if not kind.custom:
        document.setdefault("kind", kind.kind)
        document.setdefault("apiVersion", kind.group_version)
    version, name = document.get("apiVersion") or "", document.get("kind") or ""
    if not isinstance(name, str) or not isinstance(version, str):
        raise bad_request("json: cannot unmarshal kind and apiVersion: expected strings")
    if not name:
        raise bad_request(f"Object 'Kind' is missing in '{_short(document)}'")
    if not version:
        raise bad_request(f"Object 'apiVersion' is missing in '{_short(document)}'")
    if applying and (version != kind.group_version or name != kind.kind):
        group, _, plain = version.rpartition("/")
        raise bad_request(f"invalid object type: {group}/{plain}, Kind={name}")
    if version != kind.group_version or name != kind.kind:
        version = version.rpartition("/")[2]
        raise bad_request(
            f'{name} in version "{version}" cannot be handled as a {kind.kind}: converting '
            f"({version}.{name}) to ({kind.version}.{kind.kind}): unknown conversion"
        )
    if not isinstance(document.setdefault("metadata", {}), dict):
        document["metadata"] = {}
    return document


def _short(document: Any) -> str:
    return orjson.dumps(document).decode()[:200]


@dataclass(frozen=True, slots=True)
class Misfit:
    """A place where the object is not of its type. `expected` is None for an unknown field.

    `shape` is the expected shape in OpenAPI's words; `field` is the place as Go's decoder names it:
    the struct that it was in, and the path to it.
    """

    path: str
    expected: str | None = None
    got: str = ""
    field: str = ""
    shape: str = ""


def fitted(value: dict[str, Any], kind: Type) -> list[Misfit]:
    """Take unknown fields and nulls out of `value`, in place, and say what did not fit."""
    return list(_fit(value, kind, "", ""))


_POINTERS = {"storageClassName", "service", "type", "apiGroup", "timeZone", "holderIdentity"}


def tidy(value: Any, kind: Type) -> None:
    """Drop optional fields that are empty, and write quantities in their one form, in place."""
    if isinstance(value, list):
        for item in value:
            tidy(item, kind.element or ANY)
    if not isinstance(value, dict) or kind.open or kind.shape == "any":
        return
    for name in list(value):
        below = kind.child(name)
        part = value[name]
        if below.shape in ("map", "struct", "list"):
            tidy(part, below)
        elif below.scalar == "quantity":
            value[name] = canonical(part)
        if kind.shape == "struct" and name not in kind.required and _is_empty(part, name, below):
            del value[name]


def _is_empty(part: Any, name: str, kind: Type) -> bool:
    if part == "" and kind.shape == "scalar":
        return name not in _POINTERS
    return part in ({}, []) and kind.shape in ("map", "list")


def _fit(value: Any, kind: Type, path: str, field: str) -> Iterator[Misfit]:
    if kind.shape == "any":
        return
    if isinstance(value, dict) and kind.shape in ("struct", "map"):
        yield from _fit_dict(value, kind, path, field)
    elif isinstance(value, list) and kind.shape == "list":
        for place, item in enumerate(value):
            yield from _fit(item, kind.element or ANY, f"{path}[{place}]", field)
    elif not right_type(value, kind):
        shape = kind.scalar or kind.shape
        yield Misfit(path, _expected(kind), type(value).__name__, field, shape)


def _fit_dict(value: dict[str, Any], kind: Type, path: str, field: str) -> Iterator[Misfit]:
    places = field.partition(".")[2]
    for name in list(value):
        below = kind.fields.get(name)
        where = f"{path}.{name}" if path else name
        if below is None and kind.shape == "struct" and not kind.open:
            del value[name]
            yield Misfit(where)
        elif value[name] is None and (below or kind.child(name)).shape != "any":
            del value[name]
        else:
            if kind.shape == "struct":
                field = f"{kind.name}.{places}.{name}" if places else f"{kind.name}.{name}"
            yield from _fit(value[name], below or kind.child(name), where, field)


def right_type(value: Any, kind: Type) -> bool:
    if kind.shape != "scalar":
        return False
    wanted = _PYTHON.get(kind.scalar, (object,))
    if isinstance(value, bool) and bool not in wanted:
        return False
    if kind.scalar == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, wanted)


def _expected(kind: Type) -> str:
    if kind.shape == "map":
        return f"map[string]{_expected(kind.element or ANY)}"
    if kind.shape == "list":
        return f"[]{_expected(kind.element or ANY)}"
    if kind.scalar == "boolean":
        return "bool"
    return kind.name or kind.scalar or "interface {}"


def cannot_unmarshal(misfit: Misfit) -> str:
    words = {"str": "string", "bool": "bool", "int": "number", "float": "number", "list": "array"}
    return (
        f"json: cannot unmarshal {words.get(misfit.got, 'object')} into Go struct field "
        f"{misfit.field} of type {misfit.expected}"
    )


_TYPED = {
    "integer": "numeric (int or float)",
    "number": "numeric (int or float)",
    "boolean": "boolean",
    "struct": "map",
}


def typed_trouble(misfit: Misfit) -> str:
    """The same in the words of server-side apply."""
    got = {"str": "string", "bool": "boolean", "int": "numeric", "float": "numeric"}
    return (
        f".{misfit.path}: expected {_TYPED.get(misfit.shape, misfit.shape)}, "
        f"got {got.get(misfit.got, 'map' if misfit.got == 'dict' else misfit.got)}"
    )
