"""How scattered what is free is: the largest groups, cards that are only partly used, partitions
for which there is still room, and the moves that would make cards whole again.

Sums lie: five free memory slices of eight may hold no three that lie together, and seven free cards
on seven nodes serve nobody who needs two. So nothing here is a sum: groups are found by asking the
engine, partitions are counted placement by placement, and each move is carried out on a copy.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from domain.placement.cards import Card, CardID, Shelf, accepts, by_profile, cards_of, names
from domain.placement.claims import MOST_RESULTS, Held
from domain.placement.devices import DeviceID
from domain.placement.features import DEFAULT, Features
from domain.placement.fleet import Delete, Fleet, Upsert, apply_all
from domain.placement.sequence import Sequencer
from domain.placement.trials import OutOfTries, Trials, Wanted

LINKS = re.compile(r"(pcieroot|clique|nvlink|fabric|numanode)$", re.IGNORECASE)
"""Attributes whose equal values mean that devices are near each other."""

MOST_LINKS = 4
MOST_MOVES = 10


@dataclass(frozen=True, slots=True)
class Group:
    """The largest claim of a class that fits now, and on which node.

    link: the attribute that all must share; "" for any devices of one node. `size` is at most 32,
    the API's limit of one claim.
    """

    class_name: str
    link: str
    size: int
    node: str = ""


@dataclass(frozen=True, slots=True)
class Stranded:
    """A card that cannot be had whole since parts of it are in use, though other parts are not."""

    card: CardID
    nodes: tuple[str, ...]
    in_use: tuple[str, ...]
    holders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """How many more of it could be taken if nothing else were: `fits`, on `cards` cards."""

    name: str
    fits: int
    cards: int
    published: int


@dataclass(frozen=True, slots=True)
class Move:
    """If these claims started anew where `to` says, in this order, the card would be whole."""

    card: CardID
    claims: tuple[str, ...]
    to: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fragmentation:
    """partial: tries or time ran out, so groups or moves are missing."""

    cards: int
    free: int
    stranded: tuple[Stranded, ...]
    profiles: tuple[Profile, ...]
    groups: tuple[Group, ...] = ()
    moves: tuple[Move, ...] = ()
    partial: bool = False


def fragmentation(
    fleet: Fleet,
    features: Features = DEFAULT,
    *,
    classes: Iterable[str] | None = None,
    with_moves: bool = True,
    is_over: Callable[[], bool] = lambda: False,
) -> Fragmentation:
    """classes: only their groups and the cards of which they accept something; None for all."""
    wanted = sorted(fleet.classes) if classes is None else list(classes)
    cards, shelf = cards_of(fleet, features), Shelf.of(fleet, features)
    if classes is not None:
        cards = [card for card in cards if _is_of(fleet, wanted, card)]
    holders = _holders(fleet)
    free = [card for card in cards if shelf.is_free(card)]
    stranded = [card for card in cards if _is_stranded(shelf, card)]
    found = Fragmentation(
        cards=len(cards),
        free=len(free),
        stranded=tuple(_stranded(card, shelf, holders) for card in stranded),
        profiles=tuple(_profiles(cards, shelf)),
    )
    trials = Trials(fleet, features, 10_000, is_over)
    groups: list[Group] = []
    moves: list[Move] = []
    partial = False
    try:
        groups.extend(_groups(trials, wanted))
    except OutOfTries:
        partial = True
    if with_moves:
        moves.extend(_moves(fleet, features, stranded, free, is_over))
        partial = partial or is_over()
    return replace(found, groups=tuple(groups), moves=tuple(moves), partial=partial)


def _is_of(fleet: Fleet, classes: Iterable[str], card: Card) -> bool:
    owners = [fleet.classes[name] for name in classes if name in fleet.classes]
    return any(accepts(owner, device) for owner in owners for device in card.devices)


def _is_stranded(shelf: Shelf, card: Card) -> bool:
    if not card.is_divided:
        return False
    used = shelf.in_use(card)
    if not used or (card.whole is not None and card.whole.id in used):
        return False
    return shelf.has_room(card) or _has_counters_left(shelf, card)


def _has_counters_left(shelf: Shelf, card: Card) -> bool:
    """Room that no placement fits is stranded all the more."""
    left = shelf.site.book.available_in(card.pool).left
    return any(value > 0 for (owner, _), value in left.items() if owner == card.id.card)


def _holders(fleet: Fleet) -> dict[DeviceID, list[Held]]:
    found: dict[DeviceID, list[Held]] = defaultdict(list)
    for held in fleet.claims.values():
        for holding in held.holdings:
            found[holding.device].append(held)
    return found


def _stranded(card: Card, shelf: Shelf, holders: dict[DeviceID, list[Held]]) -> Stranded:
    used = shelf.in_use(card)
    claims = dict.fromkeys(_name(held) for id in used for held in holders[id])
    return Stranded(card.id, card.nodes, names(used), tuple(claims))


def _name(held: Held) -> str:
    return f"{held.namespace}/{held.name}"


def _profiles(cards: Iterable[Card], shelf: Shelf) -> Iterator[Profile]:
    fits: Counter[str] = Counter()
    on: Counter[str] = Counter()
    published: Counter[str] = Counter()
    for card in cards:
        for name, devices in by_profile(card):
            room = shelf.most_together(card, devices)
            fits[name] += room
            on[name] += room > 0
            published[name] += len(devices)
    for name in sorted(published):
        yield Profile(name, fits[name], on[name], published[name])


# --- Groups
def _groups(trials: Trials, classes: Iterable[str]) -> Iterator[Group]:
    links = _links(trials.fleet)
    for name in classes:
        for link in ("", *links):
            yield largest_group(trials, name, link)


def _links(fleet: Fleet) -> list[str]:
    """Fully qualified, the most published first."""
    found: Counter[str] = Counter()
    for one in fleet.slices.by_name.values():
        for device in one.devices:
            for name in device.attributes:
                if LINKS.search(name):
                    found[name if "/" in name else f"{device.id.driver}/{name}"] += 1
    return [name for name, _ in found.most_common(MOST_LINKS)]


def largest_group(trials: Trials, class_name: str, link: str = "") -> Group:
    """By bisection: whoever fits with n devices of a class fits with fewer. Raises OutOfTries."""
    best = Group(class_name, link, 0)
    low, high = 1, MOST_RESULTS
    while low <= high:
        middle = (low + high) // 2
        if nodes := trials.where(Wanted((_claim(class_name, middle, link),))):
            best, low = Group(class_name, link, middle, nodes[0]), middle + 1
        else:
            high = middle - 1
    return best


def _claim(class_name: str, count: int, link: str) -> dict[str, Any]:
    request = {"name": "r", "exactly": {"deviceClassName": class_name, "count": count}}
    devices: dict[str, Any] = {"requests": [request]}
    if link:
        devices["constraints"] = [{"matchAttribute": link}]
    return {"metadata": {"name": "group"}, "spec": {"devices": devices}}


# --- Moves
def _moves(
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
        there = _holders(now)
        leaving = {_name(held): held for id in own for held in there.get(id, ())}
        moved = _placed_elsewhere(now, features, list(leaving.values()), hidden | own)
        if moved is None:
            continue
        after, to = moved
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
