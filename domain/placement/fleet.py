"""A cluster as placement sees it: frozen, and cheap to change one object at a time.

`apply` shares everything with the fleet it came from except the index of the kind that changed,
so older fleets stay valid and an answer can name the state that it was computed on.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from domain.placement.asked import read_class, read_held
from domain.placement.claims import DeviceClass, Held
from domain.placement.devices import Node, PoolID, Slice, TaintRule
from domain.placement.faults import Malformed
from domain.placement.features import Features
from domain.placement.ledger import Ledger
from domain.placement.pods.index import PodIndex
from domain.placement.pods.reading import read_pod
from domain.placement.pools import View, gather
from domain.placement.published import read_node, read_slice, read_taint_rule
from domain.placement.slices import SliceIndex
from domain.placement.versions import as_v1
from domain.placement.views import Views

Key = tuple[str, str, str]
"""Kind, namespace, name."""


@dataclass(frozen=True, slots=True)
class Upsert:
    """The object as the API serves it now."""

    object: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Delete:
    kind: str
    namespace: str
    name: str


Change = Upsert | Delete


@dataclass(frozen=True, slots=True)
class Fault:
    """An object that could not be read, and why; everything else still counts."""

    kind: str
    namespace: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Fleet:
    """Build it with `Fleet.build`; change it with `apply`."""

    slices: SliceIndex = field(default_factory=SliceIndex)
    classes: Mapping[str, DeviceClass] = field(default_factory=dict)
    rules: Mapping[str, TaintRule] = field(default_factory=dict)
    claims: Mapping[tuple[str, str], Held] = field(default_factory=dict)
    templates: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)
    pods: PodIndex = field(default_factory=PodIndex)
    faults: Mapping[Key, Fault] = field(default_factory=dict)
    ledgers: dict[bool, Ledger] = field(default_factory=dict, repr=False, compare=False)
    views: dict[Hashable, Views] = field(default_factory=dict, repr=False, compare=False)
    albums: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def build(cls, objects: Iterable[Mapping[str, Any]]) -> "Fleet":
        """From raw API objects of any supported version; kinds of no use here are ignored.

        Never raises for what an object contains: unreadable ones are in `faults`.
        """
        work = _Work(cls(), stale=None)
        for raw in objects:
            work.upsert(raw)
        return work.done()

    def ledger(self, features: Features) -> Ledger:
        """What allocated claims hold. Shared: copy it before changing it."""
        consumable = features.consumable_capacity
        found = self.ledgers.get(consumable)
        if found is None:
            found = self.ledgers[consumable] = Ledger(consumable)
            for held in self.claims.values():
                found.add(held.holdings)
        return found

    def view_from(self, node: Node, features: Features) -> View:
        """What a node sees, gathered once. Raises Fatal as `gather` does."""
        switches = (
            features.partitionable_devices,
            features.compatibility_groups,
            features.fixed_node_selectors,
        )
        views = self.views.get(switches)
        if views is None:
            views = self.views[switches] = Views()
        found = views.get(node.name)
        if found is None:
            found = View.of(gather(self, node, features))
            views.put(node.name, found)
        return found

    def slices_on(self, node_name: str) -> Sequence[Slice]:
        return self.slices.on_node(node_name)

    def slices_shared(self) -> Sequence[Slice]:
        return self.slices.shared

    def slices_of(self, pool: PoolID) -> Sequence[Slice]:
        return self.slices.of_pool(pool)


def apply(fleet: Fleet, change: Change) -> Fleet:
    """The fleet after one change; the given one stays as it is."""
    work = _Work.of(fleet)
    if isinstance(change, Upsert):
        work.upsert(change.object)
    else:
        work.delete((change.kind, change.namespace, change.name))
    return work.done()


def apply_all(fleet: Fleet, changes: Iterable[Change]) -> Fleet:
    """As `apply` one by one, for the price of one copy per kind."""
    work = _Work.of(fleet)
    for change in changes:
        if isinstance(change, Upsert):
            work.upsert(change.object)
        else:
            work.delete((change.kind, change.namespace, change.name))
    return work.done()


@dataclass(slots=True)
class _Work:
    """A fleet being changed: a kind's index is copied on its first change."""

    fleet: Fleet
    fields: dict[str, Any] = field(default_factory=dict)
    ledgers: dict[bool, Ledger] = field(default_factory=dict)
    stale: set[str] | None = field(default_factory=set)
    """Nodes whose view has to be gathered anew; None for all."""

    @classmethod
    def of(cls, fleet: Fleet) -> Self:
        return cls(fleet, ledgers=dict(fleet.ledgers))

    def done(self) -> Fleet:
        views, albums = self._views(), self._albums()
        return replace(self.fleet, ledgers=self.ledgers, views=views, albums=albums, **self.fields)

    def _albums(self) -> dict[Hashable, Any]:
        """What was worked out about nodes that nothing of this concerns; see lookalikes."""
        if self.stale is None or "rules" in self.fields:
            return {}
        return {key: album.without(self.stale) for key, album in self.fleet.albums.items()}

    def _views(self) -> dict[Hashable, Views]:
        """Of the nodes that nothing of this concerns."""
        if self.stale is None:
            return {}
        known = self.fleet.views
        if not self.stale:
            return known
        return {switches: views.without(self.stale) for switches, views in known.items()}

    def upsert(self, raw: Mapping[str, Any]) -> None:
        key = _key(raw)
        stored = _STORES.get(key[0])
        if stored is None:
            return
        self._forget_fault(key)
        try:
            record = stored.read(as_v1(raw))
        except Malformed as problem:
            self.delete(key)
            self._index("faults")[key] = Fault(*key, reason=str(problem))
            return
        self._put(stored, key, record)

    def delete(self, key: Key) -> None:
        self._forget_fault(key)
        if (stored := _STORES.get(key[0])) is not None:
            self._put(stored, key, None)

    def _put(self, stored: "_Store", key: Key, record: Any) -> None:
        inner: Any = key[1:] if stored.namespaced else key[2]
        if stored.field in ("slices", "pods"):
            if stored.field not in self.fields:
                self.fields[stored.field] = getattr(self.fleet, stored.field).copy()
            index = self.fields[stored.field]
            if stored.field == "slices":
                self._touch(index.by_name.get(inner), index)
                self._touch(record, index)
            index.put(inner, record)
            return
        if stored.field == "nodes" and self.stale is not None:
            self.stale.add(inner)
        index = self._index(stored.field)
        if stored.field == "claims":
            self._recount(index.get(inner), record)
        if record is None:
            index.pop(inner, None)
        else:
            index[inner] = record

    def _touch(self, one: Slice | None, index: SliceIndex) -> None:
        """A slice concerns every node that its pool has slices for."""
        if one is None or self.stale is None:
            return
        for same in (one, *index.of_pool(one.pool)):
            if not same.reach.node_name:
                self.stale = None
                return
            self.stale.add(same.reach.node_name)

    def _recount(self, before: Held | None, after: Held | None) -> None:
        old, new = (one.holdings if one else () for one in (before, after))
        if old == new:
            return
        for consumable, ledger in self.ledgers.items():
            if ledger is self.fleet.ledgers.get(consumable):
                ledger = self.ledgers[consumable] = ledger.copy()
            ledger.remove(old)
            ledger.add(new)

    def _index(self, name: str) -> dict[Any, Any]:
        if name not in self.fields:
            self.fields[name] = dict(getattr(self.fleet, name))
        found: dict[Any, Any] = self.fields[name]
        return found

    def _forget_fault(self, key: Key) -> None:
        if key in self.fields.get("faults", self.fleet.faults):
            self._index("faults").pop(key)


@dataclass(frozen=True, slots=True)
class _Store:
    field: str
    read: Any
    namespaced: bool = False


def _as_is(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    return raw


_STORES = {
    "ResourceSlice": _Store("slices", read_slice),
    "DeviceClass": _Store("classes", read_class),
    "DeviceTaintRule": _Store("rules", read_taint_rule),
    "ResourceClaim": _Store("claims", read_held, namespaced=True),
    "ResourceClaimTemplate": _Store("templates", _as_is, namespaced=True),
    "Node": _Store("nodes", read_node),
    "Pod": _Store("pods", read_pod, namespaced=True),
}


def _key(raw: Mapping[str, Any]) -> Key:
    meta = raw.get("metadata")
    known: Mapping[str, Any] = meta if isinstance(meta, Mapping) else {}
    namespace, name = known.get("namespace") or "", known.get("name") or ""
    return str(raw.get("kind") or ""), str(namespace), str(name)
