"""Which deployments and which nodes a migration is about."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from apps.catalog import selectors as catalog
from apps.deployments.models import AllocationPath, Deployment, ModelPool
from apps.inventory.models import Pod
from apps.rollouts.landscape import Home
from apps.rollouts.models import Migration
from domain import patterns
from domain.errors import DomainError

KINDS = ("deployments", "tenant", "resource", "node-pool")


@dataclass(frozen=True, slots=True)
class Scope:
    """`names` are deployments (tenant/name, or names of the migration's tenant), tenants, resource
    names or node pools, as `kind` says."""

    kind: str
    names: tuple[str, ...]
    converts_nodes: bool = False


def scope_of(migration: Migration) -> Scope:
    held: Mapping[str, Any] = migration.scope
    kind = str(held.get("kind") or "deployments")
    names = tuple(str(name) for name in held.get("names") or ())
    nodes = bool(held.get("convert_nodes", kind == "node-pool"))
    return Scope(kind, names, nodes)


def old_pool(deployment: Deployment) -> ModelPool | None:
    """The pool on the device-plugin path that carries the most."""
    rows = deployment.pools.filter(path=AllocationPath.DEVICE_PLUGIN, retiring_at=None)
    found = rows.select_related("pattern_version__pattern").order_by("-weight", "-replicas", "name")
    return found.first()


def deployments_in(migration: Migration, homes: Mapping[str, Home]) -> list[Deployment]:
    """Deployments of the scope, by name. A named one stays in it even if it cannot move."""
    scope = scope_of(migration)
    rows = Deployment.objects.filter(
        cluster=migration.cluster, retired_at=None, retiring_at=None
    ).select_related("tenant", "cluster")
    if migration.tenant is not None:
        rows = rows.filter(tenant=migration.tenant)
    found = list(rows.order_by("tenant__slug", "name"))
    if scope.kind == "deployments":
        return [
            one for one in found if {one.name, f"{one.tenant.slug}/{one.name}"} & {*scope.names}
        ]
    if scope.kind == "tenant":
        return [one for one in found if one.tenant.slug in scope.names and old_pool(one)]
    if scope.kind == "resource":
        return [one for one in found if {*resources_of(old_pool(one))} & {*scope.names}]
    here = {name for name, home in homes.items() if home.row.node_pool in scope.names}
    return [one for one in found if old_pool(one) and nodes_of(one) & here]


def _is_named(deployment: Deployment, names: Iterable[str], *, bare: bool) -> bool:
    """By tenant/name; by the name alone only where the tenant is certain."""
    mine = {f"{deployment.tenant.slug}/{deployment.name}"}
    return not mine.isdisjoint(names) or (bare and deployment.name in names)


def resources_of(pool: ModelPool | None) -> dict[str, int]:
    """Units of each resource that one replica of a device-plugin pool takes."""
    form = plugin_form_of(pool) if pool is not None else None
    return dict(form.limits) if form is not None else {}


def plugin_form_of(pool: ModelPool) -> patterns.PluginForm | None:
    try:
        pattern = catalog.pattern_of(pool.pattern_version)
        return patterns.plugin_form(pattern, patterns.accept(pattern, pool.params))
    except DomainError:
        return None


def nodes_of(deployment: Deployment, pool: str = "") -> set[str]:
    """Nodes on which its pods are now."""
    rows = Pod.objects.filter(
        cluster=deployment.cluster, tenant=deployment.tenant.slug, deployment=deployment.name
    ).exclude(node_name="")
    if pool:
        rows = rows.filter(model_pool=pool)
    return set(rows.values_list("node_name", flat=True))


def nodes_in(
    migration: Migration, homes: Mapping[str, Home], deployments: Iterable[Deployment]
) -> list[str]:
    """Nodes of the scope that a device plugin serves: those of the node pool or with the resource,
    else those on which the old pools run."""
    scope = scope_of(migration)
    plugged = {name: home for name, home in homes.items() if home.row.path != "dra"}
    if scope.kind == "node-pool":
        return sorted(n for n, home in plugged.items() if home.row.node_pool in scope.names)
    if scope.kind == "resource":
        return sorted(n for n, home in plugged.items() if home.units.keys() & {*scope.names})
    used: set[str] = set()
    for one in deployments:
        pool = old_pool(one)
        used |= nodes_of(one, pool.name) if pool is not None else set()
    return sorted(used & plugged.keys())
