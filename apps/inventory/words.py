"""How the states of cards, devices and nodes are called on pages: see apps.common.icons."""

from apps.inventory.models import Cluster, Device, Node
from apps.inventory.selectors import freshness_of

_DEVICE = {
    "dra": "in use (dra)",
    "device-plugin": "in use (device plugin)",
    "blocked": "blocked",
}
PATHS = {
    "dra": "DRA",
    "device-plugin": "Device plugin",
    "both": "Both!",
    "none": "None",
}
MODES = {
    "whole": "whole",
    "mig": "MIG",
    "partitions": "partitions",
    "time-slicing": "time-sliced",
    "mps": "MPS",
    "shared": "shared",
}


def device_word(state: str) -> str:
    return _DEVICE.get(state, state)


def state_of(device: Device) -> str:
    return "vanished" if device.is_vanished else device_word(device.state)


def node_word(node: Node) -> str:
    if not node.uid:
        return "lost"
    if not node.is_ready:
        return "not ready"
    return "ready" if node.is_schedulable else "cordoned"


def cluster_word(cluster: Cluster) -> str:
    """The state of the connection to a cluster."""
    if cluster.retired_at is not None:
        return "retired"
    kind = freshness_of(cluster).kind
    return {"live": "connected", "stale": "stale", "waiting": "waiting"}.get(kind, "lost")
