"""Desired against live: what an apply would change, and what someone changed behind our back.

Only what the desired object states is compared: the rest of a live object belongs to others.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from domain import quantity


@dataclass(frozen=True, slots=True)
class Change:
    """One field that differs. `before` is what is live, None when it is missing there."""

    path: str
    before: Any
    after: Any


def changes(live: Any, desired: Any, path: str = "") -> list[Change]:
    """Every stated field whose live value differs, in the desired object's order."""
    return list(_compare(live, desired, path))


def _compare(live: Any, desired: Any, path: str) -> Iterator[Change]:
    if isinstance(desired, dict):
        held = live if isinstance(live, dict) else {}
        for key, value in desired.items():
            yield from _compare(held.get(key), value, f"{path}.{key}" if path else str(key))
    elif isinstance(desired, list) and _is_named(desired):
        yield from _compare_named(live, desired, path)
    elif not _same(live, desired):
        yield Change(path, live, desired)


def _is_named(items: list[Any]) -> bool:
    """A list map by name, as containers and requests are; other lists are compared whole."""
    return bool(items) and all(isinstance(item, dict) and "name" in item for item in items)


def _compare_named(live: Any, desired: list[Any], path: str) -> Iterator[Change]:
    held = {
        item["name"]: item
        for item in (live if isinstance(live, list) else ())
        if isinstance(item, dict) and "name" in item
    }
    for item in desired:
        yield from _compare(held.pop(item["name"], None), item, f"{path}[{item['name']}]")
    for name, item in held.items():
        yield Change(f"{path}[{name}]", item, None)


def _same(live: Any, desired: Any) -> bool:
    if live == desired:
        return True
    if live in (None, "", [], {}) and desired in (None, "", [], {}):
        return True  # servers leave empty values out
    if isinstance(live, list) and isinstance(desired, list):
        return len(live) == len(desired) and all(map(_subset, live, desired))
    return _same_quantity(live, desired)


def _subset(live: Any, desired: Any) -> bool:
    return not changes(live, desired)


def _same_quantity(live: Any, desired: Any) -> bool:
    """Servers print 1000m as 1; text that is no quantity on either side differs."""
    if not isinstance(live, str | int) or not isinstance(desired, str | int):
        return False
    try:
        return quantity.parse(str(live)) == quantity.parse(str(desired))
    except quantity.BadQuantity:
        return False


class _Dumper(yaml.SafeDumper):
    """Writes equal parts out twice: an alias is hard to read and to take a piece of."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """What is neither printable nor a line end is quoted, so that it reads back as it was."""
    odd = not text.replace("\n", "").isprintable()
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if odd else None)


_Dumper.add_representer(str, _text)


def to_yaml(value: Any) -> str:
    """YAML as people write it: block style, the order kept, nothing folded."""
    text = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31, indent=2
    )
    return str(text)


def text(before: Any, after: Any, *, context: int = 3) -> str:
    """A unified diff of two values as YAML; None stands for "there was nothing"."""
    left = [] if before is None else to_yaml(before).splitlines()
    right = [] if after is None else to_yaml(after).splitlines()
    found = list(difflib.unified_diff(left, right, lineterm="", n=context))
    return "\n".join(found[2:])  # without the two lines that name files
