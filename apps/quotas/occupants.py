"""Who else has something in a tenant's space: higher rooms say so, without being imported here."""

from collections.abc import Callable

from apps.inventory.models import Cluster
from apps.tenancy.models import Tenant

Finder = Callable[[Tenant, Cluster], list[str]]
_FINDERS: list[Finder] = []


def occupies(find: Finder) -> Finder:
    """Register a function that names what a tenant has running in a cluster, for people."""
    _FINDERS.append(find)
    return find


def of(tenant: Tenant, cluster: Cluster) -> list[str]:
    return [name for find in _FINDERS for name in find(tenant, cluster)]
