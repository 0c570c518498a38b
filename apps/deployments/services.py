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
from domain import conditions, quota
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
    for pool in found.pools:
        _save_pool(deployment, ModelPool(deployment=deployment, name=pool.asked.name), pool)
    audit.record(actor=actor, verb="created", subject=deployment, after=short_content(found.asked))
    _send(deployment)
    return deployment


def _save_pool(deployment: Deployment, pool: ModelPool, wanted: PoolPlan) -> None:
    pool.path = wanted.asked.path
    pool.pattern_version = wanted.version
    pool.params = dict(wanted.values)
    pool.charge = wanted.charge
    pool.replicas = wanted.asked.replicas
    accepted = Condition("Accepted", "True", "Accepted", "Quota and pattern allow it.")
    pool.conditions = conditions.merge(pool.conditions, [accepted], now=timezone.now().isoformat())
    pool.full_clean()
    pool.save()
    _charge(deployment, pool)


def _charge(deployment: Deployment, pool: ModelPool) -> None:
    ledger.charge(
        tenant=deployment.tenant,
        cluster=deployment.cluster,
        holder=selectors.holder(pool),
        amounts=quota.times(pool.charge, pool.replicas),
    )


def _send(deployment: Deployment) -> None:
    transaction.on_commit(partial(tasks.reconcile_deployment.delay, deployment.pk))


def _locked(deployment: Deployment, generation: int | None) -> Deployment:
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


def _raise_generation(deployment: Deployment, **changes: Any) -> None:
    for name, value in changes.items():
        setattr(deployment, name, value)
    deployment.generation += 1
    deployment.full_clean()
    deployment.save(update_fields=["generation", "updated_at", *changes])


@transaction.atomic
def update_deployment(
    *, actor: User, deployment: Deployment, asked: Asked, generation: int | None = None
) -> Deployment:
    """Change what is served. Name and cluster stay; pools are matched by their names."""
    deployment = _locked(deployment, generation)
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
    _raise_generation(deployment, **columns(asked))
    audit.record(
        actor=actor,
        verb="changed",
        subject=deployment,
        before=before,
        after=short_content(found.asked),
    )
    _send(deployment)
    return deployment


def _replace_pools(deployment: Deployment, held: dict[str, ModelPool], found: Plan) -> None:
    wanted = {pool.asked.name for pool in found.pools}
    for name, pool in held.items():
        if name not in wanted:
            ledger.release(selectors.holder(pool))
            pool.delete()
    for one in found.pools:
        pool = held.get(one.asked.name) or ModelPool(deployment=deployment, name=one.asked.name)
        if pool.pk:
            pool.generation += 1
        _save_pool(deployment, pool, one)


@transaction.atomic
def scale_pool(
    *, actor: User, pool: ModelPool, replicas: int, generation: int | None = None
) -> ModelPool:
    """Change the number of replicas; giving back always works, more must fit the quota."""
    deployment = _locked(pool.deployment, generation)
    pool = deployment.pools.select_for_update(no_key=True).get(pk=pool.pk)
    if not 0 <= replicas <= MOST_REPLICAS:
        raise InvalidValue(f"0 to {MOST_REPLICAS} replicas.", field="replicas")
    if replicas == pool.replicas:
        return pool
    before = pool.replicas
    pool.replicas = replicas
    pool.generation += 1
    pool.full_clean()
    pool.save(update_fields=["replicas", "generation", "updated_at"])
    _charge(deployment, pool)
    _raise_generation(deployment)
    audit.record(
        actor=actor,
        verb="scaled",
        subject=deployment,
        before={pool.name: before},
        after={pool.name: replicas},
    )
    _send(deployment)
    return pool


@transaction.atomic
def restart_deployment(
    *, actor: User, deployment: Deployment, generation: int | None = None
) -> Deployment:
    """Replace every pod, as its rollout strategy allows."""
    deployment = _locked(deployment, generation)
    _raise_generation(deployment, restarted_at=timezone.now())
    audit.record(actor=actor, verb="restarted", subject=deployment)
    _send(deployment)
    return deployment


@transaction.atomic
def put_back_deployment(*, actor: User, deployment: Deployment) -> Deployment:
    """Overwrite what somebody changed in the cluster."""
    deployment = _locked(deployment, None)
    _raise_generation(deployment, forced_generation=deployment.generation + 1)
    audit.record(
        actor=actor, verb="put back", subject=deployment, before={"drift": deployment.drift}
    )
    _send(deployment)
    return deployment


@transaction.atomic
def retire_deployment(
    *, actor: User, deployment: Deployment, generation: int | None = None
) -> Deployment:
    """Take everything of it out of the cluster. Its quota is free once nothing is left there."""
    deployment = _locked(deployment, generation)
    before = short_content(asked_of(deployment))
    _raise_generation(deployment, retiring_at=timezone.now())
    audit.record(actor=actor, verb="retired", subject=deployment, before=before)
    _send(deployment)
    return deployment
