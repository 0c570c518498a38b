"""Asking the placement worker whether a plan would fit, before it is submitted."""

from typing import Any

from apps.common import asks
from apps.common.models import Ask
from apps.deployments.planning import Plan
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
