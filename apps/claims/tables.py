from django.urls import reverse

from apps.claims.filters import ClaimFilters
from apps.claims.models import Claim
from apps.common.tables import Column, Table


def claim_word(row: Claim) -> str:
    """The words of the filter, in lower case, as apps.common.icons knows them."""
    return str(Claim.State(row.state).label).lower()


def claim_url(row: Claim) -> str:
    return reverse("claims:detail", args=[row.pk])


def node_url(row: Claim) -> str | None:
    if not row.node_name or "," in row.node_name:
        return None
    return reverse("inventory:node", args=[row.cluster.slug, row.node_name])


CLAIMS = Table(
    name="claims",
    noun=("claim", "claims"),
    default_sort="-created",
    search=("name", "namespace"),
    search_hint="Find by name or namespace",
    filters=ClaimFilters,
    status="state",
    statuses=[
        (one.value, str(one.label))
        for one in (
            Claim.State.PENDING,
            Claim.State.RESERVED,
            Claim.State.ALLOCATED,
            Claim.State.DELETING,
        )
    ],
    columns=(
        Column(key="name", title="Claim", sort="name", fixed=True, link=claim_url),
        Column(key="namespace", title="Namespace", sort="namespace"),
        Column(key="state", title="State", value=claim_word, sort="state", kind="state"),
        Column(key="device_class", title="Class", sort="device_class"),
        Column(key="devices", title="Devices", kind="amount"),
        Column(key="node", title="Node", value="node_name", sort="node_name", link=node_url),
        Column(key="pods", title="Pods", value=lambda row: ", ".join(row.pods)),
        Column(key="tenant", title="Tenant", sort="tenant"),
        Column(key="deployment", title="Deployment"),
        Column(key="created", title="Age", value="created_at", sort="created_at", kind="age"),
        Column(key="cluster", title="Cluster", value="cluster__slug"),
        Column(key="allocated_at", title="Allocated", kind="ago", shown=False),
        Column(key="idle_since", title="Unused since", kind="ago", shown=False),
        Column(key="model_pool", title="Model pool", shown=False),
    ),
    none_yet=("No claim is in any cluster that you may see.", "", ""),
)
