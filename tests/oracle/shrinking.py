"""Makes a failing case small: takes away whatever it can lose and still fail."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

Case = dict[str, Any]
Path = tuple[str | int, ...]

MOST_TRIES = 600
_KEPT = {"id", "metadata", "features", "mode", "expression", "driver", "pool"}


def shrunk(case: Case, fails: Callable[[Case], bool]) -> Case:
    """A smaller case for which `fails` still holds; at most MOST_TRIES questions.

    `fails` may raise for a case that has become meaningless: such a step is not taken.
    """
    tries = 0
    progress = True
    while progress:
        progress = False
        for path in list(_removable(case)):
            if tries >= MOST_TRIES:
                return case
            smaller = _without(case, path)
            if smaller is None:
                continue
            tries += 1
            if _holds(fails, smaller):
                case, progress = smaller, True
    return case


def _holds(fails: Callable[[Case], bool], case: Case) -> bool:
    try:
        return fails(case)
    except (RuntimeError, KeyError, ValueError, IndexError):
        return False


def _removable(value: Any, path: Path = ()) -> Iterator[Path]:
    """Large things first, list entries from the end, so that earlier paths stay true."""
    if isinstance(value, list):
        for i in reversed(range(len(value))):
            yield (*path, i)
        for i in reversed(range(len(value))):
            yield from _removable(value[i], (*path, i))
    elif isinstance(value, dict):
        for key in value:
            if key not in _KEPT:
                yield (*path, key)
        for key, inner in value.items():
            if key not in _KEPT:
                yield from _removable(inner, (*path, key))


def _without(case: Case, path: Path) -> Case | None:
    """None if an earlier step took the path away already."""
    smaller = copy.deepcopy(case)
    here: Any = smaller
    try:
        for step in path[:-1]:
            here = here[step]
        del here[path[-1]]
    except (KeyError, IndexError, TypeError):
        return None
    return smaller
