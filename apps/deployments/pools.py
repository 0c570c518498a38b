"""Model pools of a deployment side by side: one beside another, more or fewer replicas, weights.

Each call is one transaction: lock, quota, generation, audit, and the reconciler on commit. `actor`
None is the portal itself. A pool comes with weight 0 and goes only with weight 0: requests under
way in a pool whose backend is removed too early are cut.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.db import transaction

from apps.audit import services as audit
from apps.catalog.models import PatternVersion
from apps.deployments import services
from apps.deployments.models import Deployment, ModelPool
from apps.deployments.planning import plan
from apps.deployments.rendering import asked_of, standing
from apps.tenancy.models import User
from domain import asked as asking
from domain import routing
from domain.asked import PoolAsked
from domain.errors import IllegalTransition, InvalidValue
from domain.manifests.spec import Path


@transaction.atomic
def add_pool(
    *,
    actor: User | None,
    deployment: Deployment,
    name: str,
    path: Path,
    pattern_version: PatternVersion,
    parameters: Mapping[str, Any],
    replicas: int,
) -> ModelPool:
    """A pool beside those that are there, with weight 0 and its own charge.

    Repeatable: the same pool asked for again is returned as it is. Raises InvalidValue with a
    field, QuotaExceeded, or IllegalTransition for another pool of that name.
    """
    deployment = services.locked(deployment, None)
    held = {pool.name: pool for pool in deployment.pools.all()}
    wanted = PoolAsked(
        pattern=pattern_version.pattern.slug,
        replicas=replicas,
        params=dict(parameters),
        path=path,
        version=pattern_version.number,
        name=name,
        weight=0 if held else None,
    )
    if name in held:
        return _same(held[name], wanted)
    found = plan(
        tenant=deployment.tenant,
        asked=_with(deployment, wanted),
        held={one.name: one.pattern_version_id for one in held.values()},
    )
    pool = ModelPool(deployment=deployment, name=name)
    services.save_pool(deployment, pool, found.pools[-1], weight=0 if held else routing.WHOLE)
    services.raise_generation(deployment)
    audit.record(
        actor=actor,
        verb="added pool",
        subject=deployment,
        after={name: {"path": path, "pattern": str(pattern_version), "replicas": replicas}},
    )
    services.send(deployment)
    return pool


def _with(deployment: Deployment, wanted: PoolAsked) -> asking.Asked:
    """The deployment as asked for, with one pool more; checked as everything asked for is."""
    whole = asked_of(deployment)
    pools = (*(replace(one, weight=None) for one in whole.pools), replace(wanted, weight=None))
    return asking.asked_from(asking.content_of(replace(whole, pools=pools)))


def _same(held: ModelPool, wanted: PoolAsked) -> ModelPool:
    version = held.pattern_version
    is_same = (held.path, version.pattern.slug, version.number, held.retiring_at) == (
        wanted.path,
        wanted.pattern,
        wanted.version,
        None,
    )
    if not is_same:
        what = "is being taken out of the cluster" if held.retiring_at else "is another one"
        raise IllegalTransition(f"A pool {held} exists already and {what}.")
    return held


@transaction.atomic
def set_replicas(
    *, actor: User | None, pool: ModelPool, replicas: int, generation: int | None = None
) -> ModelPool:
    """More must fit the quota, fewer always works. Repeatable."""
    return services.scale_pool(actor=actor, pool=pool, replicas=replicas, generation=generation)


@transaction.atomic
def set_weights(
    *,
    actor: User | None,
    deployment: Deployment,
    weights: Mapping[str, int],
    generation: int | None = None,
) -> Deployment:
    """Share requests anew; every pool is named and they add up to 100. Repeatable.

    Whether a pool is ready for its weight is for the caller to know: a person may want to send
    requests to one that is not.
    """
    deployment = services.locked(deployment, generation)
    pools = {pool.name: pool for pool in standing(deployment)}
    if set(weights) != set(pools):
        raise InvalidValue(f"Give a weight to each of {', '.join(sorted(pools))}.", field="weights")
    wanted = routing.checked(weights)
    before = {name: pool.weight for name, pool in pools.items()}
    if wanted == before:
        return deployment
    for name, pool in pools.items():
        if pool.weight != wanted[name]:
            pool.weight = wanted[name]
            pool.save(update_fields=["weight", "updated_at"])
    services.raise_generation(deployment, only_weights=True)
    audit.record(
        actor=actor, verb="shared requests of", subject=deployment, before=before, after=wanted
    )
    services.send(deployment)
    return deployment


@transaction.atomic
def remove_pool(*, actor: User | None, pool: ModelPool) -> None:
    """Take a pool without weight out of the cluster. Repeatable.

    Its quota is free once nothing of it is left there. Raises IllegalTransition while it still has
    weight, or if it is the last one.
    """
    deployment = services.locked(pool.deployment, None)
    row = deployment.pools.select_for_update(no_key=True).filter(pk=pool.pk).first()
    if row is None or row.retiring_at is not None:
        return
    if len(standing(deployment)) == 1:
        raise IllegalTransition(f"{row} is the last pool; retire the deployment instead.")
    if row.weight:
        raise IllegalTransition(
            f"{row} still gets {row.weight} % of the requests; give its weight to another first."
        )
    services.retire_pool(row)
    services.raise_generation(deployment)
    audit.record(
        actor=actor,
        verb="removed pool of",
        subject=deployment,
        before={row.name: {"path": row.path, "replicas": row.replicas}},
    )
    services.send(deployment)
