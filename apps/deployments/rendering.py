"""Rows and requests to what the manifests are made from."""

from dataclasses import replace
from typing import Any

from apps.catalog import selectors as catalog
from apps.deployments.gateways import routing_of
from apps.deployments.models import Deployment, ModelPool
from domain import asked as asking
from domain import patterns
from domain.asked import Asked, PoolAsked
from domain.manifests import Manifest, Pool, Serving, parallel_args, render
from domain.policies import SERVICE_ACCOUNT


def asked_of(deployment: Deployment) -> Asked:
    """What a deployment's rows say, in the shape in which it is asked for."""
    return asking.asked_from(
        {
            "name": deployment.name,
            "cluster": deployment.cluster.slug,
            "runtime": deployment.runtime,
            "image": deployment.image,
            "model": deployment.model,
            "args": list(deployment.args),
            "env": deployment.env,
            "cpu": deployment.cpu,
            "memory": deployment.memory,
            "startup_minutes": deployment.startup_minutes,
            "own": deployment.own,
            "pools": _pools_content(standing(deployment)),
        }
    )


def standing(deployment: Deployment) -> list[ModelPool]:
    """Its pools without those that are being taken out of the cluster."""
    return [pool for pool in deployment.pools.all() if pool.retiring_at is None]


def _pools_content(pools: list[ModelPool]) -> list[dict[str, Any]]:
    """A weight is said only where there is something to share."""
    found = [_pool_content(pool) for pool in pools]
    if len(pools) > 1:
        for content, pool in zip(found, pools, strict=True):
            content["weight"] = pool.weight
    return found


def _pool_content(pool: ModelPool) -> dict[str, Any]:
    return {
        "name": pool.name,
        "path": pool.path,
        "pattern": pool.pattern_version.pattern.slug,
        "version": pool.pattern_version.number,
        "params": pool.params,
        "replicas": pool.replicas,
    }


def pool_spec(
    whole: Asked, asked: PoolAsked, pattern: patterns.Pattern, values: patterns.Values
) -> Pool:
    """One pool as its manifests need it; raise InvalidValue if the pattern lacks its path."""
    devices = sum(patterns.charge(pattern, values).values())
    extra = parallel_args(whole.runtime, whole.args, devices)
    if asked.path == "dra":
        claim = patterns.claim_spec(pattern, values)
        return Pool(
            name=asked.name, path="dra", replicas=asked.replicas, claim=claim, extra_args=extra
        )
    form = patterns.plugin_form(pattern, values)
    return Pool(
        name=asked.name,
        path="device-plugin",
        replicas=asked.replicas,
        limits=form.limits,
        requirements=form.requirements,
        extra_args=extra,
    )


def serving_of(deployment: Deployment) -> Serving:
    """The whole deployment as its rows stand."""
    asked = asked_of(deployment)
    restarted = deployment.restarted_at.isoformat() if deployment.restarted_at else ""
    pools = []
    rows = standing(deployment)
    for pool, wanted in zip(rows, asked.pools, strict=True):
        pattern = catalog.pattern_of(pool.pattern_version)
        spec = pool_spec(asked, wanted, pattern, patterns.accept(pattern, pool.params))
        pools.append(replace(spec, surge=pool.surge, weight=pool.weight, restarted_at=restarted))
    return Serving(
        tenant=deployment.tenant.slug,
        namespace=deployment.namespace,
        name=deployment.name,
        server=asked.server(),
        pools=tuple(pools),
        service_account=SERVICE_ACCOUNT,
        routing=routing_of(deployment),
    )


def manifests_of(deployment: Deployment) -> list[Manifest]:
    return render(serving_of(deployment))
