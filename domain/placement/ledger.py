"""What is in use: the state that the scheduler gathers from allocated claims before a pod."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from domain.placement.claims import Holding
from domain.placement.devices import DeviceID


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

    def copy(self) -> "Ledger":
        return Ledger(
            self.consumable,
            dict(self.taken),
            dict(self.shares),
            {device: dict(amounts) for device, amounts in self.consumed.items()},
        )

    def add(self, holdings: Iterable[Holding]) -> None:
        for holding in holdings:
            if holding.share is None or not self.consumable:
                self.taken[holding.device] = self.taken.get(holding.device, 0) + 1
                continue
            self.shares[holding.device] = self.shares.get(holding.device, 0) + 1
            if holding.consumed is not None:
                amounts = self.consumed.setdefault(holding.device, {})
                for name, nanos in holding.consumed.items():
                    amounts[name] = amounts.get(name, 0) + nanos

    def remove(self, holdings: Iterable[Holding]) -> None:
        """Only for what was added before."""
        for holding in holdings:
            if holding.share is None or not self.consumable:
                _decrement(self.taken, holding.device)
                continue
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
