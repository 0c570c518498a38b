"""A mapping that changes a little at a time, while older versions stay valid.

Copying a dict of ten thousand entries touches every key and value, and these lie all over memory.
Here a copy shares the base and takes along only what has changed since.
"""

from collections.abc import ItemsView, Iterator, KeysView, MutableMapping, ValuesView
from typing import Any

MOST_ON_TOP = 256
_GONE: Any = object()


class Layered[K, V](MutableMapping[K, V]):
    """In the order of first insertion, as long as nothing that went away comes again."""

    __slots__ = ("_base", "_top")

    def __init__(self, base: dict[K, V] | None = None, top: dict[K, V] | None = None) -> None:
        self._base: dict[K, V] = {} if base is None else base
        self._top: dict[K, V] = {} if top is None else top

    def copy(self) -> "Layered[K, V]":
        if len(self._top) > MOST_ON_TOP:
            self._base, self._top = self._merged(), {}
        return Layered(self._base, dict(self._top))

    def _merged(self) -> dict[K, V]:
        """Everything in one dict, to be read only."""
        if not self._top:
            return self._base
        both = self._base | self._top if self._base else self._top
        return {key: value for key, value in both.items() if value is not _GONE}

    def __getitem__(self, key: K) -> V:
        found = self._top.get(key)
        if found is None:
            found = self._base[key]
        if found is _GONE:
            raise KeyError(key)
        return found

    def __setitem__(self, key: K, value: V) -> None:
        self._top[key] = value

    def __delitem__(self, key: K) -> None:
        if key not in self:
            raise KeyError(key)
        self._top[key] = _GONE

    def __iter__(self) -> Iterator[K]:
        return iter(self._merged())

    def __len__(self) -> int:
        return len(self._merged())

    def keys(self) -> KeysView[K]:
        return self._merged().keys()

    def values(self) -> ValuesView[V]:
        return self._merged().values()

    def items(self) -> ItemsView[K, V]:
        return self._merged().items()
