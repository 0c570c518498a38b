"""Slices by name, by node and by pool, in the order in which they were first seen."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from domain.placement.devices import PoolID, Slice
from domain.placement.layered import Layered

Rows = tuple[Slice, ...]


@dataclass(slots=True)
class SliceIndex:
    """Changed only while a fleet is being made; afterwards it is shared and left alone."""

    by_name: Layered[str, Slice] = field(default_factory=Layered)
    by_node: Layered[str, Rows] = field(default_factory=Layered)
    by_pool: Layered[PoolID, Rows] = field(default_factory=Layered)
    shared: Rows = ()
    device_count: int = 0

    def copy(self) -> "SliceIndex":
        return SliceIndex(
            self.by_name.copy(),
            self.by_node.copy(),
            self.by_pool.copy(),
            self.shared,
            self.device_count,
        )

    def on_node(self, name: str) -> Sequence[Slice]:
        return self.by_node.get(name, ())

    def of_pool(self, pool: PoolID) -> Sequence[Slice]:
        return self.by_pool.get(pool, ())

    def put(self, name: str, one: Slice | None) -> None:
        """None takes the slice away."""
        before = self.by_name.get(name)
        self.device_count += (len(one.devices) if one else 0) - (
            len(before.devices) if before else 0
        )
        if one is None:
            self.by_name.pop(name, None)
        else:
            self.by_name[name] = one
        pool_before = before.pool if before else None
        pool_now = one.pool if one else None
        _move(self.by_pool, pool_before, pool_now, before, one)
        node_before = before.reach.node_name if before else None
        node_now = one.reach.node_name if one else None
        _move(self.by_node, node_before or None, node_now or None, before, one)
        was_shared = before is not None and not node_before
        is_shared = one is not None and not node_now
        self.shared = _changed(
            self.shared, before if was_shared else None, one if is_shared else None
        )


def _move[K](
    index: Layered[K, Rows],
    key_before: K | None,
    key_now: K | None,
    before: Slice | None,
    now: Slice | None,
) -> None:
    if key_before is not None and key_before == key_now:
        index[key_before] = _changed(index[key_before], before, now)
        return
    if key_before is not None:
        index[key_before] = _changed(index[key_before], before, None)
    if key_now is not None:
        index[key_now] = _changed(index.get(key_now, ()), None, now)


def _changed(rows: Rows, before: Slice | None, now: Slice | None) -> Rows:
    """A slice that is replaced keeps its place."""
    if before is None:
        return (*rows, now) if now is not None else rows
    kept = [now if one is before else one for one in rows]
    return tuple(one for one in kept if one is not None)
