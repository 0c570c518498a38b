"""How scattered what is free is: the largest groups, cards that are only partly used, partitions
for which there is still room, and the moves that would make cards whole again.

Sums lie: five free memory slices of eight may hold no three that lie together, and seven free cards
on seven nodes serve nobody who needs two. So nothing here is a sum: groups are found by asking the
engine, partitions are counted placement by placement, and each move is carried out on a copy.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from domain.placement.cards import Card, CardID, Shelf, accepts, by_profile, cards_of, names
from domain.placement.claims import Held
from domain.placement.devices import DeviceID
from domain.placement.features import DEFAULT, Features
from domain.placement.fleet import Fleet
from domain.placement.groups import Group, groups_of_links, groups_of_nodes
from domain.placement.moves import (
    GroupMove,
    Move,
    for_larger_groups,
    for_whole_cards,
    holders_of,
    name_of,
)
from domain.placement.trials import OutOfTries, Trials

STEPS_OF_A_GROUP = 300


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
class Fragmentation:
    """partial: tries or time ran out, so groups or moves are missing."""

    cards: int
    free: int
    stranded: tuple[Stranded, ...]
    profiles: tuple[Profile, ...]
    groups: tuple[Group, ...] = ()
    moves: tuple[Move, ...] = ()
    group_moves: tuple[GroupMove, ...] = ()
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
    holders = holders_of(fleet)
    free = [card for card in cards if shelf.is_free(card)]
    stranded = [card for card in cards if _is_stranded(shelf, card)]
    found = Fragmentation(
        cards=len(cards),
        free=len(free),
        stranded=tuple(_stranded(card, shelf, holders) for card in stranded),
        profiles=tuple(_profiles(cards, shelf)),
    )
    trials = Trials(fleet, features, 10_000, is_over, most_steps=STEPS_OF_A_GROUP)
    groups: list[Group] = []
    moves: list[Move] = []
    larger: list[GroupMove] = []
    partial = False
    try:
        groups.extend(groups_of_nodes(trials, wanted))
        if with_moves:
            moves.extend(for_whole_cards(fleet, features, stranded, free, is_over))
            larger.extend(for_larger_groups(fleet, features, groups, is_over))
        groups.extend(groups_of_links(trials, wanted))
    except OutOfTries:
        partial = True
    partial = partial or is_over()
    return replace(
        found,
        groups=tuple(groups),
        moves=tuple(moves),
        group_moves=tuple(larger),
        partial=partial,
    )


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


def _stranded(card: Card, shelf: Shelf, holders: dict[DeviceID, list[Held]]) -> Stranded:
    used = shelf.in_use(card)
    claims = dict.fromkeys(name_of(held) for id in used for held in holders[id])
    return Stranded(card.id, card.nodes, names(used), tuple(claims))


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
