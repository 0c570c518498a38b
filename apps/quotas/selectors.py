"""Reading limits and their use."""

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Count, Max, QuerySet, Sum

from apps.catalog import selectors as catalog
from apps.inventory.models import Cluster
from apps.quotas.models import Charge, Quota, TenantNamespace
from apps.tenancy import oidc
from apps.tenancy.models import Tenant
from domain import quota
from domain.policies import TenantSpace


def namespace_of(tenant: Tenant, cluster: Cluster) -> TenantNamespace | None:
    """The namespace in which the tenant may deploy; None for one that is being taken back."""
    return TenantNamespace.objects.filter(tenant=tenant, cluster=cluster, leaving_at=None).first()


def clusters() -> list[Cluster]:
    return list(Cluster.objects.filter(retired_at=None))


def namespaces_of(tenant: Tenant) -> QuerySet[TenantNamespace]:
    return TenantNamespace.objects.filter(tenant=tenant).select_related("cluster")


def clusters_of(tenant: Tenant) -> QuerySet[Cluster]:
    """Clusters in which the tenant has a namespace to deploy in."""
    mine = TenantNamespace.objects.filter(tenant=tenant, leaving_at=None)
    return Cluster.objects.filter(retired_at=None, pk__in=mine.values("cluster"))


def limits_of(tenant: Tenant, cluster: Cluster) -> dict[str, int]:
    found = Quota.objects.filter(tenant=tenant, cluster=cluster)
    return dict(found.values_list("device_class__name", "limit"))


def used_by(tenant: Tenant, cluster: Cluster, *, except_holder: str = "") -> dict[str, int]:
    found = Charge.objects.filter(tenant=tenant, cluster=cluster).exclude(holder=except_holder)
    summed = found.order_by().values("class_name").annotate(amount=Sum("amount"))
    return {row["class_name"]: row["amount"] for row in summed}


def lines_of(tenant: Tenant, cluster: Cluster, asked: quota.Amounts) -> list[quota.Line]:
    """The quota before and after `asked` more."""
    return quota.lines(
        limits=limits_of(tenant, cluster), used=used_by(tenant, cluster), asked=asked
    )


def space_of(row: TenantNamespace) -> TenantSpace:
    """What the tenant is to have in the cluster; classes without a quota are refused there too."""
    offered = catalog.classes_in(row.cluster).values_list("name", flat=True)
    limits = dict.fromkeys(offered, 0) | limits_of(row.tenant, row.cluster)
    return TenantSpace(
        tenant=row.tenant.slug,
        namespace=row.namespace,
        limits=limits,
        resources=catalog.resources_by_class(),
        groups=oidc.cluster_groups_of(row.tenant),
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """A tenant's quota of one class in one cluster; `limit` None means none was given."""

    device_class: str
    limit: int | None
    used: int

    @property
    def percent(self) -> int:
        return quota.Line(self.device_class, self.limit, self.used, self.used).percent_used

    @property
    def is_over(self) -> bool:
        return self.used > (self.limit or 0)

    @property
    def is_full(self) -> bool:
        return self.limit is not None and 0 < self.limit <= self.used


@dataclass(frozen=True, slots=True)
class MatrixRow:
    tenant: Tenant
    cells: list[Cell]


def matrix(cluster: Cluster, tenants: list[Tenant]) -> tuple[list[str], list[MatrixRow]]:
    """Class names, and a row of cells per tenant, for one cluster."""
    names = sorted(
        {*catalog.classes_in(cluster).values_list("name", flat=True)}
        | {*Quota.objects.filter(cluster=cluster).values_list("device_class__name", flat=True)}
    )
    limits: dict[int, dict[str, int]] = defaultdict(dict)
    for tenant_id, name, limit in Quota.objects.filter(
        cluster=cluster, tenant__in=tenants
    ).values_list("tenant_id", "device_class__name", "limit"):
        limits[tenant_id][name] = limit
    used: dict[int, dict[str, int]] = defaultdict(dict)
    charged = Charge.objects.filter(cluster=cluster, tenant__in=tenants).order_by()
    for row in charged.values("tenant_id", "class_name").annotate(total=Sum("amount")):
        used[row["tenant_id"]][row["class_name"]] = row["total"]
    rows = [
        MatrixRow(
            tenant,
            [
                Cell(name, limits[tenant.pk].get(name), used[tenant.pk].get(name, 0))
                for name in names
            ],
        )
        for tenant in tenants
    ]
    return names, rows


def revision(tenant: Tenant) -> str:
    """A text that changes when the tenant's namespaces, limits or use do."""
    found = [
        rows.filter(tenant=tenant).aggregate(newest=Max("updated_at"), count=Count("pk"))
        for rows in (TenantNamespace.objects, Quota.objects, Charge.objects)
    ]
    settled = namespaces_of(tenant).aggregate(checked=Max("checked_at"))["checked"]
    return f"{found} {settled}"


@dataclass(frozen=True, slots=True)
class Fullness:
    tenant: str
    cluster: str
    device_class: str
    limit: int
    used: int


def fullest(tenants: QuerySet[Tenant], *, cluster: str = "", most: int = 6) -> list[Fullness]:
    """The quotas with the greatest share in use, among those that are used at all."""
    limits = Quota.objects.filter(tenant__in=tenants, limit__gt=0, cluster__retired_at=None)
    charges = Charge.objects.filter(tenant__in=tenants)
    if cluster:
        limits, charges = (
            limits.filter(cluster__slug=cluster),
            charges.filter(cluster__slug=cluster),
        )
    used = {
        (row["tenant_id"], row["cluster_id"], row["class_name"]): row["total"]
        for row in charges.order_by()
        .values("tenant_id", "cluster_id", "class_name")
        .annotate(total=Sum("amount"))
    }
    found = [
        Fullness(
            one.tenant.slug,
            one.cluster.slug,
            one.device_class.name,
            one.limit,
            used.get((one.tenant_id, one.cluster_id, one.device_class.name), 0),
        )
        for one in limits.select_related("tenant", "cluster", "device_class")
    ]
    found.sort(key=lambda one: (-one.used / one.limit, one.tenant, one.device_class))
    return [one for one in found if one.used][:most]
