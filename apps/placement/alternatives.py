"""Approved patterns that somebody may use instead, as claims that the engine can try.

Only what the tenant's quota leaves room for is an alternative: a proposal that is refused once it
is submitted helps nobody.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from apps.catalog import selectors as catalog
from apps.catalog.models import PatternVersion
from apps.inventory.models import Cluster
from apps.quotas import selectors as quotas
from apps.tenancy.models import Tenant
from apps.tenancy.selectors import tenants_of
from domain import patterns, quota
from domain.errors import InvalidValue
from domain.patterns import Pattern, Values

MOST = 20
MOST_TENANTS = 10
Json = dict[str, Any]


def claim_of_pattern(pattern: Pattern, values: Values) -> Json:
    return a_claim(patterns.claim_spec(pattern, values))


def a_claim(spec: Json) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"namespace": "default", "name": "asked"},
        "spec": spec,
    }


def candidates(
    user: Any,
    cluster: Cluster,
    tenant: str = "",
    *,
    gives_back: quota.Amounts | None = None,
    replicas: int = 1,
) -> dict[str, list[Json]]:
    """Claims by the name to show: of `tenant`, else of all that the person belongs to.

    gives_back: charged now by what would be replaced. Platform roles without a tenant are offered
    every approved pattern, whatever anybody's quota.
    """
    if not tenant and user.is_platform:
        return _first(_of_platform(cluster))
    owners = tenants_of(user).filter(slug=tenant) if tenant else tenants_of(user)[:MOST_TENANTS]
    found: dict[str, list[Json]] = {}
    for owner in owners:
        room = _Room(owner, cluster, gives_back or {}, replicas)
        found |= _first(_of_tenant(owner, cluster, room, names_tenant=not tenant))
    return _first(iter(found.items()))


def _first(found: Iterator[tuple[str, list[Json]]]) -> dict[str, list[Json]]:
    return dict(islice(found, MOST))


def _of_platform(cluster: Cluster) -> Iterator[tuple[str, list[Json]]]:
    for version in catalog.usable_patterns(None, cluster):
        pattern = catalog.pattern_of(version)
        yield _name(version), [claim_of_pattern(pattern, patterns.defaults(pattern))]


class _Room:
    """What a tenant's quota leaves in a cluster."""

    def __init__(
        self, tenant: Tenant, cluster: Cluster, gives_back: quota.Amounts, replicas: int
    ) -> None:
        self.limits = quotas.limits_of(tenant, cluster)
        used = quotas.used_by(tenant, cluster)
        self.used = {name: used[name] - gives_back.get(name, 0) for name in used}
        self.replicas = replicas

    def takes(self, charge: quota.Amounts) -> bool:
        asked = quota.times(charge, self.replicas)
        return not quota.shortfalls(limits=self.limits, used=self.used, asked=asked)

    def said(self, charge: Mapping[str, int]) -> str:
        return ", ".join(
            f"{self.used.get(name, 0) + amount * self.replicas} of {self.limits[name]} {name}"
            for name, amount in charge.items()
        )


def _of_tenant(
    tenant: Tenant, cluster: Cluster, room: _Room, *, names_tenant: bool
) -> Iterator[tuple[str, list[Json]]]:
    for version in catalog.usable_patterns(tenant, cluster):
        pattern = catalog.pattern_of(version)
        for words, values in _variants(pattern):
            charge = patterns.charge(pattern, values)
            if not room.takes(charge):
                continue
            of = f"{tenant.slug}'s quota" if names_tenant else "the quota"
            name = f"{_name(version)}{words} ({room.said(charge)} of {of} with it)"
            yield name, [claim_of_pattern(pattern, values)]


def _name(version: PatternVersion) -> str:
    return f"{version.pattern.name} v{version.number}"


def _variants(pattern: Pattern) -> Iterator[tuple[str, Values]]:
    """With its defaults, and with the least of everything that has a size."""
    usual = patterns.defaults(pattern)
    yield "", usual
    least = {
        one.name: one.least or 1
        for one in pattern.parameters
        if one.kind == "count" or (one.kind == "memory" and one.least)
    }
    try:
        smallest = patterns.accept(pattern, {**usual, **least})
    except InvalidValue:
        return
    if smallest != usual:
        changed = [
            f"{one.label or one.name} {smallest[one.name]}"
            for one in pattern.parameters
            if smallest[one.name] != usual[one.name]
        ]
        yield f" with {', '.join(changed)}", smallest
