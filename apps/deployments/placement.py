"""Asking the placement worker whether a plan would fit, before it is submitted."""

from typing import Any

from apps.catalog import selectors as catalog
from apps.common import asks
from apps.common.models import Ask
from apps.deployments.models import AllocationPath, Deployment, ModelPool
from apps.deployments.planning import Plan
from domain import patterns
from domain.manifests import claim_template, workload

KIND = "placement.check"


def ask(user: Any, plan: Plan) -> list[Ask]:
    """One question per pool: would one more replica of it find a node now?"""
    found = []
    for pool in plan.serving.pools:
        template = claim_template(plan.serving, pool)
        made = workload(plan.serving, pool)["spec"]["template"]
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": made["metadata"]
            | {"name": f"{plan.serving.name}-{pool.name}", "namespace": plan.serving.namespace},
            "spec": made["spec"],
        }
        question = {"pod": pod, "claims": [template] if template else []}
        found.append(asks.put(KIND, question, asked_by=user, cluster_id=plan.cluster.pk))
    return found


def ask_why(user: Any, deployment: Deployment, pool: ModelPool) -> Ask | None:
    """How many devices each filter leaves for the pool's claim; None without a claim."""
    if pool.path != AllocationPath.DRA:
        return None
    pattern = catalog.pattern_of(pool.pattern_version)
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": pool.name, "namespace": deployment.namespace},
        "spec": patterns.claim_spec(pattern, patterns.accept(pattern, pool.params)),
    }
    return asks.put(
        "placement.explain", {"claim": claim}, asked_by=user, cluster_id=deployment.cluster_id
    )
