"""What a tenant may do with its deployments. Nothing here talks to a cluster."""

from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.audit import services as audit
from apps.deployments import selectors, tasks
from apps.deployments.models import Deployment, ModelPool
from apps.deployments.planning import Plan, PoolPlan, columns, plan
from apps.deployments.rendering import asked_of
from apps.quotas import ledger
from apps.tenancy.models import Tenant, User
from domain import conditions, quota, routing
from domain.asked import MOST_REPLICAS, Asked, short_content
from domain.conditions import Condition
from domain.errors import DomainError, IllegalTransition, InvalidValue


class Outdated(DomainError):
    """Somebody else has changed it since the person looked."""

    code = "outdated"


@transaction.atomic
def create_deployment(*, actor: User, tenant: Tenant, asked: Asked) -> Deployment:
    """Record what the tenant wants, charge its quota, and send the reconciler.

    Raises InvalidValue with a field, ValidationError for a name, or QuotaExceeded.
    """
    found = plan(tenant=tenant, asked=asked)
    # Two requests must not both see the last device or the same free name.
    ledger.lock(tenant)
    deployment = Deployment(
        tenant=tenant,
        cluster=found.cluster,
        name=asked.name,
        namespace=found.namespace.namespace,
        **columns(asked),
    )
    deployment.full_clean()
    deployment.save()
    shares = wished(found)
    for pool in found.pools:
        made = ModelPool(deployment=deployment, name=pool.asked.name)
        save_pool(deployment, made, pool, weight=shares[made.name])
    audit.record(actor=actor, verb="created", subject=deployment, after=short_content(found.asked))
    send(deployment)
    return deployment


def wished(found: Plan, held: dict[str, ModelPool] | None = None) -> dict[str, int]:
    """The weight of each pool of a plan."""
    asked = [
        routing.PoolShare(one.asked.name, one.asked.weight, one.asked.replicas)
        for one in found.pools
    ]
    return routing.weights(asked, held={name: one.weight for name, one in (held or {}).items()})


def save_pool(deployment: Deployment, pool: ModelPool, wanted: PoolPlan, *, weight: int) -> None:
    """Write what a plan says of a pool, and charge it."""
    pool.weight, pool.retiring_at = weight, None
    pool.path = wanted.asked.path
    pool.pattern_version = wanted.version
    pool.params = dict(wanted.values)
    pool.charge = wanted.charge
    pool.replicas = wanted.asked.replicas
    accepted = Condition("Accepted", "True", "Accepted", "Quota and pattern allow it.")
    pool.conditions = conditions.merge(pool.conditions, [accepted], now=timezone.now().isoformat())
    pool.full_clean()
    pool.save()
    charge(deployment, pool)


def charge(deployment: Deployment, pool: ModelPool) -> None:
    ledger.charge(
        tenant=deployment.tenant,
        cluster=deployment.cluster,
        holder=selectors.holder(pool),
        amounts=quota.times(pool.charge, pool.replicas),
    )


def send(deployment: Deployment) -> None:
    transaction.on_commit(partial(tasks.reconcile_deployment.delay, deployment.pk))


def locked(deployment: Deployment, generation: int | None) -> Deployment:
    """The deployment, locked behind its tenant, unless it is retiring or has moved on."""
    ledger.lock(deployment.tenant)
    found = (
        Deployment.objects.select_for_update(no_key=True, of=("self",))
        .select_related("tenant", "cluster")
        .get(pk=deployment.pk)
    )
    if found.is_retiring:
        raise IllegalTransition(f"{found} is being retired.")
    if generation is not None and generation != found.generation:
        raise Outdated(f"{found} has been changed since this page was made; look at it again.")
    return found


def raise_generation(deployment: Deployment, *, only_weights: bool = False, **changes: Any) -> None:
    for name, value in changes.items():
        setattr(deployment, name, value)
    deployment.generation += 1
    if not only_weights:
        deployment.content_generation = deployment.generation
    deployment.full_clean()
    deployment.save(update_fields=["generation", "content_generation", "updated_at", *changes])


@transaction.atomic
def update_deployment(
    *, actor: User, deployment: Deployment, asked: Asked, generation: int | None = None
) -> Deployment:
    """Change what is served. Name and cluster stay; pools are matched by their names."""
    deployment = locked(deployment, generation)
    if asked.name != deployment.name or asked.cluster != deployment.cluster.slug:
        raise InvalidValue("Name and cluster cannot be changed.", field="name")
    before = short_content(asked_of(deployment))
    held = {pool.name: pool for pool in deployment.pools.all()}
    found = plan(
        tenant=deployment.tenant,
        asked=asked,
        held={name: pool.pattern_version_id for name, pool in held.items()},
    )
    _replace_pools(deployment, held, found)
    raise_generation(deployment, **columns(asked))
    audit.record(
        actor=actor,
        verb="changed",
        subject=deployment,
        before=before,
        after=short_content(found.asked),
    )
    send(deployment)
    return deployment


def _replace_pools(deployment: Deployment, held: dict[str, ModelPool], found: Plan) -> None:
    shares = wished(found, {n: one for n, one in held.items() if one.retiring_at is None})
    for name, pool in held.items():
        if name not in shares and pool.retiring_at is None:
            retire_pool(pool)
    for one in found.pools:
        pool = held.get(one.asked.name) or ModelPool(deployment=deployment, name=one.asked.name)
        if pool.pk:
            pool.generation += 1
        save_pool(deployment, pool, one, weight=shares[one.asked.name])


def retire_pool(pool: ModelPool) -> None:
    """Nothing of it is rendered any more; the reconciler removes it, then its row and charge."""
    pool.retiring_at, pool.weight = timezone.now(), 0
    pool.generation += 1
    pool.save(update_fields=["retiring_at", "weight", "generation", "updated_at"])


@transaction.atomic
def scale_pool(
    *, actor: User | None, pool: ModelPool, replicas: int, generation: int | None = None
) -> ModelPool:
    """Change the number of replicas; giving back always works, more must fit the quota."""
    deployment = locked(pool.deployment, generation)
    pool = deployment.pools.select_for_update(no_key=True).get(pk=pool.pk)
    if not 0 <= replicas <= MOST_REPLICAS:
        raise InvalidValue(f"0 to {MOST_REPLICAS} replicas.", field="replicas")
    if pool.retiring_at is not None:
        raise IllegalTransition(f"{pool} is being taken out of the cluster.")
    if replicas == pool.replicas:
        return pool
    before = pool.replicas
    pool.replicas = replicas
    pool.generation += 1
    pool.full_clean()
    pool.save(update_fields=["replicas", "generation", "updated_at"])
    charge(deployment, pool)
    raise_generation(deployment)
    audit.record(
        actor=actor,
        verb="scaled",
        subject=deployment,
        before={pool.name: before},
        after={pool.name: replicas},
    )
    send(deployment)
    return pool


@transaction.atomic
def restart_deployment(
    *, actor: User, deployment: Deployment, generation: int | None = None
) -> Deployment:
    """Replace every pod, as its rollout strategy allows."""
    deployment = locked(deployment, generation)
    raise_generation(deployment, restarted_at=timezone.now())
    audit.record(actor=actor, verb="restarted", subject=deployment)
    send(deployment)
    return deployment


@transaction.atomic
def put_back_deployment(*, actor: User, deployment: Deployment) -> Deployment:
    """Overwrite what somebody changed in the cluster."""
    deployment = locked(deployment, None)
    raise_generation(deployment, forced_generation=deployment.generation + 1)
    audit.record(
        actor=actor, verb="put back", subject=deployment, before={"drift": deployment.drift}
    )
    send(deployment)
    return deployment


@transaction.atomic
def retire_deployment(
    *, actor: User | None, deployment: Deployment, generation: int | None = None
) -> Deployment:
    """Take everything of it out of the cluster. Its quota is free once nothing is left there."""
    deployment = locked(deployment, generation)
    before = short_content(asked_of(deployment))
    raise_generation(deployment, retiring_at=timezone.now())
    audit.record(actor=actor, verb="retired", subject=deployment, before=before)
    send(deployment)
    return deployment
