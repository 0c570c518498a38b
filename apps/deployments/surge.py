"""Is there a device for a pod more than wanted, during a rollout?

A surge pod without a free device waits for ever and the rollout with it. Where the answer cannot
be had, there is none: pods are then replaced one by one.
"""

from apps.catalog import selectors as catalog
from apps.common import asks
from apps.deployments.models import AllocationPath, Deployment, ModelPool
from apps.deployments.selectors import holder
from apps.quotas import selectors as quotas
from domain import patterns, quota

WAIT_MS = 1500


def decide(deployment: Deployment) -> None:
    """Write into each pool whether its next rollout may surge."""
    for pool in deployment.pools.select_related("pattern_version__pattern"):
        possible = is_possible(deployment, pool)
        if possible != pool.surge:
            ModelPool.objects.filter(pk=pool.pk).update(surge=possible)


def is_possible(deployment: Deployment, pool: ModelPool) -> bool:
    """Only on the path dra: nobody publishes which device a device plugin would give next."""
    if pool.path != AllocationPath.DRA or pool.replicas == 0:
        return False
    missing = quota.shortfalls(
        limits=quotas.limits_of(deployment.tenant, deployment.cluster),
        used=quotas.used_by(deployment.tenant, deployment.cluster, except_holder=holder(pool)),
        asked=quota.times(pool.charge, pool.replicas + 1),
    )
    return not missing and _is_free(deployment, pool)


def _is_free(deployment: Deployment, pool: ModelPool) -> bool:
    pattern = catalog.pattern_of(pool.pattern_version)
    values = patterns.accept(pattern, pool.params)
    selectors = catalog.class_selectors(list(pattern.classes))
    for request in pattern.requests:
        ask = asks.put(
            "placement.match",
            {
                "class_selectors": selectors.get(request.device_class, []),
                "request_selectors": patterns.request_selectors(request, values),
            },
            cluster_id=deployment.cluster_id,
        )
        answer = asks.wait(ask, milliseconds=WAIT_MS).answer or {}
        free = answer.get("free")
        if not isinstance(free, int) or free < pool.charge.get(request.device_class, 0):
            return False
    return True
