"""A cluster in memory, in the domain's words: what lies on which node, and what was touched.

It holds what counting needs and no more: a cluster of 10,000 nodes and 80,000 devices fits into a
few hundred MiB. One thread uses it.

What is `known` was counted already by an earlier process: it is put where it belongs, but touches
nothing, and a slice's many devices are read only when its node is counted.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from domain.devices import ClaimUse, DevicePool, Node, PodUse, Slice, TaintRule, pools_of
from domain.inventory import Homes, NodeCount, count_node, home_of, split


@dataclass(frozen=True, slots=True)
class Unread:
    """A slice that is known, of which only the place was read so far."""

    uid: str
    driver: str
    pool: str
    node_name: str
    read: Callable[[], Slice]


@dataclass(slots=True)
class Lot:
    """What lies on one node."""

    node: Node | None = None
    slices: dict[str, Slice | Unread] = field(default_factory=dict)
    claims: dict[str, ClaimUse] = field(default_factory=dict)
    pods: dict[str, PodUse] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return self.node is None and not (self.slices or self.claims or self.pods)

    def pools(self) -> list[DevicePool]:
        found = []
        for uid, part in self.slices.items():
            if isinstance(part, Unread):
                part = self.slices[uid] = part.read()
            found.append(part)
        return pools_of(found)


class Mirror:
    def __init__(self) -> None:
        self.lots: dict[str, Lot] = {}
        self.touched: set[str] = set()
        self.moved: set[str] = set()  # claims that lie elsewhere than when they were last put
        self.rules: dict[str, TaintRule] = {}
        self.claims: dict[str, ClaimUse] = {}
        self.claim_uids: dict[tuple[str, str], str] = {}
        self.pods: dict[str, PodUse] = {}
        self.pod_uids: dict[tuple[str, str], str] = {}
        self.tenants: dict[str, str] = {}  # namespace -> tenant, by the namespace's label
        self._node_names: dict[str, str] = {}
        self._slices: dict[str, Slice | Unread] = {}
        self._homes: Homes = {}
        self._pool_slices: dict[tuple[str, str], set[str]] = {}
        self._pool_claims: dict[tuple[str, str], set[str]] = {}
        self._claimed: dict[str, set[tuple[str, str]]] = {}  # keys of the above by pool name
        self._places: dict[str, tuple[str, ...]] = {}
        self._known_claims: set[str] = set()

    # --- Nodes
    def put_node(self, node: Node, *, known: bool = False) -> None:
        self._node_names[node.uid] = node.name
        self._lot(node.name, known=known).node = node
        self._settle_pool_named(node.name, known=known)

    def drop_node(self, uid: str) -> None:
        name = self._node_names.pop(uid, None)
        lot = self.lots.get(name) if name is not None else None
        # A node that was made anew under its name is not the one that went.
        if lot and lot.node and lot.node.uid == uid:
            lot.node = None
            self.touched.add(lot_name := str(name))
            self._settle_pool_named(lot_name)

    def _settle_pool_named(self, name: str, *, known: bool = False) -> None:
        """A claim on a pool without slices lies on the node of the pool's name, if there is one."""
        waiting = [key for key in self._claimed.get(name, ()) if key not in self._homes]
        for key in waiting:
            self._place_again(key, known=known)

    # --- Slices
    def put_slice(self, part: Slice | Unread, *, known: bool = False) -> None:
        before = self._slices.get(part.uid)
        if before is not None:
            self._forget_slice(before)
        self._slices[part.uid] = part
        key = (part.driver, part.pool)
        self._pool_slices.setdefault(key, set()).add(part.uid)
        home = _home(part)
        self._lot(home, known=known).slices[part.uid] = part
        if self._homes.get(key) != home:
            self._homes[key] = home
            self._place_again(key, known=known)

    def drop_slice(self, uid: str) -> None:
        before = self._slices.pop(uid, None)
        if before is None:
            return
        self._forget_slice(before)
        key = (before.driver, before.pool)
        if not self._pool_slices.get(key):
            self._pool_slices.pop(key, None)
            self._homes.pop(key, None)
            self._place_again(key)

    def _forget_slice(self, part: Slice | Unread) -> None:
        self._lot(_home(part)).slices.pop(part.uid, None)
        self._pool_slices.get((part.driver, part.pool), set()).discard(part.uid)

    # --- Claims
    def put_claim(self, claim: ClaimUse, *, known: bool = False) -> None:
        self.drop_claim(claim.uid)
        if known:
            self._known_claims.add(claim.uid)
        self.claims[claim.uid] = claim
        self.claim_uids[claim.namespace, claim.name] = claim.uid
        for result in claim.results:
            key = (result.driver, result.pool)
            self._pool_claims.setdefault(key, set()).add(claim.uid)
            self._claimed.setdefault(result.pool, set()).add(key)
        self._place(claim, known=known)

    def drop_claim(self, uid: str) -> ClaimUse | None:
        self.moved.discard(uid)
        self._known_claims.discard(uid)
        before = self.claims.pop(uid, None)
        if before is None:
            return None
        if self.claim_uids.get((before.namespace, before.name)) == uid:
            del self.claim_uids[before.namespace, before.name]
        self._lift(uid)
        for result in before.results:
            key = (result.driver, result.pool)
            holders = self._pool_claims.get(key)
            if holders is not None:
                holders.discard(uid)
                if not holders:
                    del self._pool_claims[key]
                    self._claimed[result.pool].discard(key)
                    if not self._claimed[result.pool]:
                        del self._claimed[result.pool]
        return before

    def nodes_of(self, uid: str) -> tuple[str, ...]:
        """The nodes on which a claim's devices lie."""
        return self._places.get(uid, ())

    def _place(self, claim: ClaimUse, *, known: bool = False) -> None:
        if not claim.results:
            return
        parts = split(claim, self._homes, self.lots)
        for name, part in parts.items():
            self._lot(name, known=known).claims[claim.uid] = part
        self._places[claim.uid] = tuple(parts)

    def _lift(self, uid: str, *, known: bool = False) -> None:
        for name in self._places.pop(uid, ()):
            self._lot(name, known=known).claims.pop(uid, None)

    def _place_again(self, pool: tuple[str, str], *, known: bool = False) -> None:
        for uid in self._pool_claims.get(pool, ()):
            before = self._places.get(uid)
            is_still = known and uid in self._known_claims
            self._lift(uid, known=is_still)
            self._place(self.claims[uid], known=is_still)
            if self._places.get(uid) != before and not is_still:
                self.moved.add(uid)

    # --- Pods
    def put_pod(self, pod: PodUse, *, known: bool = False) -> None:
        self.drop_pod(pod.uid)
        self.pods[pod.uid] = pod
        self.pod_uids[pod.namespace, pod.name] = pod.uid
        if pod.node_name and (pod.requests or pod.serves):
            self._lot(pod.node_name, known=known).pods[pod.uid] = pod

    def drop_pod(self, uid: str) -> PodUse | None:
        before = self.pods.pop(uid, None)
        if before is None:
            return None
        if self.pod_uids.get((before.namespace, before.name)) == uid:
            del self.pod_uids[before.namespace, before.name]
        if before.node_name and (before.requests or before.serves):
            self._lot(before.node_name).pods.pop(uid, None)
        return before

    def pod_named(self, namespace: str, name: str) -> PodUse | None:
        uid = self.pod_uids.get((namespace, name))
        return self.pods.get(uid) if uid else None

    # --- Rules
    def put_rule(self, uid: str, rule: TaintRule | None, *, known: bool = False) -> None:
        """None is a rule that matches nothing."""
        self.drop_rule(uid)
        if rule is not None:
            self.rules[uid] = rule
            if not known:
                self._touch_matching(rule)

    def drop_rule(self, uid: str) -> None:
        before = self.rules.pop(uid, None)
        if before is not None:
            self._touch_matching(before)

    def _touch_matching(self, rule: TaintRule) -> None:
        for (driver, pool), home in self._homes.items():
            if rule.driver in ("", driver) and rule.pool in ("", pool):
                self.touched.add(home)

    # --- What an earlier process knew, and went before this one looked
    def miss(self, ghost: Node | Slice | ClaimUse | PodUse | TaintRule) -> None:
        """Touch what it lay on; all that is still there must have been put before."""
        if isinstance(ghost, Node):
            self.touched.add(ghost.name)
        elif isinstance(ghost, PodUse):
            self.touched.add(ghost.node_name)
        elif isinstance(ghost, ClaimUse):
            self.touched |= split(ghost, self._homes, self.lots).keys()
        elif isinstance(ghost, TaintRule):
            self._touch_matching(ghost)
        else:
            self.touched.add(home_of(ghost))
            for uid in self._pool_claims.get((ghost.driver, ghost.pool), ()):
                self.touched |= set(self._places.get(uid, ()))
                self.moved.add(uid)

    # --- Counting
    def count(self, name: str) -> NodeCount | None:
        """None when there is nothing to count: no node, no slices, no claims. Pods alone, which
        the cluster has yet to remove from a node that is gone, are nothing."""
        lot = self.lots.get(name)
        if lot is None or lot.is_empty:
            self.lots.pop(name, None)
            return None
        if lot.node is None and not lot.slices and not lot.claims:
            return None
        pools = lot.pools()
        self._slices |= lot.slices  # read by now
        return count_node(
            name,
            lot.node,
            pools,
            list(lot.claims.values()),
            list(lot.pods.values()),
            list(self.rules.values()),
        )

    def _lot(self, name: str, *, known: bool = False) -> Lot:
        """The lot of a node, which is about to change, or to be as it was known to be."""
        if not known:
            self.touched.add(name)
        lot = self.lots.get(name)
        if lot is None:
            lot = self.lots[name] = Lot()
        return lot


def _home(part: Slice | Unread) -> str:
    return part.node_name if isinstance(part, Unread) else home_of(part)
