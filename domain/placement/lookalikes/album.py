"""A page per node: what it publishes, as a number, and where its devices are.

An album belongs to one fleet and one set of switches. The fleet that comes from it by a change
takes over the pages of all nodes that the change does not touch.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain

from domain.placement.devices import Device, DeviceID, Node, PoolID, TaintRule
from domain.placement.faults import Fatal
from domain.placement.features import Features
from domain.placement.fleet import Fleet
from domain.placement.lookalikes.tokens import Tokens, identifying
from domain.placement.pools import Candidate, Pool

UNPICTURED = -1


@dataclass(slots=True, eq=False)
class Page:
    """One node. `shape` is UNPICTURED where only the plain search may answer.

    `columns` holds what was worked out for its devices alone: verdicts, patterns of values.
    """

    node: Node
    shape: int
    candidates: Sequence[Candidate] = ()
    pools: tuple[PoolID, ...] = ()
    columns: dict[Hashable, Hashable] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Album:
    """Pages in the order of node names."""

    tokens: Tokens
    pages: dict[str, Page]
    names: list[str] = field(default_factory=list)
    rows: list[Page] = field(default_factory=list)
    shapes: list[int] = field(default_factory=list)
    # The pool of each node, where no node has more than one.
    only_pools: list[PoolID | None] | None = None
    at: dict[str, int] = field(default_factory=dict)
    # Rows that only the plain search may answer.
    strangers: frozenset[int] = frozenset()
    memo: dict[Hashable, object] = field(default_factory=dict)

    def without(self, stale: AbstractSet[str]) -> "Inherited | Album":
        """For the fleet after a change that concerns these nodes only."""
        return _without(self.tokens, self.pages, self.memo, stale) if stale else self


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

    tokens: Tokens
    pages: Mapping[str, Page]
    memo: dict[Hashable, object]

    def without(self, stale: AbstractSet[str]) -> "Inherited":
        return _without(self.tokens, self.pages, self.memo, stale)


def _without(
    tokens: Tokens, pages: Mapping[str, Page], memo: dict[Hashable, object], stale: AbstractSet[str]
) -> Inherited:
    kept = dict(pages)
    for name in stale:
        kept.pop(name, None)
    return Inherited(tokens, kept, memo)


def _bound(fleet: Fleet, features: Features, before: object) -> Album:
    if isinstance(before, Inherited):
        album = Album(before.tokens, dict(before.pages), memo=before.memo)
    else:
        album = Album(Tokens(identifying(_devices(fleet))), {})
    rules = tuple(fleet.rules.values()) if features.device_taint_rules else ()
    album.names = sorted(fleet.nodes)
    for name in album.names:
        if name not in album.pages:
            album.pages[name] = _page(fleet, features, fleet.nodes[name], album.tokens, rules)
    album.rows = [album.pages[name] for name in album.names]
    album.strangers = _strangers(album.rows)
    album.shapes = [page.shape for page in album.rows]
    if all(len(page.pools) <= 1 for page in album.rows):
        album.only_pools = [page.pools[0] if page.pools else None for page in album.rows]
    album.at = {name: i for i, name in enumerate(album.names)}
    return album


def _devices(fleet: Fleet) -> Iterator[Device]:
    return chain.from_iterable(one.devices for one in fleet.slices.by_name.values())


def _page(
    fleet: Fleet, features: Features, node: Node, tokens: Tokens, rules: tuple[TaintRule, ...]
) -> Page:
    try:
        view = fleet.view_from(node, features)
    except Fatal:
        return Page(node, UNPICTURED)
    if not all(_is_plain(pool) for pool in view.pools):
        return Page(node, UNPICTURED, view.candidates, tuple(pool.id for pool in view.pools))
    content = tuple(_pool_content(pool, node, tokens, rules) for pool in view.pools)
    operations = any(one.skipped_operations for pool in view.pools for one in pool.slices)
    declared = node.declared_features if operations else frozenset()
    shape = tokens.of(("node", content, declared))
    return Page(node, shape, view.candidates, tuple(pool.id for pool in view.pools))


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
    owners: dict[PoolID, int] = {}
    for i, page in enumerate(rows):
        for pool in page.pools:
            other = owners.setdefault(pool, i)
            if other != i and not _same_pool(rows[other], page, pool):
                found |= {other, i}
    return frozenset(found)


def _same_pool(one: Page, other: Page, pool: PoolID) -> bool:
    mine, theirs = (
        [c.device for c in page.candidates if c.pool.id == pool] for page in (one, other)
    )
    return len(mine) == len(theirs) and all(a is b for a, b in zip(mine, theirs, strict=True))
