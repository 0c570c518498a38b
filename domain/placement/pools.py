"""Which pools a node sees, and whether they are whole.

Mirrors upstream's pool gathering: outdated slices are ignored, a pool is incomplete while its
driver still publishes, invalid if its content contradicts itself, and obsolete if a newer
generation exists that says nothing about this node.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from domain.placement.devices import CounterSet, Device, Node, PoolID, Slice
from domain.placement.faults import Fatal
from domain.placement.features import Features


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """`slices` hold the devices this node may use, `elsewhere` those of the other nodes."""

    id: PoolID
    slices: tuple[Slice, ...] = ()
    elsewhere: tuple[Slice, ...] = ()
    counter_sets: tuple[CounterSet, ...] = ()
    is_incomplete: bool = False
    invalid_reason: str = ""

    @property
    def is_usable(self) -> bool:
        return not self.is_incomplete and not self.invalid_reason

    @property
    def has_binding_conditions(self) -> bool:
        return any(device.binding_conditions for one in self.slices for device in one.devices)


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A device in its place: order and counters depend on slice and pool."""

    device: Device
    slice: Slice
    pool: Pool


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What one node sees: its pools, and the usable devices in the order of the search."""

    pools: tuple[Pool, ...]
    candidates: tuple[Candidate, ...]

    @classmethod
    def of(cls, pools: tuple[Pool, ...]) -> "View":
        usable = [
            Candidate(device, one, pool)
            for pool in pools
            if pool.is_usable
            for one in pool.slices
            for device in one.devices
        ]
        return cls(pools, tuple(usable))


class Published(Protocol):
    """Where slices come from: those of one node, those not bound to a node, those of a pool."""

    def slices_on(self, node_name: str) -> Sequence[Slice]: ...

    def slices_shared(self) -> Sequence[Slice]: ...

    def slices_of(self, pool: PoolID) -> Sequence[Slice]: ...


def gather(published: Published, node: Node, features: Features) -> tuple[Pool, ...]:
    """Pools in the order in which they are tried: by driver and name, binding conditions last.

    Raises Fatal for a node selector that cannot be parsed (k/k#141214).
    """
    current: dict[PoolID, list[Slice]] = {}
    for one in (*published.slices_on(node.name), *published.slices_shared()):
        if _is_readable(one, features) and _reaches(one, node, features):
            _keep_newest(current, one)
    found = [
        pool
        for pool_id, slices in current.items()
        if (pool := _build(published, pool_id, slices, features)) is not None
    ]
    return tuple(sorted(found, key=lambda pool: (pool.has_binding_conditions, pool.id)))


def _is_readable(one: Slice, features: Features) -> bool:
    """Slices that need a feature that is off are ignored."""
    partitioned = one.per_device is not None or one.counter_sets
    if partitioned and not features.partitionable_devices:
        return False
    return features.compatibility_groups or not one.declares_groups


def _reaches(one: Slice, node: Node, features: Features) -> bool:
    try:
        if one.reach.is_stated:
            return one.reach.includes(node.name, node.labels)
        if not one.per_device:
            return False  # a way to select nodes that is not known yet
        return any(device.reach.includes(node.name, node.labels) for device in one.devices)
    except Fatal as problem:
        if features.fixed_node_selectors:
            return False
        raise Fatal(
            f"gather pool information: failed to perform node selection for slice {one.name}: "
            f"{problem}"
        ) from problem


def _keep_newest(current: dict[PoolID, list[Slice]], one: Slice) -> None:
    known = current.get(one.pool)
    if known is None or one.generation > known[0].generation:
        current[one.pool] = [one]
    elif one.generation == known[0].generation:
        known.append(one)


def _build(
    published: Published, pool_id: PoolID, slices: list[Slice], features: Features
) -> Pool | None:
    """None for a pool whose newer generation has nothing for this node."""
    generation, wanted = slices[0].generation, slices[0].slice_count
    if len(slices) == wanted:
        return _checked(pool_id, slices, (), features)
    everywhere = published.slices_of(pool_id)
    if any(one.generation > generation for one in everywhere):
        return None
    same = [one for one in everywhere if one.generation == generation]
    if not features.compatibility_groups:
        same = [one for one in same if not one.declares_groups]
    if len(same) != wanted:
        return Pool(pool_id, is_incomplete=True)
    here = {one.name for one in slices}
    return _checked(pool_id, slices, [one for one in same if one.name not in here], features)


def _checked(
    pool_id: PoolID, here: list[Slice], others: Sequence[Slice], features: Features
) -> Pool:
    here = sorted(here, key=lambda one: one.name)
    if not features.partitionable_devices:
        reason = _duplicate_device(here)
        return Pool(pool_id, invalid_reason=reason) if reason else Pool(pool_id, tuple(here))
    with_devices = tuple(one for one in here if not one.counter_sets)
    elsewhere = tuple(one for one in others if not one.counter_sets)
    sets = [counters for one in (*here, *others) for counters in one.counter_sets]
    reason = (
        _duplicate_device(with_devices)
        or _duplicate_counter_set(sets)
        or _unknown_counter(sets, with_devices)
        or _unknown_counter(sets, elsewhere)
    )
    if reason:
        return Pool(pool_id, invalid_reason=reason)
    return Pool(pool_id, with_devices, elsewhere, tuple(sets))


def _duplicate_device(slices: Iterable[Slice]) -> str:
    seen: set[str] = set()
    for one in slices:
        for device in one.devices:
            if device.id.device in seen:
                return f"duplicate device name {device.id.device}"
            seen.add(device.id.device)
    return ""


def _duplicate_counter_set(sets: Iterable[CounterSet]) -> str:
    seen: set[str] = set()
    for one in sets:
        if one.name in seen:
            return f"duplicate counter set name {one.name}"
        seen.add(one.name)
    return ""


def _unknown_counter(sets: Iterable[CounterSet], slices: Iterable[Slice]) -> str:
    known = {one.name: one.counters for one in sets}
    for use in (use for one in slices for device in one.devices for use in device.consumes):
        counters = known.get(use.counter_set)
        if counters is None:
            return f"counter set {use.counter_set} not found"
        for name in use.counters:
            if name not in counters:
                return f"counter {name} not found in counter set {use.counter_set}"
    return ""
