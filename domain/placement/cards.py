"""Devices put together by the card that they are parts of, and what could still be taken of each.

A partition belongs to a card by the counter set it draws on (KEP-4815), or by the `parentUUID` that
drivers publish for partitions made beforehand. Every other accelerator is a card of its own;
channels, networks and CPUs are no cards (domain.accelerators), though claims may ask for them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from domain.accelerators import OTHER_DRIVERS, OTHER_TYPES
from domain.placement.cel import SelectorError
from domain.placement.claims import DeviceClass, Request
from domain.placement.counters import CounterBook, CounterPicks
from domain.placement.devices import Device, DeviceID, Node, PoolID
from domain.placement.faults import Fatal, PlacementError
from domain.placement.features import Features
from domain.placement.fleet import Fleet
from domain.placement.ledger import Ledger
from domain.placement.pools import Candidate, Pool, View
from domain.placement.site import Site
from domain.placement.verdicts import CompileError, selector

WHOLE = "whole card"


class CardID(NamedTuple):
    """`card` is a counter set, a UUID, or the name of the one device."""

    pool: PoolID
    card: str

    def __str__(self) -> str:
        return f"{self.pool}/{self.card}"


@dataclass(frozen=True, slots=True, eq=False)
class Card:
    """`whole` is the device that takes all of it; None where only parts are published."""

    id: CardID
    pool: Pool
    devices: tuple[Device, ...]
    nodes: tuple[str, ...]
    whole: Device | None

    @property
    def is_divided(self) -> bool:
        return len(self.devices) > 1 or self.whole is None

    def profile_of(self, device: Device) -> str:
        """What one asks for by: the driver's `profile`, or the whole card."""
        return WHOLE if device is self.whole else _text(device, "profile") or "part of a card"


@dataclass(slots=True)
class Shelf:
    """What can be taken now, by the same rules that the search goes by."""

    features: Features
    ledger: Ledger
    site: Site

    @classmethod
    def of(cls, fleet: Fleet, features: Features) -> "Shelf":
        ledger = fleet.ledger(features)
        rules = tuple(fleet.rules.values()) if features.device_taint_rules else ()
        nowhere = Node("", {})
        book = CounterBook(ledger, features.fixed_vanished_devices)
        return cls(features, ledger, Site(nowhere, View((), ()), ledger, rules, features, book))

    def in_use(self, card: Card) -> list[DeviceID]:
        return [one.id for one in card.devices if self.ledger.holds(one.id)]

    def offers(self, card: Card, device: Device) -> bool:
        """Whether a claim without tolerations could have it, all of it."""
        if self.ledger.holds(device.id) or not self.site.tolerated(_ANYONE, device):
            return False
        if not device.consumes:
            return True
        if not self.features.partitionable_devices:
            return False
        return CounterPicks(self.site.book).take(card.pool, device)

    def is_free(self, card: Card) -> bool:
        if card.whole is not None:
            return self.offers(card, card.whole)
        return all(self.offers(card, one) for one in card.devices)

    def has_room(self, card: Card) -> bool:
        return any(self.offers(card, one) for one in card.devices)

    def most_together(self, card: Card, devices: Sequence[Device]) -> int:
        """The largest number of these that could be taken at once, placement by placement."""
        open_ones = [one for one in devices if self.offers(card, one)]
        if not any(one.consumes for one in open_ones):
            return len(open_ones)
        picks = CounterPicks(self.site.book)
        best = 0

        def try_from(index: int, taken: int) -> None:
            nonlocal best
            best = max(best, taken)
            if taken + len(open_ones) - index <= best:
                return
            device = open_ones[index]
            if picks.take(card.pool, device):
                try_from(index + 1, taken + 1)
                picks.give_back(card.pool, device)
            try_from(index + 1, taken)

        try_from(0, 0)
        return best


_ANYONE = Request("any", "")


def accepts(owner: DeviceClass, device: Device) -> bool:
    """Whether the class's selectors take the device; one on which they fail is not taken."""
    try:
        return all(
            selector(text).accepts(device.view) for text in owner.selectors if text is not None
        )
    except (CompileError, SelectorError, PlacementError):
        return False


def cards_of(fleet: Fleet, features: Features) -> list[Card]:
    """Those that some node can use, by node name, each in the order of its devices."""
    nodes: dict[DeviceID, list[str]] = defaultdict(list)
    parts: dict[CardID, list[Candidate]] = defaultdict(list)
    for name, candidate in _seen(fleet, features):
        device = candidate.device
        if device.id.driver in OTHER_DRIVERS or _text(device, "type") in OTHER_TYPES:
            continue
        if device.id not in nodes:
            parts[_card_of(device, candidate.pool.id)].append(candidate)
        nodes[device.id].append(name)
    found = []
    for id, rows in parts.items():
        devices = tuple(one.device for one in rows)
        whole = _whole(rows[0].pool, devices)
        found.append(Card(id, rows[0].pool, devices, tuple(nodes[devices[0].id]), whole))
    return found


def _seen(fleet: Fleet, features: Features) -> Iterator[tuple[str, Candidate]]:
    for name in sorted(fleet.nodes):
        node = fleet.nodes[name]
        try:
            view = fleet.view_from(node, features)
        except Fatal:
            continue  # nobody can use what this node sees
        for candidate in view.candidates:
            reach = candidate.device.reach
            if not candidate.slice.per_device or reach.includes(node.name, node.labels):
                yield name, candidate


def _card_of(device: Device, pool: PoolID) -> CardID:
    if device.consumes:
        return CardID(pool, device.consumes[0].counter_set)
    return CardID(pool, _text(device, "parentUUID") or _text(device, "uuid") or device.id.device)


def _text(device: Device, name: str) -> str:
    for qualified, attribute in device.attributes.items():
        if qualified.rpartition("/")[2] == name and attribute.kind == "string":
            return str(attribute.value)
    return ""


def _whole(pool: Pool, devices: Sequence[Device]) -> Device | None:
    """The one that is no partition; with counters, the one beside which nothing else has room."""
    if any(one.consumes for one in devices):
        largest = max(devices, key=_drawn)
        others = (one for one in devices if one is not largest)
        return largest if all(_collide(pool, largest, one) for one in others) else None
    alone = [one for one in devices if not _text(one, "parentUUID")]
    return alone[0] if alone else None


def _drawn(device: Device) -> int:
    return sum(amount for use in device.consumes for amount in use.counters.values())


def _collide(pool: Pool, one: Device, other: Device) -> bool:
    """Whether an idle card could not give both."""
    total = {
        (each.name, name): value
        for each in pool.counter_sets
        for name, value in each.counters.items()
    }
    drawn: Counter[tuple[str, str]] = Counter()
    for use in (*one.consumes, *other.consumes):
        for name, amount in use.counters.items():
            drawn[use.counter_set, name] += amount
    return any(amount > total.get(key, 0) for key, amount in drawn.items())


def by_profile(card: Card) -> Iterator[tuple[str, list[Device]]]:
    found: dict[str, list[Device]] = defaultdict(list)
    for device in card.devices:
        found[card.profile_of(device)].append(device)
    yield from found.items()


def names(ids: Iterable[DeviceID]) -> tuple[str, ...]:
    return tuple(one.device for one in ids)
