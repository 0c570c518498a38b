"""The workload of a model pool, its disruption budget, and the deployment's Service."""

from typing import Any

from domain.manifests import labels as known
from domain.manifests.claims import REQUEST, template_name
from domain.manifests.labels import Manifest, deployment_labels, pool_labels
from domain.manifests.spec import Env, Pool, Probe, Server, Serving
from domain.routing import only_pool


def workload_name(serving: Serving, pool: Pool) -> str:
    return f"{serving.name}-{pool.name}"


def workload(serving: Serving, pool: Pool) -> Manifest:
    labels = pool_labels(serving.tenant, serving.name, pool.name)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": workload_name(serving, pool),
            "namespace": serving.namespace,
            "labels": labels,
        },
        "spec": {
            "replicas": pool.replicas,
            "revisionHistoryLimit": 2,
            # A model that still loads is no failed rollout.
            "progressDeadlineSeconds": serving.server.startup_seconds + 600,
            "strategy": _strategy(pool),
            "selector": {"matchLabels": _selector(serving, pool)},
            "template": {
                "metadata": {"labels": labels, "annotations": _annotations(serving, pool)},
                "spec": _pod(serving, pool),
            },
        },
    }


def _selector(serving: Serving, pool: Pool) -> dict[str, str]:
    return {known.DEPLOYMENT: serving.name, known.POOL: pool.name}


def _strategy(pool: Pool) -> dict[str, Any]:
    surge, missing = (1, 0) if pool.surge else (0, 1)
    return {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": surge, "maxUnavailable": missing},
    }


def _annotations(serving: Serving, pool: Pool) -> dict[str, str]:
    found = {
        known.METRICS_PORT: str(serving.server.port),
        known.METRICS_PATH: serving.server.metrics_path,
    }
    if pool.restarted_at:
        found[known.RESTARTED_AT] = pool.restarted_at
    return found


def _pod(serving: Serving, pool: Pool) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "serviceAccountName": serving.service_account,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": serving.server.drain.grace_seconds,
        "containers": [_container(serving.server, pool)],
    }
    if pool.path == "dra":
        spec["resourceClaims"] = [
            {"name": REQUEST, "resourceClaimTemplateName": template_name(serving, pool)}
        ]
    else:
        spec |= _placement(pool)
    return spec


def _placement(pool: Pool) -> dict[str, Any]:
    """Node labels: equality as nodeSelector, which people read; orders need node affinity."""
    selector, expressions = {}, []
    for requirement in pool.requirements:
        if requirement["operator"] == "In" and len(requirement["values"]) == 1:
            selector[requirement["key"]] = requirement["values"][0]
        else:
            expressions.append(dict(requirement))
    found: dict[str, Any] = {}
    if selector:
        found["nodeSelector"] = selector
    if expressions:
        terms = [{"matchExpressions": expressions}]
        found["affinity"] = {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
            }
        }
    return found


def _container(server: Server, pool: Pool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": "server",
        "image": server.image,
        "ports": [{"name": "http", "containerPort": server.port, "protocol": "TCP"}],
        "resources": _resources(server, pool),
        "startupProbe": _probe(server.startup),
        "readinessProbe": _probe(server.readiness),
        "livenessProbe": _probe(server.liveness),
        "lifecycle": {"preStop": {"sleep": {"seconds": server.drain.wait_seconds}}},
    }
    if server.command:
        found["command"] = list(server.command)
    if server.args or pool.extra_args:
        found["args"] = [*server.args, *pool.extra_args]
    if server.env:
        found["env"] = [_variable(one) for one in server.env]
    return found


def _resources(server: Server, pool: Pool) -> dict[str, Any]:
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    if server.cpu:
        requests["cpu"] = server.cpu
    if server.memory:
        requests["memory"] = limits["memory"] = server.memory
    found: dict[str, Any] = {}
    if pool.path == "dra":
        found["claims"] = [{"name": REQUEST}]
    else:
        limits |= {resource: str(count) for resource, count in pool.limits.items()}
        requests |= {resource: str(count) for resource, count in pool.limits.items()}
    if requests:
        found["requests"] = requests
    if limits:
        found["limits"] = limits
    return found


def _probe(probe: Probe) -> dict[str, Any]:
    return {
        "httpGet": {"path": probe.path, "port": "http", "scheme": "HTTP"},
        "periodSeconds": probe.period_seconds,
        "failureThreshold": probe.failures,
        "timeoutSeconds": 5,
    }


def _variable(env: Env) -> dict[str, Any]:
    if env.secret:
        reference = {"name": env.secret, "key": env.key}
        return {"name": env.name, "valueFrom": {"secretKeyRef": reference}}
    return {"name": env.name, "value": env.value}


def disruption_budget(serving: Serving, pool: Pool) -> Manifest:
    """Drains take one replica at a time; a pod that never became ready does not hold a drain."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "name": workload_name(serving, pool),
            "namespace": serving.namespace,
            "labels": pool_labels(serving.tenant, serving.name, pool.name),
        },
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": _selector(serving, pool)},
        },
    }


def endpoint(serving: Serving) -> Manifest:
    """The Service selects by deployment, so that all its pools answer under one address.

    It knows no weights: requests fall on pools as their ready replicas do. A pool that has all the
    weight is selected alone, so that one beside it gets nothing before it is meant to.
    """
    selector = {known.TENANT: serving.tenant, known.DEPLOYMENT: serving.name}
    alone = only_pool({pool.name: pool.weight for pool in serving.pools})
    if alone and len(serving.pools) > 1:
        selector[known.POOL] = alone
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": serving.name,
            "namespace": serving.namespace,
            "labels": deployment_labels(serving.tenant, serving.name),
        },
        "spec": {
            "selector": selector,
            "ports": [
                {
                    "name": "http",
                    "port": serving.server.port,
                    "targetPort": "http",
                    "protocol": "TCP",
                }
            ],
        },
    }
