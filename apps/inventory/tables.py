"""The lists of clusters, nodes and devices."""

from django.urls import NoReverseMatch, reverse

from apps.common.tables import Column, Table
from apps.inventory.filters import ClusterFilters, DeviceFilters, NodeFilters
from apps.inventory.models import Cluster, Device, Mode, Node
from apps.inventory.words import MODES, PATHS, cluster_word, device_word, node_word, state_of


def cluster_url(row: Cluster) -> str:
    return reverse("inventory:cluster", args=[row.slug])


def node_url(row: Node) -> str | None:
    if not row.name:
        return None
    return reverse("inventory:node", args=[row.cluster.slug, row.name])


def device_url(row: Device) -> str:
    return reverse("inventory:device", args=[row.pk])


def holder_url(row: Device) -> str | None:
    """The page of the first holder, which a higher room has."""
    if not row.holders or row.holders[0]["kind"] != "claim":
        return None
    try:
        return reverse("claims:by-uid", args=[row.cluster.slug, row.holders[0]["uid"]])
    except NoReverseMatch:
        return None


def _device_node_url(row: Device) -> str | None:
    if not row.node_name:
        return None
    return reverse("inventory:node", args=[row.cluster.slug, row.node_name])


def _mode_text(row: Device) -> str:
    """Such as "whole", "time-sliced" or "MIG 1g.10gb"."""
    return " ".join(part for part in (MODES.get(row.mode, row.mode), row.profile) if part)


def _first_fault(row: Node) -> str:
    more = f" (+{row.fault_count - 1})" if row.fault_count > 1 else ""
    return f"{row.faults[0]['message']}{more}" if row.faults else ""


CLUSTERS = Table(
    name="clusters",
    noun=("cluster", "clusters"),
    default_sort="slug",
    search=("slug", "name"),
    search_hint="Find by name",
    filters=ClusterFilters,
    columns=(
        Column(key="slug", title="Cluster", sort="slug", fixed=True, link=cluster_url),
        Column(key="name", title="Name"),
        Column(key="state", title="State", value=cluster_word, kind="state"),
        Column(key="heard_at", title="Last heard", kind="ago"),
        Column(key="mode", title="Mode", value=lambda row: Mode(row.mode).value, kind="state"),
        Column(key="version", title="Kubernetes", kind="mono"),
        Column(key="credentials_expire_at", title="Token ends", kind="moment"),
        Column(key="problem", title="Problem"),
        Column(key="server", title="Address", kind="mono", shown=False),
        Column(key="checked_at", title="Rights checked", kind="ago", shown=False),
    ),
    none_yet=(
        "No cluster is registered. Registering one only looks at it: nothing is changed there.",
        "inventory:cluster-new",
        "Register a cluster",
    ),
)

NODES = Table(
    name="nodes",
    noun=("node", "nodes"),
    default_sort="name",
    search=("name",),
    search_hint="Find by name",
    filters=NodeFilters,
    columns=(
        Column(
            key="name",
            title="Node",
            value=lambda row: row.name or "(no single node)",
            sort="name",
            fixed=True,
            link=node_url,
        ),
        Column(key="cluster", title="Cluster", value="cluster__slug"),
        Column(key="state", title="State", value=node_word, kind="state"),
        Column(key="product", title="Model", sort="product"),
        Column(
            key="physical",
            title="Cards",
            sort="physical",
            kind="amount",
            hint="Physical accelerators; a dash where nothing tells how many there are",
        ),
        Column(key="in_dra", title="In use, DRA", kind="amount"),
        Column(key="in_plugin", title="In use, plugin", kind="amount"),
        Column(key="free", title="Free", sort="free", kind="amount"),
        Column(key="unhealthy", title="Unhealthy", kind="amount"),
        Column(key="unknown", title="Unknown", kind="amount"),
        Column(
            key="path",
            title="Managed by",
            value=lambda row: PATHS.get(row.path, row.path),
            sort="path",
        ),
        Column(key="mig", title="MIG"),
        Column(key="faults", title="Needs a look", value=_first_fault, sort="fault_count"),
        Column(key="tenants", title="Holders", kind="amount", shown=False),
        Column(key="driver", title="Driver", shown=False),
        Column(key="driver_version", title="Version", kind="mono", shown=False),
        Column(key="node_pool", title="Node pool", shown=False),
        Column(key="zone", title="Zone", shown=False),
    ),
    none_yet=("No cluster has told of its nodes yet.", "inventory:clusters", "See the clusters"),
)

DEVICES = Table(
    name="devices",
    noun=("device", "devices"),
    default_sort="node",
    search=("node_name", "uuid", "holder"),
    search_hint="Find by node, UUID or holder",
    filters=DeviceFilters,
    status="state",
    statuses=[
        (state, device_word(state).capitalize())
        for state in ("dra", "device-plugin", "free", "blocked", "unhealthy", "unknown")
    ],
    columns=(
        Column(key="name", title="Device", fixed=True, link=device_url),
        Column(key="state", title="State", value=state_of, sort="state", kind="state"),
        Column(key="product", title="Model", sort="product"),
        Column(key="cluster", title="Cluster", value="cluster__slug"),
        Column(
            key="node", title="Node", value="node_name", sort="node_name", link=_device_node_url
        ),
        Column(key="mode", title="Mode", value=_mode_text),
        Column(key="path", title="Managed by", value=lambda row: PATHS.get(row.path, row.path)),
        Column(key="memory_mib", title="Memory", kind="amount", unit="MiB"),
        Column(key="holder", title="Held by", sort="holder", link=holder_url),
        Column(key="uuid", title="UUID", sort="uuid", kind="mono", shown=False),
        Column(key="profile", title="Profile", kind="mono", shown=False),
        Column(key="device_class", title="Class", shown=False),
        Column(key="driver", title="Driver", shown=False),
        Column(key="driver_version", title="Version", kind="mono", shown=False),
        Column(key="pool", title="Device pool", shown=False),
        Column(key="card", title="Card", kind="mono", shown=False),
        Column(key="pci_bus_id", title="PCI address", kind="mono", shown=False),
        Column(key="reason", title="Reason", shown=False),
    ),
    none_yet=("No cluster has told of its devices yet.", "inventory:clusters", "See the clusters"),
)
