"""A whole cluster's count, node by node."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field, replace

from domain.devices import ClaimUse, Node, PodUse, Result, Slice, Snapshot, pools_of
from domain.inventory.counts import NodeCount
from domain.inventory.node import count_node

Homes = dict[tuple[str, str], str]


@dataclass(slots=True)
class _Lot:
    """What lies on one node."""

    node: Node | None = None
    slices: list[Slice] = field(default_factory=list)
    claims: list[ClaimUse] = field(default_factory=list)
    pods: list[PodUse] = field(default_factory=list)


def count(snapshot: Snapshot) -> list[NodeCount]:
    """Count every node, and under "" the devices that no node owns, if there are any."""
    lots: dict[str, _Lot] = {node.name: _Lot(node) for node in snapshot.nodes}
    homes: Homes = {}
    for part in snapshot.slices:
        name = home_of(part)
        homes[part.driver, part.pool] = name
        lots.setdefault(name, _Lot()).slices.append(part)
    for claim in snapshot.claims:
        for name, its_part in split(claim, homes, lots).items():
            lots.setdefault(name, _Lot()).claims.append(its_part)
    for pod in snapshot.pods:
        if pod.node_name:
            lots.setdefault(pod.node_name, _Lot()).pods.append(pod)
    return [
        count_node(name, lot.node, pools_of(lot.slices), lot.claims, lot.pods, snapshot.rules)
        for name, lot in sorted(lots.items())
    ]


def home_of(part: Slice) -> str:
    """The node a slice belongs to; one whose devices name their nodes goes by the first of them
    only when all agree."""
    if part.node_name:
        return part.node_name
    names = {device.node_name for device in part.devices}
    return names.pop() if len(names) == 1 else ""


def split(claim: ClaimUse, homes: Homes, known: Container[str]) -> dict[str, ClaimUse]:
    """The claim's results by the node that their devices lie on: by their pool, else by a pool
    named like a node, else by the node that the allocation is bound to."""
    found: dict[str, list[Result]] = {}
    for result in claim.results:
        home = homes.get((result.driver, result.pool))
        if home is None:
            home = result.pool if result.pool in known else claim.node_name
        found.setdefault(home, []).append(result)
    if len(found) <= 1:
        return dict.fromkeys(found, claim)
    return {name: replace(claim, results=tuple(results)) for name, results in found.items()}
