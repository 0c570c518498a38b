"""What a node tells of itself beyond its numbers: driver, plugin, MIG layout, place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from domain.accelerators import OTHER_DRIVERS
from domain.devices import NO_LABELS, Device, DevicePool, Node, PodUse
from domain.inventory.plugged import MIG_STATE, SHARING, STRATEGY, labels_of

_POOL_LABELS = (
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "karpenter.sh/nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "hypershift.openshift.io/nodePool",
    "claimyard.dev/node-pool",
)
# The networks that a node hangs on, the widest first, by the providers' labels.
_NETWORK_LABELS = (
    "topology.k8s.aws/network-node-layer-1",
    "topology.k8s.aws/network-node-layer-2",
    "topology.k8s.aws/network-node-layer-3",
    "cloud.google.com/gce-topology-block",
    "cloud.google.com/gce-topology-subblock",
    "cloud.google.com/gce-topology-host",
    "oci.oraclecloud.com/rdma.hpc_island_id",
    "oci.oraclecloud.com/rdma.network_block_id",
    "oci.oraclecloud.com/rdma.local_block_id",
)
_DRIVER_LABELS = ("nvidia.com/cuda.driver-version.full", "amd.com/gpu.driver-version")


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """Each "" where the node does not tell."""

    product: str = ""
    driver: str = ""  # who hands the cards out: a DRA driver's name, or "device plugin"
    driver_version: str = ""
    serving: str = ""  # the drivers' own pods here, as image:tag
    plugin_config: str = ""
    mig: str = ""
    sharing: str = ""
    cdi: str = ""
    node_pool: str = ""
    region: str = ""
    zone: str = ""
    network: str = ""  # the parts of the network it hangs on, the widest first
    numa: str = ""  # NUMA nodes and PCIe roots that its cards lie on
    instance_type: str = ""
    clique: str = ""


def facts_of(
    node: Node | None, pools: Sequence[DevicePool], pods: Iterable[PodUse] = ()
) -> NodeFacts:
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
        product=", ".join(products) or (labels_of(node).model if node else ""),
        driver=", ".join(drivers),
        driver_version=", ".join(versions) or _first(labels, _DRIVER_LABELS),
        serving=", ".join(sorted({_tagged(pod.image) for pod in pods if pod.image})),
        plugin_config=labels.get("nvidia.com/device-plugin.config", ""),
        mig=_mig(labels),
        sharing=labels.get(SHARING, ""),
        # A DRA driver hands devices to containers by CDI and in no other way.
        cdi="used by the DRA driver" if pools else "",
        node_pool=_first(labels, _POOL_LABELS),
        region=labels.get("topology.kubernetes.io/region", ""),
        zone=labels.get("topology.kubernetes.io/zone", ""),
        network=" / ".join(labels[key] for key in _NETWORK_LABELS if labels.get(key)),
        numa=_numa(devices),
        instance_type=labels.get("node.kubernetes.io/instance-type", ""),
        clique=labels.get("nvidia.com/gpu.clique", ""),
    )


def _tagged(image: str) -> str:
    """The image without its registry and digest: "k8s-device-plugin:v0.18.0"."""
    return image.partition("@")[0].rpartition("/")[2]


def _numa(devices: Sequence[Device]) -> str:
    """Such as "NUMA nodes 0, 1; 4 PCIe roots"."""
    numa = sorted({one.numa_node for one in devices if one.numa_node is not None})
    roots = {one.pcie_root for one in devices if one.pcie_root}
    parts = []
    if numa:
        noun = "NUMA node" if len(numa) == 1 else "NUMA nodes"
        parts.append(f"{noun} {', '.join(str(one) for one in numa)}")
    if roots:
        parts.append(f"{len(roots)} PCIe root{'' if len(roots) == 1 else 's'}")
    return "; ".join(parts)


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
