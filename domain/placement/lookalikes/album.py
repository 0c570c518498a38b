"""A page per node: what it publishes, as a number, and where its devices are.

An album belongs to one fleet and one set of switches. The fleet that comes from it by a change
takes over the pages of all nodes that the change does not touch.
"""

from collections.abc import Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import chain

from domain.placement.devices import (
    Device,
    DeviceID,
    Node,
    TaintRule,
    is_cordoned,
)
from domain.placement.faults import Fatal
from domain.placement.features import Features
from domain.placement.fleet import Fleet
from domain.placement.ledger import Ledger
from domain.placement.lookalikes.crowd import Crowd, first_rows
from domain.placement.lookalikes.gallery import Gallery
from domain.placement.lookalikes.tokens import Tokens, identifying
from domain.placement.pools import Candidate, Pool

UNPICTURED = -1


@dataclass(slots=True, eq=False)
class Page:
    """One node. `shape` is UNPICTURED where only the plain search may answer; `is_ruled` where a
    DeviceTaintRule concerns any of its devices.

    `columns` holds what was worked out for its devices alone: verdicts, patterns of values.
    """

    node: Node
    shape: int
    candidates: Sequence[Candidate] = ()
    pools: tuple[str, ...] = ()
    is_cordoned: bool = False
    is_ruled: bool = False
    columns: dict[Hashable, Hashable] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Album:
    """Pages in the order of node names."""

    tokens: Tokens
    gallery: Gallery
    names: list[str]
    rows: list[Page]
    shapes: list[int]
    # The pool of each node, where no node has more than one.
    only_pools: list[str] | None
    at: dict[str, int]
    # Rows that only the plain search may answer.
    strangers: frozenset[int]
    # Queries with their plans, by content; shared with the fleets before and after.
    memo: dict[Hashable, object]
    # As of some revision, but for the rows that are out of date.
    _crowd: Crowd | None = None
    _outdated: frozenset[int] = frozenset()
    _rows_of: dict[str, list[int]] = field(default_factory=dict)

    def crowd(self, ledger: Ledger) -> Crowd:
        """Kept as long as nothing changes, and brought up to date row by row."""
        known = self._crowd
        if known is None or self._outdated or known.revision != ledger.revision:
            known = self._crowd = self._updated(known, ledger)
            self._outdated = frozenset()
            ledger.follow()
        return known

    def near_crowd(self, ledger: Ledger) -> Crowd | None:
        """If it costs little: nothing is known yet, or of a state too far back, otherwise."""
        known = self._crowd
        if known is None or known.revision not in (ledger.revision, ledger.seen):
            return None
        return self.crowd(ledger)

    def _updated(self, known: Crowd | None, ledger: Ledger) -> Crowd:
        if known is None or known.revision not in (ledger.revision, ledger.seen):
            numbers = self.numbers(ledger, 0, len(self.rows))
            return Crowd(ledger.revision, numbers, first_rows(numbers))
        rows = set(self._outdated)
        if known.revision != ledger.revision:
            rows.update(*(self._showing(pool) for pool in ledger.changed))
        now = {row: self.numbers(ledger, row, row + 1)[0] for row in rows}
        return known.with_rows(ledger.revision, now)

    def _showing(self, pool: str) -> Sequence[int]:
        if not self._rows_of:
            for row, page in enumerate(self.rows):
                for name in page.pools:
                    self._rows_of.setdefault(name, []).append(row)
        return self._rows_of.get(pool, ())

    def numbers(self, ledger: Ledger, first: int, last: int) -> list[int]:
        """The pictures of the rows from `first` up to `last`."""
        states = self.states(ledger, first, last)
        return self.gallery.numbered(self.shapes[first:last], states)

    def states(self, ledger: Ledger, first: int, last: int) -> list[Hashable]:
        """What is in use on the rows from `first` up to `last`, each of all its pools together."""
        marks = ledger.marks
        if self.only_pools is not None:
            return [*map(marks.get, self.only_pools[first:last])]
        return [tuple([marks.get(pool) for pool in page.pools]) for page in self.rows[first:last]]

    def without(self, stale: AbstractSet[str]) -> "Inherited | Album":
        """For the fleet after a change that concerns these nodes only."""
        return Inherited(self, frozenset(stale)) if stale else self


def switches(features: Features) -> Hashable:
    """What changes how a node is seen."""
    return (
        features.partitionable_devices,
        features.compatibility_groups,
        features.fixed_node_selectors,
        features.device_taint_rules,
    )


def album_of(fleet: Fleet, features: Features) -> Album:
    """The fleet's album, made from that of the fleet it came from where there is one."""
    key = switches(features)
    found = fleet.albums.get(key)
    if not isinstance(found, Album):
        found = fleet.albums[key] = _bound(fleet, features, found)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Inherited:
    """What a changed fleet takes over: everything but the pages of the nodes it touched."""

    album: Album
    stale: frozenset[str]

    def without(self, stale: AbstractSet[str]) -> "Inherited":
        return Inherited(self.album, self.stale | stale)


def _bound(fleet: Fleet, features: Features, before: object) -> Album:
    rules = tuple(fleet.rules.values()) if features.device_taint_rules else ()
    if isinstance(before, Inherited):
        return _rebound(fleet, features, before, rules)
    tokens = Tokens(identifying(_devices(fleet)))
    return _of_rows(
        [_page(fleet, features, fleet.nodes[name], tokens, rules) for name in sorted(fleet.nodes)],
        tokens,
        Gallery(),
        {},
    )


def _rebound(
    fleet: Fleet, features: Features, before: Inherited, rules: tuple[TaintRule, ...]
) -> Album:
    """In the common case some rows are replaced and all else is shared."""
    old = before.album
    new = {
        name: _page(fleet, features, fleet.nodes[name], old.tokens, rules)
        for name in before.stale
        if name in fleet.nodes
    }
    same_pools = all(
        name in new and name in old.at and new[name].pools == old.rows[old.at[name]].pools
        for name in before.stale
    )
    if not same_pools or old.strangers or any(page.shape == UNPICTURED for page in new.values()):
        kept = (new.get(name) or old.rows[old.at[name]] for name in sorted(fleet.nodes))
        return _of_rows(list(kept), old.tokens, old.gallery, old.memo)
    rows, shapes = list(old.rows), list(old.shapes)
    for name, page in new.items():
        rows[old.at[name]], shapes[old.at[name]] = page, page.shape
    outdated = old._outdated.union(old.at[name] for name in new)
    return replace(old, rows=rows, shapes=shapes, _outdated=outdated)


def _of_rows(
    rows: list[Page], tokens: Tokens, gallery: Gallery, memo: dict[Hashable, object]
) -> Album:
    pools: list[str] | None = None
    if all(len(page.pools) <= 1 for page in rows):
        pools = [page.pools[0] if page.pools else "" for page in rows]
    names = [page.node.name for page in rows]
    return Album(
        tokens,
        gallery,
        names,
        rows,
        [page.shape for page in rows],
        pools,
        {name: i for i, name in enumerate(names)},
        _strangers(rows),
        memo,
    )


def _devices(fleet: Fleet) -> Iterator[Device]:
    return chain.from_iterable(one.devices for one in fleet.slices.by_name.values())


def _page(
    fleet: Fleet, features: Features, node: Node, tokens: Tokens, rules: tuple[TaintRule, ...]
) -> Page:
    try:
        view = fleet.view_from(node, features)
    except Fatal:
        return Page(node, UNPICTURED)
    pools = tuple(str(pool.id) for pool in view.pools)
    if not all(_is_plain(pool) for pool in view.pools):
        return Page(node, UNPICTURED, view.candidates, pools)
    content = tuple(_pool_content(pool, node, tokens, rules) for pool in view.pools)
    operations = any(one.skipped_operations for pool in view.pools for one in pool.slices)
    declared = node.declared_features if operations else frozenset()
    shape = tokens.of(("node", content, declared))
    ruled = any(rule.applies_to(one.device.id) for rule in rules for one in view.candidates)
    return Page(node, shape, view.candidates, pools, is_cordoned(node), ruled)


def _is_plain(pool: Pool) -> bool:
    """Whole, valid, and all of it seen from here."""
    return (
        pool.is_usable
        and not pool.elsewhere
        and not any(one.per_device for one in pool.slices)
        and len({bool(one.reach.node_name) for one in pool.slices}) <= 1
    )


def _pool_content(pool: Pool, node: Node, tokens: Tokens, rules: tuple[TaintRule, ...]) -> Hashable:
    """Of a pool that other nodes see too, every device is itself and no other."""
    is_local = all(one.reach.node_name == node.name for one in pool.slices)
    counters = tuple((one.name, tuple(sorted(one.counters.items()))) for one in pool.counter_sets)
    slices = tuple(
        (
            one.skipped_operations,
            one.reach.selector if not is_local else None,
            tuple(_token(tokens, device, rules, is_local=is_local) for device in one.devices),
        )
        for one in pool.slices
    )
    return pool.id.driver, counters, slices


def _ruled(device: DeviceID, rules: tuple[TaintRule, ...]) -> Hashable:
    return tuple(rule.taint for rule in rules if rule.applies_to(device)) if rules else ()


def _token(tokens: Tokens, device: Device, rules: tuple[TaintRule, ...], *, is_local: bool) -> int:
    found = tokens.device(device, _ruled(device.id, rules))
    return found if is_local else tokens.of((device.id, found))


def _strangers(rows: Sequence[Page]) -> frozenset[int]:
    """Pages without a shape, and nodes that each publish a pool of one name.

    The latter have nothing in common but that name, and what is in use goes by it.
    """
    found = {i for i, page in enumerate(rows) if page.shape == UNPICTURED}
    owners: dict[str, int] = {}
    for i, page in enumerate(rows):
        for pool in page.pools:
            other = owners.setdefault(pool, i)
            if other != i and not _same_pool(rows[other], page, pool):
                found |= {other, i}
    return frozenset(found)


def _same_pool(one: Page, other: Page, pool: str) -> bool:
    mine, theirs = (
        [c.device for c in page.candidates if str(c.pool.id) == pool] for page in (one, other)
    )
    return len(mine) == len(theirs) and all(a is b for a, b in zip(mine, theirs, strict=True))
