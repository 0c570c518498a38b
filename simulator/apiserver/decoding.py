"""From a request body to an object of its kind: shape, unknown fields, wrong types."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import yaml

from simulator.apiserver.kinds import Kind
from simulator.apiserver.problems import Refused, bad_request
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
    if media in ("application/yaml", "text/yaml", "application/apply-patch+yaml"):
        return _yaml(body)
    if media in ("", "application/json") or media.endswith("+json"):
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError as failure:
            raise bad_request(f"error decoding body: {failure}") from None
    raise Refused(
        415,
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml",
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


def object_of(kind: Kind, document: Any) -> dict[str, Any]:
    """The document as an object of `kind`, with `metadata`. Raises Refused (400)."""
    if not isinstance(document, dict):
        raise bad_request("couldn't get version/kind; json parse error: expected an object")
    version, name = document.get("apiVersion"), document.get("kind")
    if not name:
        raise bad_request(f"Object 'Kind' is missing in '{_short(document)}'")
    if not version:
        raise bad_request(f"Object 'apiVersion' is missing in '{_short(document)}'")
    if version != kind.group_version or name != kind.kind:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({kind.group_version})"
            if name == kind.kind
            else f'{name} in version "{version}" cannot be handled as a {kind.kind}'
        )
    if not isinstance(document.setdefault("metadata", {}), dict):
        document["metadata"] = {}
    return document


def _short(document: Any) -> str:
    return orjson.dumps(document).decode()[:200]


@dataclass(frozen=True, slots=True)
class Misfit:
    """A place where the object is not of its type. `expected` is None for an unknown field."""

    path: str
    expected: str | None = None
    got: str = ""


def fitted(value: dict[str, Any], kind: Type) -> list[Misfit]:
    """Take unknown fields and nulls out of `value`, in place, and say what did not fit."""
    return list(_fit(value, kind, ""))


def _fit(value: Any, kind: Type, path: str) -> Iterator[Misfit]:
    if kind.shape == "any":
        return
    if isinstance(value, dict) and kind.shape in ("struct", "map"):
        yield from _fit_dict(value, kind, path)
    elif isinstance(value, list) and kind.shape == "list":
        for place, item in enumerate(value):
            yield from _fit(item, kind.element or ANY, f"{path}[{place}]")
    elif not _right_type(value, kind):
        yield Misfit(path, _expected(kind), type(value).__name__)


def _fit_dict(value: dict[str, Any], kind: Type, path: str) -> Iterator[Misfit]:
    for name in list(value):
        below = kind.fields.get(name)
        where = f"{path}.{name}" if path else name
        if below is None and kind.shape == "struct" and not kind.open:
            del value[name]
            yield Misfit(where)
        elif value[name] is None and (below or kind.child(name)).shape != "any":
            del value[name]
        else:
            yield from _fit(value[name], below or kind.child(name), where)


def _right_type(value: Any, kind: Type) -> bool:
    if kind.shape != "scalar":
        return False
    wanted = _PYTHON.get(kind.scalar, (object,))
    if isinstance(value, bool) and bool not in wanted:
        return False
    if kind.scalar == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, wanted)


def _expected(kind: Type) -> str:
    return {"struct": "map", "map": "map", "list": "list"}.get(kind.shape, kind.scalar)


def wrong_type(kind: Kind, misfit: Misfit) -> Refused:
    words = {"str": "string", "bool": "bool", "int": "number", "float": "number", "list": "array"}
    got = words.get(misfit.got, "object")
    return bad_request(
        f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: json: cannot '
        f"unmarshal {got} into Go struct field {kind.kind}.{misfit.path} of type {misfit.expected}"
    )
