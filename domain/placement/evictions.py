"""Which claims would have to end, or move, for others to fit."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from domain.placement.claims import Held
from domain.placement.devices import PoolID
from domain.placement.features import Features
from domain.placement.fleet import Change, Delete, Fleet, apply_all
from domain.placement.placing import place
from domain.placement.sequence import Sequencer
from domain.placement.trials import OutOfTries, Raw, Trials, Wanted

MOST_NODES = 8
MOST_SINGLES = 16


@dataclass(frozen=True, slots=True)
class Eviction:
    """If `ends` were gone, it would fit on `node`; no smaller part of them is enough.

    moves: where each of them would go, in the order of `ends`, if all found another place.
    """

    node: str
    ends: tuple[Held, ...]
    moves: tuple[str, ...] = ()


def ended(held: Iterable[Held]) -> Iterator[Change]:
    """What goes away with claims: they, and the pods that use them."""
    for one in held:
        yield Delete("ResourceClaim", one.namespace, one.name)
        for pod in pods_of(one):
            yield Delete("Pod", one.namespace, pod)


def pods_of(held: Held) -> list[str]:
    users = (held.raw.get("status") or {}).get("reservedFor") or ()
    return [str(one.get("name")) for one in users if one.get("resource") == "pods"]


def smallest(
    trials: Trials, wanted: Wanted, namespaces: Container[str] | None = None
) -> Eviction | None:
    """The fewest claims found, looking at the nodes with the fewest first.

    namespaces: only claims of these may end; None for all.

    Kept from `trials`: what it found before the tries ran out; raises OutOfTries with nothing.
    """
    own = {_key(claim) for claim in wanted.claims}
    holders = [
        one
        for key, one in trials.fleet.claims.items()
        if one.holdings and key not in own and (namespaces is None or one.namespace in namespaces)
    ]
    nowhere_else = apply_all(trials.fleet, ended(holders))
    possible = trials.where(wanted, nowhere_else)
    by_node = _by_node(trials.fleet, holders)
    best: Eviction | None = None
    order = sorted((node for node in possible if by_node[node]), key=lambda n: len(by_node[n]))
    try:
        for node in order[:MOST_NODES]:
            found = _minimal(trials, wanted, node, by_node[node])
            if found and (best is None or len(found) < len(best.ends)):
                best = Eviction(node, tuple(found))
            if best and len(best.ends) == 1:
                break
    except OutOfTries:
        if best is None:
            raise
    return best


def _key(claim: Raw) -> tuple[str, str]:
    meta = claim.get("metadata") or {}
    return str(meta.get("namespace") or ""), str(meta.get("name") or "")


def _by_node(fleet: Fleet, holders: Iterable[Held]) -> dict[str, list[Held]]:
    """Claims by the node whose devices they hold; of devices of no one node, under every node."""
    homes: dict[PoolID, set[str]] = defaultdict(set)
    for one in fleet.slices.by_name.values():
        homes[one.pool].add(one.reach.node_name)
    found: dict[str, list[Held]] = defaultdict(list)
    for held in sorted(holders, key=lambda one: (one.namespace, one.name)):
        nodes: set[str] = set()
        for holding in held.holdings:
            home = homes[PoolID(holding.device.driver, holding.device.pool)]
            nodes |= set(fleet.nodes) if "" in home else home
        for node in nodes:
            found[node].append(held)
    return found


def _minimal(
    trials: Trials, wanted: Wanted, node: str, holders: Sequence[Held]
) -> list[Held] | None:
    def without(gone: Sequence[Held]) -> bool:
        return bool(trials.where(wanted, apply_all(trials.fleet, ended(gone)), [node]))

    if not without(holders):
        return None
    for one in holders[:MOST_SINGLES]:
        if without([one]):
            return [one]
    needed = list(holders)
    for one in holders:
        fewer = [other for other in needed if other is not one]
        if fewer and without(fewer):
            needed = fewer
    return needed


def moved(fleet: Fleet, features: Features, wanted: Wanted, found: Eviction) -> Eviction:
    """The same with `moves`, if the engine finds another place for everything that would end."""
    after = apply_all(fleet, ended(found.ends))
    decision = place(after, wanted.claims, [found.node], "first", features)[0]
    if not decision.fits:
        return found
    run = Sequencer(after, features, [after.nodes[name] for name in sorted(after.nodes)])
    run.keep(decision)
    moves = []
    for one in found.ends:
        again = run.add([one.raw])
        if not again.fits:
            return found
        moves.append(again.node)
    return Eviction(found.node, found.ends, tuple(moves))
