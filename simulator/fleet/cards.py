"""The cards of a node; their identities follow from seed, node and position, so they last."""

import hashlib
import uuid
from dataclasses import dataclass

from simulator.fleet.hardware import CardModel, MigProfile
from simulator.fleet.scenario import NodeSpec

# An eight-card board as its vendor wires it: bus number and root complex per position.
_BUSES = ("1b", "43", "52", "61", "9d", "c3", "d1", "df")
_ROOTS = ("15", "38", "48", "59", "97", "b7", "c7", "d7")


@dataclass(frozen=True, slots=True)
class Card:
    """A physical accelerator; `index` is its device minor on the node."""

    model: CardModel
    node: str
    index: int
    uuid: str
    bus: str
    root: str
    numa: int
    instances: tuple["Instance", ...] = ()

    @property
    def name(self) -> str:
        return f"gpu-{self.index}"


@dataclass(frozen=True, slots=True)
class Instance:
    """A MIG instance, made or possible, at a memory slice of a card."""

    profile: MigProfile
    start: int
    uuid: str

    def name(self, card: Card) -> str:
        """The name that the DRA driver gives it, such as gpu-0-mig-1g10gb-19-2."""
        text = "".join(c if c.isalnum() else "-" for c in self.profile.name.replace(".", ""))
        return f"{card.name}-mig-{text}-{self.profile.profile_id}-{self.start}"


def stable_uuid(*parts: object) -> str:
    """A version 4 looking uuid that only depends on `parts`."""
    digest = hashlib.sha256("|".join(str(part) for part in parts).encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def cards_of(seed: int, node: NodeSpec) -> tuple[Card, ...]:
    return tuple(_card(seed, node, index) for index in range(node.cards))


def _card(seed: int, node: NodeSpec, index: int) -> Card:
    identity = stable_uuid(seed, node.name, index)
    position = index if node.cards > 4 else index * 2
    return Card(
        model=node.model,
        node=node.name,
        index=index,
        uuid=f"GPU-{identity}",
        bus=f"0000:{_BUSES[position % 8]}:00.0",
        root=f"pci0000:{_ROOTS[position % 8]}",
        numa=0 if position % 8 < 4 else 1,
        instances=_instances(identity, node, index),
    )


def _instances(identity: str, node: NodeSpec, index: int) -> tuple[Instance, ...]:
    """Instances of a fixed layout; a layout that does not fit is refused by `place`."""
    placed = place([node.model.profile(name) for name in node.layout[index]])
    return tuple(
        Instance(profile, start, f"MIG-{stable_uuid(identity, profile.name, start)}")
        for profile, start in placed
    )


def place(profiles: list[MigProfile]) -> list[tuple[MigProfile, int]]:
    """Where each instance sits, found by search because first fit strands layouts that fit.

    Raises ValueError when there is no placement.
    """
    order = sorted(range(len(profiles)), key=lambda n: -profiles[n].size)
    starts: dict[int, int] = {}

    def search(position: int, used: int) -> bool:
        if position == len(order):
            return True
        profile = profiles[order[position]]
        for start in profile.starts:
            mask = ((1 << profile.size) - 1) << start
            if used & mask == 0:
                starts[order[position]] = start
                if search(position + 1, used | mask):
                    return True
        return False

    compute = sum(profile.slices for profile in profiles)
    if compute > 7 or not search(0, 0):
        raise ValueError(f"{', '.join(p.name for p in profiles)} do not fit on one card")
    return [(profile, starts[n]) for n, profile in enumerate(profiles)]


def partitions(card: Card) -> list[Instance]:
    """Every profile at every place, as the driver lists them when it makes instances on demand."""
    return [
        Instance(profile, start, "") for profile in card.model.profiles for start in profile.starts
    ]


def semver(version: str) -> str:
    """580.95.05 → 580.95.5: slices carry versions without leading zeros, with three parts."""
    parts = [str(int(part)) for part in version.split(".")]
    return ".".join((*parts, "0", "0")[:3])
