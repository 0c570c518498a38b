"""Sets of fields, as `metadata.managedFields` records them (FieldsV1).

A field is a path of elements spelled as FieldsV1 spells them: `f:name` for a struct field or map
key, `k:{"name":"x"}` for an item of an associative list, `v:"x"` for an item of a set.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from simulator.apiserver.schema import ANY, Type

Path = tuple[str, ...]
FieldSet = frozenset[Path]
_SORTED = orjson.OPT_SORT_KEYS


def encoded(fields: Iterable[Path]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    paths = set(fields)
    for path in sorted(paths):
        node = root
        for depth, step in enumerate(path, start=1):
            known = step in node
            node = node.setdefault(step, {})
            if not known and depth < len(path) and path[:depth] in paths:
                node["."] = {}
    for path in paths:
        node = root
        for step in path:
            node = node[step]
        if node and "." not in node:
            node["."] = {}
    return root


def decoded(fields: dict[str, Any]) -> FieldSet:
    return frozenset(_walk(fields, ()))


def _walk(node: dict[str, Any], path: Path) -> Iterator[Path]:
    for step, below in node.items():
        if step == ".":
            yield path
        elif below:
            yield from _walk(below, (*path, step))
        else:
            yield (*path, step)


def dotted(path: Path) -> str:
    """The path as conflict messages print it: `.spec.containers[name="x"].image`."""
    text = ""
    for step in path:
        kind, _, rest = step.partition(":")
        if kind == "f":
            text += f".{rest}"
        elif kind == "k":
            keys = orjson.loads(rest).items()
            text += "[" + ",".join(f"{k}={orjson.dumps(v).decode()}" for k, v in keys) + "]"
        else:
            text += f"[={rest}]"
    return text


def item_step(item: Any, kind: Type) -> str:
    """The element that names an item of an associative list or a set."""
    if kind.associative == "set":
        return "v:" + orjson.dumps(item, option=_SORTED).decode()
    keys = {}
    for key in kind.keys:
        value = item.get(key, kind.key_defaults.get(key)) if isinstance(item, dict) else None
        if value is not None:
            keys[key] = value
    return "k:" + orjson.dumps(keys, option=_SORTED).decode()


def is_granular(value: Any, kind: Type) -> bool:
    """Whether the parts of `value` have owners of their own."""
    if kind.atomic:
        return False
    if isinstance(value, dict):
        return kind.shape != "scalar"
    return isinstance(value, list) and bool(kind.associative)


def fields_of(value: Any, kind: Type) -> FieldSet:
    """The fields that an applied configuration states."""
    found: set[Path] = set()
    _collect(value, kind, (), found, whole=False)
    found.discard(())
    return frozenset(found)


def _collect(
    value: Any, kind: Type, path: Path, found: set[Path], *, whole: bool, filled: bool = False
) -> None:
    """The fields of `value`. With `whole` every map and list counts beside its parts.

    `filled` says that Go writes this value out even when it is empty: such a one is never added.
    """
    if not is_granular(value, kind) or not value:
        if value != {} or not filled:
            found.add(path)
        return
    if whole and not filled:
        found.add(path)
    if isinstance(value, dict):
        for key, below in value.items():
            step = (*path, f"f:{key}")
            if key not in kind.fields and kind.shape == "map":
                found.add(step)
            there = filled and key in kind.filled
            _collect(below, kind.child(key), step, found, whole=whole, filled=there)
    else:
        for item in value:
            step = (*path, item_step(item, kind))
            found.add(step)
            if isinstance(item, dict):
                _collect(item, kind.element or ANY, step, found, whole=whole)


@dataclass(slots=True)
class Difference:
    """What a write did. `given` are fields added or given another value."""

    given: set[Path] = field(default_factory=set)
    removed: set[Path] = field(default_factory=set)


def difference(old: Any, new: Any, kind: Type) -> Difference:
    result = Difference()
    _compare(old, new, kind, (), result)
    result.given.discard(())
    result.removed.discard(())
    return result


def _compare(
    old: Any, new: Any, kind: Type, path: Path, result: Difference, *, filled: bool = False
) -> None:
    if old == new:
        return
    if not (is_granular(new, kind) and is_granular(old, kind)) or type(old) is not type(new):
        if is_granular(old, kind) and old:
            _collect(old, kind, path, result.removed, whole=True, filled=filled)
        _collect(new, kind, path, result.given, whole=True, filled=filled)
        return
    before, after = parts(old, kind), parts(new, kind)
    for step, (value, below) in after.items():
        known = step[2:] in kind.filled
        if step in before:
            _compare(before[step][0], value, below, (*path, step), result, filled=known)
        else:
            _collect_part(value, below, (*path, step), result.given, filled=known)
    for step, (value, below) in before.items():
        if step not in after:
            known = step[2:] in kind.filled
            _collect_part(value, below, (*path, step), result.removed, filled=known)


def _collect_part(value: Any, kind: Type, path: Path, found: set[Path], *, filled: bool) -> None:
    if not path[-1].startswith("f:"):
        found.add(path)
    if not path[-1].startswith("v:"):
        _collect(value, kind, path, found, whole=True, filled=filled)


def parts(value: Any, kind: Type) -> dict[str, tuple[Any, Type]]:
    """The parts of a granular value by their elements; of equal list keys the first counts."""
    if isinstance(value, dict):
        return {f"f:{key}": (below, kind.child(key)) for key, below in value.items()}
    found: dict[str, tuple[Any, Type]] = {}
    for item in value:
        found.setdefault(item_step(item, kind), (item, kind.element or ANY))
    return found


def duplicate_key(value: Any, kind: Type, path: Path = ()) -> str:
    """What is wrong with the first associative list that has two items of one key, or ""."""
    if not is_granular(value, kind):
        return ""
    if isinstance(value, list):
        seen: set[str] = set()
        for item in value:
            step = item_step(item, kind)
            if step in seen:
                return f"{dotted(path)}: duplicate entries for key {dotted((step,))}"
            seen.add(step)
    for step, (below, below_type) in parts(value, kind).items():
        if trouble := duplicate_key(below, below_type, (*path, step)):
            return trouble
    return ""
