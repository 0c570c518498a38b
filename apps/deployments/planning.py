"""Checking a request against the catalog and the tenant, before anything is written.

The wizard's review page, the API and the services all plan the same way.
"""

from dataclasses import dataclass
from typing import Any

from apps.catalog import selectors as catalog
from apps.catalog.models import PatternVersion
from apps.deployments.rendering import pool_spec
from apps.inventory.models import Cluster
from apps.quotas import selectors as quotas
from apps.quotas.models import TenantNamespace
from apps.tenancy.models import Tenant
from domain import patterns, quota
from domain.asked import Asked, PoolAsked
from domain.errors import InvalidValue
from domain.manifests import Manifest, Pool, Serving, render
from domain.policies import SERVICE_ACCOUNT


@dataclass(frozen=True, slots=True)
class PoolPlan:
    asked: PoolAsked
    version: PatternVersion
    pattern: patterns.Pattern
    values: patterns.Values
    spec: Pool

    @property
    def charge(self) -> dict[str, int]:
        """What one replica takes from the quota."""
        return patterns.charge(self.pattern, self.values)


@dataclass(frozen=True, slots=True)
class Plan:
    """A request that the catalog allows; the quota is charged when it is carried out."""

    asked: Asked
    cluster: Cluster
    namespace: TenantNamespace
    serving: Serving
    pools: tuple[PoolPlan, ...]

    @property
    def manifests(self) -> list[Manifest]:
        return render(self.serving)

    @property
    def amounts(self) -> dict[str, int]:
        return quota.total(quota.times(pool.charge, pool.asked.replicas) for pool in self.pools)


def plan(*, tenant: Tenant, asked: Asked, held: dict[str, int] | None = None) -> Plan:
    """Return the plan; raise InvalidValue naming the field that cannot be used.

    `held` maps pools that exist to the pattern version (by key) they are pinned to: a pool may
    keep a version that was withdrawn since.
    """
    if tenant.retired_at is not None:
        raise InvalidValue(
            f"{tenant.name} is retired; nothing new can be deployed.", field="tenant"
        )
    cluster = Cluster.objects.filter(slug=asked.cluster, retired_at=None).first()
    namespace = quotas.namespace_of(tenant, cluster) if cluster else None
    if cluster is None or namespace is None:
        raise InvalidValue(
            f"{tenant.name} has no namespace in a cluster {asked.cluster[:60]!r}.", field="cluster"
        )
    server = asked.server()
    names = [pool.name for pool in asked.pools]
    if len(set(names)) != len(names):
        raise InvalidValue("Two pools have the same name.", field="pools")
    pools = tuple(
        _pool(tenant, cluster, asked, index, held or {}) for index in range(len(asked.pools))
    )
    serving = Serving(
        tenant=tenant.slug,
        namespace=namespace.namespace,
        name=asked.name,
        server=server,
        pools=tuple(pool.spec for pool in pools),
        service_account=SERVICE_ACCOUNT,
    )
    return Plan(asked, cluster, namespace, serving, pools)


def _pool(
    tenant: Tenant, cluster: Cluster, whole: Asked, index: int, held: dict[str, int]
) -> PoolPlan:
    asked, at = whole.pools[index], f"pools[{index}]"
    version = _version(tenant, asked, at, held)
    pattern = catalog.pattern_of(version)
    offered = set(catalog.classes_in(cluster).values_list("name", flat=True))
    for name in pattern.classes:
        if name not in offered:
            raise InvalidValue(
                f"The class {name} is not offered in {cluster.name}.", field=f"{at}.pattern"
            )
    try:
        values = patterns.accept(pattern, asked.params)
        spec = pool_spec(whole, asked, pattern, values)
    except InvalidValue as error:
        raise InvalidValue(str(error), field=f"{at}.{error.field}") from None
    return PoolPlan(asked, version, pattern, values, spec)


def _version(tenant: Tenant, asked: PoolAsked, at: str, held: dict[str, int]) -> PatternVersion:
    version = catalog.approved_pattern_version(asked.pattern, asked.version)
    if version is None and asked.name in held:
        version = PatternVersion.objects.filter(
            pk=held[asked.name], pattern__slug=asked.pattern, number=asked.version
        ).first()
    if version is None or not catalog.may_use(tenant, version):
        number = f" version {asked.version}" if asked.version else ""
        raise InvalidValue(
            f"There is no approved pattern {asked.pattern[:60]!r}{number} for {tenant.name}.",
            field=f"{at}.pattern",
        )
    return version


def columns(asked: Asked) -> dict[str, Any]:
    """The columns of a Deployment that its request fills."""
    from domain.asked import content_of

    content = content_of(asked)
    return {
        name: content[name]
        for name in (
            "runtime",
            "image",
            "model",
            "args",
            "env",
            "cpu",
            "memory",
            "startup_minutes",
            "own",
        )
    }
