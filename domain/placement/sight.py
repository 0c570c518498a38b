"""Which devices of a fleet can be seen at all, and from where."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from domain.placement.devices import Device, DeviceID, Node, PoolID
from domain.placement.faults import Fatal
from domain.placement.features import Features
from domain.placement.fleet import Fleet
from domain.placement.pools import Candidate


@dataclass(slots=True)
class Seen:
    """A device in its pool, with the nodes from which it can be used."""

    candidate: Candidate
    nodes: list[str] = field(default_factory=list)
    # How many devices this one stands for: those at its place on nodes that look alike.
    weight: int = 1

    @property
    def device(self) -> Device:
        return self.candidate.device


@dataclass(slots=True)
class Sight:
    """`published` counts devices, `unseen` are those that no node can use, and `hidden` says for
    each pool why that is so."""

    published: int
    seen: list[Seen]
    unseen: tuple[DeviceID, ...] = ()
    hidden: dict[PoolID, str] = field(default_factory=dict)

    @property
    def visible(self) -> int:
        return sum(one.weight for one in self.seen)


def sight(fleet: Fleet, features: Features, nodes: Iterable[Node]) -> Sight:
    """Every device of the newest generation, and those of them that some node can use."""
    seen: dict[DeviceID, Seen] = {}
    hidden: dict[PoolID, str] = {}
    for node in nodes:
        try:
            view = fleet.view_from(node, features)
        except Fatal as problem:
            hidden[PoolID("", node.name)] = str(problem)
            continue
        for pool in view.pools:
            if not pool.is_usable:
                hidden[pool.id] = pool.invalid_reason or "pool is being updated"
        for candidate in view.candidates:
            device = candidate.device
            if candidate.slice.per_device and not device.reach.includes(node.name, node.labels):
                continue
            known = seen.get(device.id)
            if known is None:
                known = seen[device.id] = Seen(candidate)
            known.nodes.append(node.name)
    published = _published(fleet)
    unseen = tuple(id for id in published if id not in seen)
    return Sight(len(published), list(seen.values()), unseen, hidden)


def _published(fleet: Fleet) -> dict[DeviceID, Device]:
    newest: dict[PoolID, int] = defaultdict(int)
    for one in fleet.slices.by_name.values():
        newest[one.pool] = max(newest[one.pool], one.generation)
    return {
        device.id: device
        for one in fleet.slices.by_name.values()
        if one.generation == newest[one.pool]
        for device in one.devices
    }
