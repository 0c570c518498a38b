"""The lists of the API: those of the pages, and two that are parts of other pages."""

import django_filters as filters

from apps.catalog.tables import APPROVALS, CLASSES, PATTERNS
from apps.claims.tables import CLAIMS
from apps.common.tables import Column, Table
from apps.deployments import tables as deployments
from apps.deployments.filters import DeploymentFilters
from apps.inventory.tables import CLUSTERS, DEVICES, NODES
from apps.rollouts.tables import MIGRATIONS
from apps.tenancy.tables import TENANTS

__all__ = [
    "APPROVALS",
    "CLAIMS",
    "CLASSES",
    "CLUSTERS",
    "DECISIONS",
    "DELIVERIES",
    "DEPLOYMENTS",
    "DEVICES",
    "MEMBERS",
    "MIGRATIONS",
    "NODES",
    "PATTERNS",
    "QUOTAS",
    "SAMPLES",
    "TENANTS",
]


class MemberFilters(filters.FilterSet):
    user = filters.CharFilter(field_name="user__username", label="Login name")


class QuotaFilters(filters.FilterSet):
    tenant = filters.CharFilter(field_name="tenant__slug", label="Tenant")
    cluster = filters.CharFilter(field_name="cluster__slug", label="Cluster")
    device_class = filters.CharFilter(field_name="device_class__name", label="Class")


class DecisionFilters(filters.FilterSet):
    action = filters.CharFilter(label="Action")


class SampleFilters(filters.FilterSet):
    gate = filters.CharFilter(label="Gate")
    verdict = filters.CharFilter(label="Verdict")


class DeliveryFilters(filters.FilterSet):
    point = filters.CharFilter(label="Point")
    state = filters.CharFilter(label="State")


class AllDeploymentFilters(DeploymentFilters):
    tenant = filters.CharFilter(field_name="tenant__slug", label="Tenant")


MEMBERS = Table(
    name="members",
    noun=("member", "members"),
    default_sort="id",
    search=("user__username",),
    filters=MemberFilters,
    columns=(),
)
QUOTAS = Table(
    name="quotas", noun=("quota", "quotas"), default_sort="id", filters=QuotaFilters, columns=()
)
DECISIONS = Table(
    name="decisions",
    noun=("decision", "decisions"),
    default_sort="-id",
    filters=DecisionFilters,
    columns=(),
)
DELIVERIES = Table(
    name="deliveries",
    noun=("delivery", "deliveries"),
    default_sort="-id",
    filters=DeliveryFilters,
    columns=(),
)
SAMPLES = Table(
    name="samples",
    noun=("sample", "samples"),
    default_sort="-id",
    filters=SampleFilters,
    columns=(),
)
DEPLOYMENTS = Table(
    name="deployments",
    noun=("deployment", "deployments"),
    default_sort="name",
    search=deployments.DEPLOYMENTS.search,
    filters=AllDeploymentFilters,
    columns=[
        *(column for column in deployments.DEPLOYMENTS.columns if column.sort),
        Column(key="created", title="Created", sort="created_at"),
    ],
)
