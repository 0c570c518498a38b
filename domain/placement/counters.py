"""Shared counters of partitionable devices (KEP-4815), and compatibility groups (KEP-5963)."""

from dataclasses import dataclass, field

from domain.placement.devices import CounterUse, Device, PoolID
from domain.placement.ledger import Ledger
from domain.placement.pools import Pool

Counter = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Available:
    """What is left in a pool before an attempt starts.

    `overdrawn`: some counter is below zero, since the driver shrank a set or republished a
    device; then nothing more is given out of this pool.
    """

    left: dict[Counter, int]
    overdrawn: bool


def available(pool: Pool, ledger: Ledger, *, count_vanished: bool = False) -> Available:
    """A device that is allocated but no longer published takes nothing (k/k#140802).

    count_vanished: nobody knows what such a device took, so nothing more is given out.
    """
    left = {
        (one.name, name): value for one in pool.counter_sets for name, value in one.counters.items()
    }
    for device in _allocated(pool, ledger):
        for use in device.consumes:
            for name, amount in use.counters.items():
                if (use.counter_set, name) in left:
                    left[use.counter_set, name] -= amount
    overdrawn = any(value < 0 for value in left.values())
    return Available(left, overdrawn or (count_vanished and _has_vanished(pool, ledger)))


def _has_vanished(pool: Pool, ledger: Ledger) -> bool:
    published = {device.id for one in (*pool.slices, *pool.elsewhere) for device in one.devices}
    held = {id for ids in (ledger.taken, ledger.shares) for id in ids}
    return any(id not in published for id in held if (id.driver, id.pool) == pool.id)


def _allocated(pool: Pool, ledger: Ledger) -> list[Device]:
    slices = (*pool.slices, *pool.elsewhere)
    return [device for one in slices for device in one.devices if ledger.holds(device.id)]


@dataclass(frozen=True, slots=True)
class Companions:
    """What the devices on one counter set have in common.

    `groups` is None while nobody is there. A device without groups goes only with others that
    have none, which no intersection of sets can say: hence `ungrouped`.
    """

    groups: frozenset[str] | None = None
    ungrouped: bool = False

    def admits(self, groups: frozenset[str]) -> bool:
        if self.groups is None:
            return True
        if self.ungrouped or not groups:
            return self.ungrouped and not groups
        return bool(self.groups & groups)

    def joined_by(self, groups: frozenset[str]) -> "Companions":
        if self.groups is None:
            return Companions(groups, ungrouped=not groups)
        if self.ungrouped or not groups:
            return self
        return Companions(self.groups & groups)


@dataclass(slots=True)
class CounterBook:
    """Counters of all pools during one scheduling attempt; what is left is computed once."""

    ledger: Ledger
    count_vanished: bool = False
    left: dict[PoolID, Available] = field(default_factory=dict)
    present: dict[PoolID, dict[str, Companions]] = field(default_factory=dict)

    def available_in(self, pool: Pool) -> Available:
        found = self.left.get(pool.id)
        if found is None:
            found = self.left[pool.id] = available(
                pool, self.ledger, count_vanished=self.count_vanished
            )
        return found

    def companions_in(self, pool: Pool) -> dict[str, Companions]:
        found = self.present.get(pool.id)
        if found is None:
            found = self.present[pool.id] = {}
            for device in _allocated(pool, self.ledger):
                for use in device.consumes:
                    known = found.get(use.counter_set, Companions())
                    found[use.counter_set] = known.joined_by(use.groups)
        return found


@dataclass(slots=True)
class CounterPicks:
    """What the devices picked on one node would take; undone when the search goes back."""

    book: CounterBook
    used: dict[PoolID, dict[Counter, int]] = field(default_factory=dict)
    met: dict[PoolID, dict[str, Companions]] = field(default_factory=dict)

    def take(self, pool: Pool, device: Device) -> bool:
        """False, and nothing changed, if a counter would go below zero."""
        room = self.book.available_in(pool)
        if room.overdrawn:
            return False
        used, need = self.used.setdefault(pool.id, {}), _need(device)
        if any(used.get(one, 0) + amount > room.left[one] for one, amount in need.items()):
            return False
        for one, amount in need.items():
            used[one] = used.get(one, 0) + amount
        return True

    def give_back(self, pool: Pool, device: Device) -> None:
        used = self.used[pool.id]
        for one, amount in _need(device).items():
            used[one] -= amount

    def join(self, pool: Pool, device: Device) -> dict[str, Companions | None] | None:
        """What to hand to `part` later, or None if the device may not be combined with others."""
        met, base = self.met.setdefault(pool.id, {}), self.book.companions_in(pool)
        now = {
            use.counter_set: met.get(use.counter_set) or base.get(use.counter_set, Companions())
            for use in device.consumes
        }
        if not all(_admitted(use, now) for use in device.consumes):
            return None
        before = {name: met.get(name) for name in now}
        for use in device.consumes:
            met[use.counter_set] = now[use.counter_set].joined_by(use.groups)
        return before

    def part(self, pool: Pool, before: dict[str, Companions | None]) -> None:
        met = self.met[pool.id]
        for name, known in before.items():
            if known is None:
                met.pop(name, None)
            else:
                met[name] = known


def _need(device: Device) -> dict[Counter, int]:
    need: dict[Counter, int] = {}
    for use in device.consumes:
        for name, amount in use.counters.items():
            need[use.counter_set, name] = need.get((use.counter_set, name), 0) + amount
    return need


def _admitted(use: CounterUse, now: dict[str, Companions]) -> bool:
    return now[use.counter_set].admits(use.groups)
