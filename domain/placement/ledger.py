"""What is in use: the state that the scheduler gathers from allocated claims before a pod."""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from itertools import count

from domain.placement.claims import Holding
from domain.placement.devices import DeviceID

Mark = frozenset[Hashable]
"""What is in use of one pool: device names, with amounts where a device is shared."""

MOST_MARKS = 20_000
_revisions = count(1)


@dataclass(slots=True)
class Ledger:
    """Counts every use, so that taking away what was added restores the state exactly.

    With `consumable` off a share counts as the whole device, as in a scheduler whose
    DRAConsumableCapacity gate is off.
    """

    consumable: bool
    taken: dict[DeviceID, int] = field(default_factory=dict)
    shares: dict[DeviceID, int] = field(default_factory=dict)
    consumed: dict[DeviceID, dict[str, int]] = field(default_factory=dict)
    # Equal numbers, equal content.
    revision: int = field(default=0, compare=False)
    # Pools of which anything has changed since a revision that a reader has seen.
    seen: int = field(default=0, repr=False, compare=False)
    changed: set[str] = field(default_factory=set, repr=False, compare=False)
    _marks: dict[str, Mark] | None = field(default=None, repr=False, compare=False)
    # Equal marks are one object: most pools are in one of a few states.
    _same: dict[Mark, Mark] = field(default_factory=dict, repr=False, compare=False)

    def copy(self) -> "Ledger":
        return Ledger(
            self.consumable,
            dict(self.taken),
            dict(self.shares),
            {device: dict(amounts) for device, amounts in self.consumed.items()},
            self.revision,
            self.seen,
            set(self.changed),
            None if self._marks is None else dict(self._marks),
            self._same,
        )

    @property
    def marks(self) -> dict[str, Mark]:
        """One hashable value per pool of which anything is in use, kept up to date.

        By the pool's name in text, since text keeps its hash: whole fleets are looked up.
        """
        if self._marks is None:
            found: dict[str, set[Hashable]] = defaultdict(set)
            for device in self.taken.keys() | self.shares.keys() | self.consumed.keys():
                found[f"{device.driver}/{device.pool}"].add(self._mark(device))
            self._marks = {pool: self._one(frozenset(marks)) for pool, marks in found.items()}
        return self._marks

    def _one(self, mark: Mark) -> Mark:
        if len(self._same) > MOST_MARKS:
            self._same.clear()
        return self._same.setdefault(mark, mark)

    def _mark(self, device: DeviceID) -> Hashable:
        """None for a device that is free."""
        if device not in self.shares and device not in self.consumed:
            return device.device if device in self.taken else None
        amounts = self.consumed.get(device)
        known = None if amounts is None else tuple(sorted(amounts.items()))
        return device.device, device in self.taken, device in self.shares, known

    def follow(self) -> None:
        """From here on `changed` tells a reader what to look at again."""
        self.seen, self.changed = self.revision, set()

    def _changed(self, device: DeviceID, before: Hashable) -> None:
        pool, now = f"{device.driver}/{device.pool}", self._mark(device)
        self.changed.add(pool)
        if self._marks is None:
            return
        mark = (self._marks.get(pool, frozenset()) - {before}) | ({now} - {None})
        if mark:
            self._marks[pool] = self._one(mark)
        else:
            self._marks.pop(pool, None)

    def add(self, holdings: Iterable[Holding]) -> None:
        self.revision = next(_revisions)
        for holding in holdings:
            before = self._mark(holding.device)
            self._add(holding)
            self._changed(holding.device, before)

    def _add(self, holding: Holding) -> None:
        if holding.share is None or not self.consumable:
            self.taken[holding.device] = self.taken.get(holding.device, 0) + 1
            return
        self.shares[holding.device] = self.shares.get(holding.device, 0) + 1
        if holding.consumed is not None:
            amounts = self.consumed.setdefault(holding.device, {})
            for name, nanos in holding.consumed.items():
                amounts[name] = amounts.get(name, 0) + nanos

    def remove(self, holdings: Iterable[Holding]) -> None:
        """Only for what was added before."""
        self.revision = next(_revisions)
        for holding in holdings:
            before = self._mark(holding.device)
            self._remove(holding)
            self._changed(holding.device, before)

    def _remove(self, holding: Holding) -> None:
        if holding.share is None or not self.consumable:
            _decrement(self.taken, holding.device)
            return
        _decrement(self.shares, holding.device)
        if holding.device not in self.shares:
            self.consumed.pop(holding.device, None)
        elif holding.consumed is not None:
            amounts = self.consumed[holding.device]
            for name, nanos in holding.consumed.items():
                amounts[name] -= nanos

    def holds(self, device: DeviceID) -> bool:
        """Whether any allocation uses the device, wholly or in part."""
        return device in self.taken or device in self.shares or device in self.consumed


def _decrement(counts: dict[DeviceID, int], device: DeviceID) -> None:
    if counts[device] > 1:
        counts[device] -= 1
    else:
        del counts[device]
