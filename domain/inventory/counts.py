"""What counting finds: cards, the units they are handed out in, and what is wrong.

A card is a physical accelerator. Every card has exactly one state, so the states of a node add up
to its cards. Units (shares, partitions) and tenants are other numbers with other names: one GPU
shared four ways is one card, four units and up to four tenants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from domain.devices import Device


class State(StrEnum):
    """Of a card, or of a device. The order is the precedence of a card that is several at once."""

    UNKNOWN = "unknown"
    UNHEALTHY = "unhealthy"
    DRA = "dra"
    PLUGIN = "device-plugin"
    FREE = "free"


class Path(StrEnum):
    """Who hands a card out."""

    DRA = "dra"
    PLUGIN = "device-plugin"
    BOTH = "both"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that a person should look at; `code` is stable."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a device: a claim (for `tenants` pods), or a pod on the device plugin's path."""

    kind: str  # claim | pod
    uid: str
    namespace: str
    name: str
    device_class: str = ""
    share_id: str = ""
    tenants: int = 1
    consumed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """A published device and how it stands.

    `is_blocked`: nobody holds it, but its siblings have used up the counters that it needs.
    `is_vanished`: a claim holds it, though the driver no longer publishes it.
    """

    driver: str
    pool: str
    device: Device
    state: State
    holders: tuple[Holder, ...] = ()
    taints: tuple[str, ...] = ()
    is_blocked: bool = False
    is_vanished: bool = False


@dataclass(frozen=True, slots=True)
class Unit:
    """What can be asked for, and how much of it there is.

    `name` is a resource name ("nvidia.com/gpu"), a MIG profile, or "whole". `total` is None where
    it depends on what else is taken (partitions that share counters); `further` is how many more
    of this alone would fit now.
    """

    path: Path
    name: str
    total: int | None
    used: int
    further: int | None
    unhealthy: int = 0


@dataclass(frozen=True, slots=True)
class Card:
    """A physical accelerator. `is_exact` is False where nothing tells which card a pod holds."""

    key: str
    state: State
    path: Path
    mode: str = "whole"  # whole | mig | partitions | time-slicing | mps | shared
    product: str = ""
    memory_mib: int | None = None
    reason: str = ""
    is_exact: bool = True
    devices: tuple[DeviceUse, ...] = ()


@dataclass(frozen=True, slots=True)
class Tally:
    """Numbers of cards by state. `untold` counts nodes that do not tell how many cards they have;
    they are in none of the others."""

    unknown: int = 0
    unhealthy: int = 0
    dra: int = 0
    plugin: int = 0
    free: int = 0
    untold: int = 0

    @property
    def physical(self) -> int:
        return self.unknown + self.unhealthy + self.dra + self.plugin + self.free

    @property
    def in_use(self) -> int:
        return self.dra + self.plugin

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.unknown + other.unknown,
            self.unhealthy + other.unhealthy,
            self.dra + other.dra,
            self.plugin + other.plugin,
            self.free + other.free,
            self.untold + other.untold,
        )


@dataclass(frozen=True, slots=True)
class NodeCount:
    """A node's accelerators. `node` is "" for devices that no single node owns.

    `cards` is None where nothing tells how many there are; `at_least` then is a lower bound.
    """

    node: str
    cards: tuple[Card, ...] | None
    units: tuple[Unit, ...] = ()
    faults: tuple[Fault, ...] = ()
    at_least: int = 0
    tenants: int = 0

    @property
    def tally(self) -> Tally:
        return Tally(untold=1) if self.cards is None else tally_of(self.cards)

    @property
    def path(self) -> Path:
        """How the node hands its cards out; BOTH is an error."""
        paths = {unit.path for unit in self.units} | {card.path for card in self.cards or ()}
        paths.discard(Path.NONE)
        if Path.BOTH in paths or len(paths) > 1:
            return Path.BOTH
        return paths.pop() if paths else Path.NONE


def tally_of(cards: Iterable[Card]) -> Tally:
    count = Counter(card.state for card in cards)
    return Tally(
        unknown=count[State.UNKNOWN],
        unhealthy=count[State.UNHEALTHY],
        dra=count[State.DRA],
        plugin=count[State.PLUGIN],
        free=count[State.FREE],
    )


def total(counts: Iterable[NodeCount]) -> Tally:
    found = Tally()
    for count in counts:
        found += count.tally
    return found
