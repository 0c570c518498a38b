"""In which orders the API's lists come, what their search looks at, and what narrows them."""

import django_filters as filters

from apps.catalog.models import Approval, VersionState
from apps.claims.models import Claim
from apps.common.tables import Column, Table
from apps.deployments.models import Runtime
from apps.inventory.models import Mode
from domain.inventory.counts import Path, State


def ordered(
    default: str,
    *,
    search: tuple[str, ...] = (),
    narrowed: type[filters.FilterSet] | None = None,
    **sorts: str,
) -> Table:
    """A Table of which only orders, search and filters are used."""
    columns = [Column(key=key, title=key, sort=field) for key, field in sorts.items()]
    return Table(
        name="",
        noun=("", ""),
        columns=columns,
        default_sort=default,
        search=search,
        filters=narrowed,
    )


def text(field: str = "", label: str = "") -> filters.CharFilter:
    return filters.CharFilter(field_name=field or None, label=label)


class _Filters(filters.FilterSet):
    """Filters without a form: an unknown value finds nothing, a malformed one is a problem."""


class ClusterFilters(_Filters):
    mode = filters.ChoiceFilter(choices=Mode.choices)
    retired = filters.BooleanFilter(
        field_name="retired_at", lookup_expr="isnull", exclude=True, label="Only retired, or none."
    )


class NodeFilters(_Filters):
    cluster = text("cluster__slug", "Slug of the cluster.")
    product = text(label="Product name of its cards.")
    path = filters.ChoiceFilter(choices=[(path.value, path.value) for path in Path])
    ready = filters.BooleanFilter(field_name="is_ready")
    has_cards = filters.BooleanFilter()
    faulty = filters.BooleanFilter(field_name="fault_count", lookup_expr="gt", label="Has faults.")


class DeviceFilters(_Filters):
    cluster = text("cluster__slug", "Slug of the cluster.")
    node = text("node_name", "Name of the node.")
    driver = text()
    pool = text(label="Device pool.")
    product = text()
    device_class = text(label="DeviceClass through which it is held.")
    state = filters.ChoiceFilter(choices=[(state.value, state.value) for state in State])


class ClaimFilters(_Filters):
    cluster = text("cluster__slug", "Slug of the cluster.")
    namespace = text()
    tenant = text(label="Slug of the tenant.")
    deployment = text()
    node = text("node_name", "Node of its devices.")
    device_class = text()
    state = filters.ChoiceFilter(choices=Claim.State.choices)


class VersionedFilters(_Filters):
    state = filters.ChoiceFilter(
        field_name="versions__state",
        choices=VersionState.choices,
        distinct=True,
        label="Has a version in this state.",
    )


class ApprovalFilters(_Filters):
    state = filters.ChoiceFilter(choices=Approval.State.choices)


class TenantFilters(_Filters):
    retired = filters.BooleanFilter(
        field_name="retired_at", lookup_expr="isnull", exclude=True, label="Only retired, or none."
    )


class MemberFilters(_Filters):
    user = text("user__username", "Login name.")


class QuotaFilters(_Filters):
    tenant = text("tenant__slug", "Slug of the tenant.")
    cluster = text("cluster__slug", "Slug of the cluster.")
    device_class = text("device_class__name", "Name of the class.")


class DeploymentFilters(_Filters):
    tenant = text("tenant__slug", "Slug of the tenant.")
    cluster = text("cluster__slug", "Slug of the cluster.")
    runtime = filters.ChoiceFilter(choices=Runtime.choices)
    retired = filters.BooleanFilter(
        field_name="retired_at", lookup_expr="isnull", exclude=True, label="Only retired, or none."
    )


CLUSTERS = ordered("name", search=("slug", "name"), narrowed=ClusterFilters, name="slug")
NODES = ordered(
    "name",
    search=("name",),
    narrowed=NodeFilters,
    name="name",
    product="product",
    path="path",
    free="free",
    physical="physical",
)
DEVICES = ordered(
    "id",
    search=("name", "uuid", "node_name"),
    narrowed=DeviceFilters,
    node="node_name",
    state="state",
    product="product",
    uuid="uuid",
)
CLAIMS = ordered(
    "-created",
    search=("name", "namespace"),
    narrowed=ClaimFilters,
    created="created_at",
    name="name",
    namespace="namespace",
    state="state",
    device_class="device_class",
    node="node_name",
)
CLASSES = ordered("name", search=("name", "description"), narrowed=VersionedFilters, name="name")
PATTERNS = ordered("name", search=("slug", "name"), narrowed=VersionedFilters, name="slug")
APPROVALS = ordered("-id", narrowed=ApprovalFilters)
TENANTS = ordered("slug", search=("slug", "name"), narrowed=TenantFilters, slug="slug", name="name")
MEMBERS = ordered("id", search=("user__username",), narrowed=MemberFilters)
QUOTAS = ordered("id", narrowed=QuotaFilters)
DEPLOYMENTS = ordered(
    "name",
    search=("name", "model", "image"),
    narrowed=DeploymentFilters,
    name="name",
    created="created_at",
)
