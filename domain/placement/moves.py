"""Claims that would have to start anew elsewhere for cards to be whole, or for a larger group.

Each move is carried out on a copy of the fleet before it is told.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from domain.placement.cards import Card, CardID, Shelf
from domain.placement.claims import Held
from domain.placement.devices import DeviceID
from domain.placement.evictions import moved, smallest
from domain.placement.features import Features
from domain.placement.fleet import Delete, Fleet, Upsert, apply_all
from domain.placement.groups import Group, claim_of
from domain.placement.sequence import Sequencer
from domain.placement.trials import FEW_STEPS, OutOfTries, Trials, Wanted

MOST_MOVES = 10
USUAL_SIZES = (1, 2, 4, 8, 16)
TRIES_OF_A_GROUP = 60


@dataclass(frozen=True, slots=True)
class Move:
    """If these claims started anew where `to` says, in this order, the card would be whole."""

    card: CardID
    claims: tuple[str, ...]
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupMove:
    """If these claims started anew where `to` says, `size` devices would be free on `node`."""

    class_name: str
    size: int
    node: str
    claims: tuple[str, ...]
    to: tuple[str, ...]


def for_larger_groups(
    fleet: Fleet, features: Features, groups: Iterable[Group], is_over: Callable[[], bool]
) -> Iterator[GroupMove]:
    """For each class the next usual size above its largest group, if moves alone make room."""
    for group in groups:
        if group.link or is_over():
            continue
        size = next((one for one in USUAL_SIZES if one > group.size), None)
        if size is None:
            continue
        trials = Trials(fleet, features, TRIES_OF_A_GROUP, is_over, most_steps=FEW_STEPS // 5)
        wanted = Wanted((claim_of(group.class_name, size, ""),))
        try:
            found = smallest(trials, wanted)
        except OutOfTries:
            continue
        if found is None:
            continue
        found = moved(fleet, features, wanted, found)
        if found.moves:
            claims = tuple(name_of(one) for one in found.ends)
            yield GroupMove(group.class_name, size, found.node, claims, found.moves)


def for_whole_cards(
    fleet: Fleet,
    features: Features,
    stranded: Iterable[Card],
    free: Iterable[Card],
    is_over: Callable[[], bool],
) -> Iterator[Move]:
    """One after the other: each is found on the fleet as those before it leave it.

    Claims go to cards that are partly used already, never to one that is free.
    """
    hidden = {device.id for card in free for device in card.devices}
    now = fleet
    settled: set[DeviceID] = set()
    shelf = Shelf.of(fleet, features)
    found = 0
    for card in sorted(stranded, key=lambda one: len(shelf.in_use(one))):
        if is_over() or found >= MOST_MOVES:
            return
        own = {device.id for device in card.devices}
        if own & settled:
            continue
        there = holders_of(now)
        leaving = {name_of(held): held for id in own for held in there.get(id, ())}
        placed = _placed_elsewhere(now, features, list(leaving.values()), hidden | own)
        if placed is None:
            continue
        after, to = placed
        if not Shelf.of(after, features).is_free(card):
            continue
        now = after
        settled |= {one.device for held in leaving for one in now.claims[_key(held)].holdings}
        hidden |= own
        found += 1
        yield Move(card.id, tuple(leaving), to)


def _key(name: str) -> tuple[str, str]:
    namespace, _, own = name.partition("/")
    return namespace, own


def _placed_elsewhere(
    fleet: Fleet, features: Features, leaving: list[Held], hidden: set[DeviceID]
) -> tuple[Fleet, tuple[str, ...]] | None:
    """The fleet with these claims on devices that are not hidden, and their nodes."""
    gone = [Delete("ResourceClaim", held.namespace, held.name) for held in leaving]
    rest = _without(apply_all(fleet, gone), hidden)
    run = Sequencer(rest, features, [rest.nodes[name] for name in sorted(rest.nodes)])
    changes, to = [], []
    for held in leaving:
        decision = run.add([held.raw])
        if not decision.fits:
            return None
        to.append(decision.node)
        status = {**held.raw["status"], "allocation": decision.allocations[0]}
        changes.append(Upsert({**held.raw, "kind": "ResourceClaim", "status": status}))
    return apply_all(fleet, changes), tuple(to)


def _without(fleet: Fleet, hidden: set[DeviceID]) -> Fleet:
    """As if these devices were not published."""
    index = fleet.slices.copy()
    for name, one in fleet.slices.by_name.items():
        kept = tuple(device for device in one.devices if device.id not in hidden)
        if len(kept) < len(one.devices):
            index.put(name, replace(one, devices=kept))
    return replace(fleet, slices=index, views={}, albums={})


def holders_of(fleet: Fleet) -> dict[DeviceID, list[Held]]:
    found: dict[DeviceID, list[Held]] = defaultdict(list)
    for held in fleet.claims.values():
        for holding in held.holdings:
            found[holding.device].append(held)
    return found


def name_of(held: Held) -> str:
    return f"{held.namespace}/{held.name}"
