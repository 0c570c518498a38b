"""Asking the placement worker whether a plan would fit, before it is submitted."""

from typing import Any

from apps.catalog import selectors as catalog
from apps.common import asks
from apps.common.models import Ask
from apps.deployments.models import AllocationPath, Deployment, ModelPool
from apps.deployments.planning import Plan
from apps.deployments.selectors import holder
from apps.inventory.models import Pod
from apps.placement import asking
from apps.placement.alternatives import candidates
from apps.quotas.ledger import held_by
from domain import patterns
from domain.manifests import claim_template, workload

KIND = "placement.check"


def ask(user: Any, plan: Plan) -> list[Ask]:
    """One question per pool: would one more replica of it find a node now?"""
    found = []
    held = _charged(plan)
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
        question = {
            "pod": pod,
            "claims": [template] if template else [],
            "candidates": candidates(
                user,
                plan.cluster,
                plan.serving.tenant,
                gives_back=held.get(pool.name, {}),
                replicas=pool.replicas,
            ),
            "may_end": asking.may_end(user, plan.cluster),
        }
        found.append(asks.put(KIND, question, asked_by=user, cluster_id=plan.cluster.pk))
    return found


def _charged(plan: Plan) -> dict[str, dict[str, int]]:
    """What the pools that the plan would change have of the quota now, by pool."""
    pools = ModelPool.objects.filter(
        deployment__tenant__slug=plan.serving.tenant,
        deployment__name=plan.serving.name,
        deployment__cluster=plan.cluster,
    )
    return {pool.name: held_by(holder(pool)) for pool in pools}


def waiting_pod(deployment: Deployment, pool: ModelPool) -> Pod | None:
    """The one that waits longest; all of a pool ask for the same."""
    rows = Pod.objects.filter(
        cluster=deployment.cluster,
        tenant=deployment.tenant.slug,
        deployment=deployment.name,
        model_pool=pool.name,
        node_name="",
    )
    return rows.select_related("cluster").order_by("created_at", "name").first()


def ask_why(user: Any, deployment: Deployment, pool: ModelPool) -> Ask | None:
    """Why a pod of the pool waits; without one, how many devices are left for the pool's claim.

    None if the pool has neither a pod that waits nor a claim.
    """
    pod = waiting_pod(deployment, pool)
    if pod is not None:
        return asking.why_pod(user, pod)
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
