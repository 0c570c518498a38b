"""A node's count as the rows that lists show."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from hashlib import blake2b
from typing import Any

import orjson

from domain.devices import DevicePool, Node, PodUse
from domain.inventory import Card, DeviceUse, Holder, NodeCount, State, Unit, facts_of

# The longest text that an index of PostgreSQL surely takes; real values are far shorter.
LONGEST = 500

NODE_COLUMNS = (
    "cluster_id",
    "name",
    "uid",
    "is_ready",
    "is_schedulable",
    "path",
    "has_cards",
    "physical",
    "unknown",
    "unhealthy",
    "in_dra",
    "in_plugin",
    "free",
    "at_least",
    "tenants",
    "product",
    "driver",
    "driver_version",
    "mig",
    "node_pool",
    "zone",
    "facts",
    "units",
    "faults",
    "fault_count",
    "digest",
)
DEVICE_COLUMNS = (
    "cluster_id",
    "node_name",
    "driver",
    "pool",
    "name",
    "card",
    "is_card",
    "card_state",
    "type",
    "path",
    "mode",
    "state",
    "uuid",
    "profile",
    "product",
    "memory_mib",
    "pci_bus_id",
    "numa_node",
    "driver_version",
    "reason",
    "taints",
    "holder",
    "device_class",
    "holders",
    "is_exact",
    "is_blocked",
    "is_vanished",
)
DEVICE_KEY = ("cluster_id", "node_name", "driver", "pool", "name")
BLOCKED = "blocked"

Row = tuple[Any, ...]


def node_row(
    cluster_id: int,
    count: NodeCount,
    node: Node | None,
    pools: Sequence[DevicePool],
    pods: Iterable[PodUse],
    devices: Sequence[Row],
) -> Row:
    """The row of a node; its digest is of the row and of its devices' rows."""
    facts = facts_of(node, pools, pods)
    tally = None if count.cards is None else count.tally
    body = (
        cluster_id,
        count.node,
        node.uid if node else "",
        bool(node and node.is_ready),
        bool(node and node.is_schedulable),
        count.path.value,
        count.cards is None or bool(count.cards),
        tally and tally.physical,
        tally and tally.unknown,
        tally and tally.unhealthy,
        tally and tally.dra,
        tally and tally.plugin,
        tally and tally.free,
        count.at_least,
        count.tenants,
        _short(facts.product),
        _short(facts.driver),
        _short(facts.driver_version),
        _short(facts.mig),
        _short(facts.node_pool),
        _short(facts.zone),
        _json(asdict(facts)),
        _json([_unit(unit) for unit in count.units]),
        _json([asdict(fault) for fault in count.faults]),
        len(count.faults),
    )
    digest = blake2b(repr((body, devices)).encode(), digest_size=12).hexdigest()
    return (*body, digest)


def device_rows(cluster_id: int, count: NodeCount) -> list[Row]:
    """One row for every published device, and one for each card behind a device plugin."""
    rows: list[Row] = []
    for card in count.cards or ():
        if not card.devices:
            rows.append(_plugin_row(cluster_id, count.node, card))
            continue
        main = next((use for use in card.devices if not use.device.profile), card.devices[0])
        rows += [_device_row(cluster_id, count.node, card, use, main) for use in card.devices]
    return rows


def _device_row(cluster_id: int, node: str, card: Card, use: DeviceUse, main: DeviceUse) -> Row:
    device = use.device
    state = State.UNKNOWN if card.state is State.UNKNOWN else use.state
    if use is main and card.path.value == "both" and card.state is State.PLUGIN:
        state = State.PLUGIN  # which card a pod holds is not told: this one may be it
    holders = use.holders
    return (
        cluster_id,
        node,
        use.driver,
        use.pool,
        device.name,
        _short(card.key),
        use is main,
        card.state.value,
        _short(device.type),
        card.path.value,
        card.mode,
        BLOCKED if use.is_blocked and state is State.FREE else state.value,
        _short(device.uuid),
        _short(device.profile),
        _short(device.product or card.product),
        device.memory_mib,
        _short(device.pci_bus_id),
        device.numa_node,
        _short(device.driver_version),
        _short(card.reason),
        _json(use.taints) if use.taints else "[]",
        _short(f"{holders[0].namespace}/{holders[0].name}") if holders else "",
        _short(holders[0].device_class) if holders else "",
        _json([_holder(one) for one in holders]) if holders else "[]",
        card.is_exact,
        use.is_blocked,
        use.is_vanished,
    )


def _plugin_row(cluster_id: int, node: str, card: Card) -> Row:
    return (
        cluster_id,
        node,
        "",
        "",
        card.key[:LONGEST],
        card.key[:LONGEST],
        True,
        card.state.value,
        "gpu",
        card.path.value,
        card.mode,
        card.state.value,
        card.key if card.key.startswith("GPU-") else "",
        "",
        _short(card.product),
        card.memory_mib,
        "",
        None,
        "",
        _short(card.reason),
        "[]",
        "",
        "",
        "[]",
        card.is_exact,
        False,
        False,
    )


# Spelled out, since dataclasses.asdict copies deeply, which takes a while for 80,000 devices.
def _holder(holder: Holder) -> dict[str, Any]:
    return {
        "kind": holder.kind,
        "uid": holder.uid,
        "namespace": holder.namespace,
        "name": holder.name,
        "device_class": holder.device_class,
        "share_id": holder.share_id,
        "tenants": holder.tenants,
        "consumed": dict(holder.consumed),
    }


def _unit(unit: Unit) -> dict[str, Any]:
    return {
        "path": unit.path.value,
        "name": unit.name,
        "total": unit.total,
        "used": unit.used,
        "further": unit.further,
        "unhealthy": unit.unhealthy,
    }


def _short(text: str) -> str:
    return text.replace("\0", "\ufffd")[:LONGEST]


def _json(value: object) -> str:
    return orjson.dumps(value).decode().replace("\\u0000", "\\ufffd")
