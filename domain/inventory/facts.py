"""What a node tells of itself beyond its numbers: driver, plugin, MIG layout, place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.accelerators import OTHER_DRIVERS
from domain.devices import NO_LABELS, DevicePool, Node
from domain.inventory.plugged import MIG_STATE, PRODUCT, SHARING, STRATEGY

_POOL_LABELS = (
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "karpenter.sh/nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "hypershift.openshift.io/nodePool",
    "claimyard.dev/node-pool",
)
_DRIVER_LABELS = ("nvidia.com/cuda.driver-version.full", "amd.com/gpu.driver-version")


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Each "" where the node does not tell."""

    product: str = ""
    driver: str = ""  # who hands the cards out: a DRA driver's name, or "device plugin"
    driver_version: str = ""
    plugin_config: str = ""
    mig: str = ""
    sharing: str = ""
    cdi: str = ""
    node_pool: str = ""
    zone: str = ""
    instance_type: str = ""
    clique: str = ""


def facts_of(node: Node | None, pools: Sequence[DevicePool]) -> NodeFacts:
    """From the node's labels and what its drivers publish; the driver's word goes first."""
    labels = node.labels if node else NO_LABELS
    pools = [pool for pool in pools if pool.driver not in OTHER_DRIVERS]
    devices = [device for pool in pools for part in pool.known for device in part.devices]
    products = sorted({device.product for device in devices if device.product})
    versions = sorted({device.driver_version for device in devices if device.driver_version})
    drivers = sorted({pool.driver for pool in pools})
    if node and node.allocatable:
        drivers.append("device plugin")
    return NodeFacts(
        product=", ".join(products) or labels.get(PRODUCT, ""),
        driver=", ".join(drivers),
        driver_version=", ".join(versions) or _first(labels, _DRIVER_LABELS),
        plugin_config=labels.get("nvidia.com/device-plugin.config", ""),
        mig=_mig(labels),
        sharing=labels.get(SHARING, ""),
        # A DRA driver hands devices to containers by CDI and in no other way.
        cdi="used by the DRA driver" if pools else "",
        node_pool=_first(labels, _POOL_LABELS),
        zone=labels.get("topology.kubernetes.io/zone", ""),
        instance_type=labels.get("node.kubernetes.io/instance-type", ""),
        clique=labels.get("nvidia.com/gpu.clique", ""),
    )


def _mig(labels: Mapping[str, str]) -> str:
    """Such as "mixed: all-balanced (success)"."""
    strategy, layout = labels.get(STRATEGY, ""), labels.get("nvidia.com/mig.config", "")
    state = labels.get(MIG_STATE, "")
    if strategy in ("", "none") and layout in ("", "all-disabled"):
        return ""
    text = ": ".join(part for part in (strategy, layout) if part)
    return f"{text} ({state})" if state else text


def _first(labels: Mapping[str, str], names: Sequence[str]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")
