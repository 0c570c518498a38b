"""How an applied configuration is laid over a live object, and how fields are taken out again."""

from collections.abc import Iterable
from typing import Any

from simulator.apiserver.fieldsets import Path, is_granular, item_step
from simulator.apiserver.schema import ANY, Type


def merged(live: Any, applied: Any, kind: Type) -> Any:
    """`applied` over `live`; neither is changed."""
    if not is_granular(applied, kind) or type(live) is not type(applied):
        return applied
    if isinstance(applied, dict):
        result = dict(live)
        for key, value in applied.items():
            below = kind.child(key)
            result[key] = merged(live[key], value, below) if key in live else value
        return result
    return _merged_list(live, applied, kind)


def _merged_list(live: list[Any], applied: list[Any], kind: Type) -> list[Any]:
    """Applied items in their order; what only `live` has comes as early as its order allows."""
    old = {item_step(item, kind): item for item in reversed(live)}
    new = {item_step(item, kind): item for item in applied}
    element = kind.element or ANY
    result: list[Any] = []
    placed: set[str] = set()
    kept, given = list(old)[::-1], list(new)
    left = right = 0
    while left < len(kept) or right < len(given):
        step = kept[left] if left < len(kept) else ""
        if left < len(kept) and (step in placed or step not in new):
            if step not in placed:
                result.append(old[step])
            left += 1
            continue
        step = given[right]
        result.append(merged(old[step], new[step], element) if step in old else new[step])
        placed.add(step)
        right += 1
    return result


def without(value: Any, paths: Iterable[Path], kind: Type) -> Any:
    """A copy of `value` that lacks `paths`; maps and lists that this empties go too."""
    tree: dict[str, Any] = {}
    for path in paths:
        node = tree
        for step in path[:-1]:
            node = node.setdefault(step, {})
            if node is None:
                break
        if node is not None:
            node[path[-1]] = None
    return _pruned(value, tree, kind)


def _pruned(value: Any, tree: dict[str, Any], kind: Type) -> Any:
    if isinstance(value, dict):
        result = {}
        for key, below in value.items():
            step = f"f:{key}"
            if step not in tree:
                result[key] = below
            elif tree[step] is not None:
                kept = _pruned(below, tree[step], kind.child(key))
                if kept or not _vanishes(below, kind.child(key)):
                    result[key] = kept
        return result
    if isinstance(value, list):
        items = []
        for item in value:
            step = item_step(item, kind)
            if step not in tree:
                items.append(item)
            elif tree[step] is not None:
                items.append(_pruned(item, tree[step], kind.element or ANY))
        return items
    return value


def _vanishes(value: Any, kind: Type) -> bool:
    return isinstance(value, list) or kind.shape != "struct"
