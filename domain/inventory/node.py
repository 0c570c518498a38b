"""One node's count: its DRA side and its device-plugin side, joined.

Precedence of a card that is several things at once: unknown, unhealthy, in use (DRA before device
plugin), free. Both paths on one node is an error, since neither knows what the other hands out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from domain.accelerators import OTHER_DRIVERS
from domain.devices import ClaimUse, DevicePool, Node, PodUse, TaintRule
from domain.inventory.counts import Card, Fault, NodeCount, Path, State
from domain.inventory.plugged import Plugged, labels_of, plugged
from domain.inventory.published import Published, published


def count_node(
    name: str,
    node: Node | None,
    pools: Sequence[DevicePool],
    claims: Sequence[ClaimUse],
    pods: Sequence[PodUse],
    rules: Sequence[TaintRule] = (),
) -> NodeCount:
    """Count a node from everything that lies on it. `node` is None when the cluster has no such
    node (any more), or for devices that no node owns (then `name` is "")."""
    doubt = _doubt(name, node)
    pools = [pool for pool in pools if pool.driver not in OTHER_DRIVERS]
    dra = published(pools, claims, rules, doubt=doubt or _silent(pods, "dra"))
    tenants = sum(max(1, len(claim.pods)) for claim in claims if _holds(claim))
    if node is None:
        return NodeCount(name, tuple(dra.cards), tuple(dra.units), tuple(dra.faults), 0, tenants)
    plugin = plugged(node, pods, doubt=doubt or _silent(pods, "device-plugin"))
    return _joined(node, dra, plugin, tenants)


def _doubt(name: str, node: Node | None) -> str:
    if node is None:
        return "the cluster has no node of this name" if name else ""
    return "" if node.is_ready else "the node is not ready"


def _silent(pods: Sequence[PodUse], path: str) -> str:
    """Why a path is in doubt: its driver's pod is here and not ready. No pod seen proves nothing:
    the driver may run outside of Kubernetes."""
    ready = [pod.is_ready for pod in pods if pod.serves == path]
    return "its driver's pod is not ready" if ready and not any(ready) else ""


def _holds(claim: ClaimUse) -> bool:
    return any(
        not result.is_admin and result.driver not in OTHER_DRIVERS for result in claim.results
    )


def _joined(node: Node, dra: Published, plugin: Plugged, tenants: int) -> NodeCount:
    faults = [*dra.faults, *plugin.faults]
    tenants += plugin.tenants
    units = (*dra.units, *plugin.units)
    if not dra.cards:
        alone = None if plugin.cards is None else tuple(plugin.cards)
        return NodeCount(node.name, alone, units, tuple(faults), plugin.at_least, tenants)
    is_both = plugin.is_offered or plugin.held > 0
    told = plugin.cards or []
    cards = _shared_cards(dra.cards, plugin.held) if is_both else list(dra.cards)
    cards += _unpublished(node, len(cards), told if is_both else [])
    if is_both and not node.hami_cards:
        faults += _clash(cards, plugin.held)
    # Slices name the cards, so that the labels do not count them is no matter here.
    faults = [fault for fault in faults if fault.code != "cards-untold"]
    return NodeCount(node.name, tuple(cards), units, tuple(faults), 0, tenants)


def _clash(cards: list[Card], held: int) -> list[Fault]:
    found = [
        Fault(
            "both-paths",
            "DRA and the device plugin both hand out this node's cards, and neither knows "
            "what the other gave away. Take one of them off the node.",
        )
    ]
    if held > sum(card.state is State.PLUGIN for card in cards):
        found.append(
            Fault(
                "double-use",
                f"Pods hold {held} cards through the device plugin, more than claims leave: "
                "some card is given away twice.",
            )
        )
    return found


def _shared_cards(cards: list[Card], held: int) -> list[Card]:
    """Mark the cards of a node with both paths. Which card a pod got is not told, so free ones
    are taken for used first; what is left over must lie on cards that claims hold too."""
    found = []
    for card in cards:
        if held > 0 and card.state is State.FREE:
            held -= 1
            card = replace(card, state=State.PLUGIN, is_exact=False)
        found.append(replace(card, path=Path.BOTH))
    return found


def _unpublished(node: Node, known: int, told: list[Card]) -> list[Card]:
    """Cards that the labels or the plugin count, and the DRA driver does not publish.

    A card in MIG mode without a partition is such a one: nobody offers it.
    """
    labels = labels_of(node)
    counted = len(told)
    if labels.count is not None and not labels.is_single_mig:
        counted = max(counted, labels.count)
    return [
        Card(
            key=f"card-{place}",
            state=State.UNKNOWN,
            path=Path.NONE if not told else Path.BOTH,
            product=labels.model,
            reason="the labels count it, but no driver publishes it",
        )
        for place in range(known, counted)
    ]
