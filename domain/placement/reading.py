"""Raw API objects to the records of this package.

Every reader raises Malformed with the path of what is wrong; nothing else leaves this module.
Defaults are those that the API server fills in on create, so that a manifest reads like the
object it becomes.
"""

from collections.abc import Callable, Mapping
from typing import Any

from domain.placement import amounts
from domain.placement.amounts import Amount
from domain.placement.faults import Malformed

Raw = Mapping[str, Any]


def table(raw: object, path: str) -> Raw:
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        raise Malformed(f"{path}: must be an object, is {_kind(raw)}")
    return raw


def rows(raw: object, path: str) -> list[Any]:
    if raw is None:
        return []
    if not isinstance(raw, list | tuple):
        raise Malformed(f"{path}: must be a list, is {_kind(raw)}")
    return list(raw)


def text(raw: object, path: str) -> str:
    if raw is None:
        return ""
    if not isinstance(raw, str):
        raise Malformed(f"{path}: must be text, is {_kind(raw)}")
    return raw


def texts(raw: object, path: str) -> tuple[str, ...]:
    return tuple(text(item, f"{path}[{i}]") for i, item in enumerate(rows(raw, path)))


def number(raw: object, path: str, default: int = 0) -> int:
    if raw is None:
        return default
    if isinstance(raw, bool) or not isinstance(raw, int):
        raise Malformed(f"{path}: must be a whole number, is {_kind(raw)}")
    return raw


def flag(raw: object, path: str) -> bool | None:
    if raw is not None and not isinstance(raw, bool):
        raise Malformed(f"{path}: must be true or false, is {_kind(raw)}")
    return raw


def amount(raw: object, path: str) -> Amount:
    if isinstance(raw, bool) or not isinstance(raw, str | int):
        raise Malformed(f"{path}: must be a quantity, is {_kind(raw)}")
    try:
        return amounts.parse(str(raw))
    except amounts.NotAnAmount as problem:
        raise Malformed(f"{path}: {problem}") from problem


def optional_amount(raw: object, path: str) -> Amount | None:
    return None if raw is None else amount(raw, path)


def each[T](raw: object, path: str, read: Callable[[Raw, str], T]) -> tuple[T, ...]:
    return tuple(
        read(table(item, f"{path}[{i}]"), f"{path}[{i}]") for i, item in enumerate(rows(raw, path))
    )


def required(raw: Raw, key: str, path: str) -> str:
    found = text(raw.get(key), f"{path}.{key}")
    if not found:
        raise Malformed(f"{path}.{key}: is missing")
    return found


def named(raw: Raw) -> tuple[str, str]:
    """Namespace and name; raises Malformed without a name."""
    meta = table(raw.get("metadata"), "metadata")
    return text(meta.get("namespace"), "metadata.namespace"), required(meta, "name", "metadata")


def _kind(raw: object) -> str:
    return {dict: "an object", list: "a list", str: "text", bool: "true or false"}.get(
        type(raw), "null" if raw is None else "a number"
    )
