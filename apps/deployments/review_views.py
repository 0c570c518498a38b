"""The page on which everything ends before it is carried out: by wizard, form or YAML (S3)."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from apps.common import asks
from apps.deployments import placement
from apps.deployments.models import Deployment
from apps.deployments.planning import Plan
from apps.deployments.rendering import manifests_of
from apps.quotas import selectors as quotas
from apps.tenancy.models import Tenant
from domain import diffs, quota
from domain.asked import short_content

STEPS = (("pattern", "Pattern"), ("model", "Model"), ("size", "Size"), ("review", "Review"))


def held_versions(deployment: Deployment | None) -> dict[str, int]:
    if deployment is None:
        return {}
    return {pool.name: pool.pattern_version_id for pool in deployment.pools.all()}


def review(
    request: HttpRequest,
    tenant: Tenant,
    made: Plan,
    *,
    deployment: Deployment | None = None,
    kept: list[tuple[str, str]] | None = None,
    problem: str = "",
) -> HttpResponse:
    """What will be made, what it takes, whether it fits; nothing is written before Submit."""
    found = [asks.wait(ask, milliseconds=300) for ask in placement.ask(request.user, made)]
    held = _amounts(deployment)
    asked = quota.difference(before=held, after=made.amounts)
    lines = quotas.lines_of(tenant, made.cluster, asked)
    context = {
        "tenant": tenant,
        "deployment": deployment,
        "plan": made,
        "steps": STEPS,
        "step": "review",
        "done": [name for name, _ in STEPS[:-1]],
        "yaml": diffs.to_yaml(short_content(made.asked)),
        "manifests": "---\n".join(diffs.to_yaml(one) for one in made.manifests),
        "diff": _diff(deployment, made) if deployment else "",
        "lines": [line for line in lines if line.resource in made.amounts or line.used],
        "refusal": "" if all(line.fits for line in lines) else _shortfall(tenant, made, asked),
        "asks": found,
        "kept": kept,
        "problem": problem,
    }
    return render(request, "deployments/review.html", context, status=422 if problem else 200)


def _amounts(deployment: Deployment | None) -> dict[str, int]:
    if deployment is None:
        return {}
    return quota.total(quota.times(pool.charge, pool.replicas) for pool in deployment.pools.all())


def _shortfall(tenant: Tenant, made: Plan, asked: dict[str, int]) -> str:
    missing = quota.shortfalls(
        limits=quotas.limits_of(tenant, made.cluster),
        used=quotas.used_by(tenant, made.cluster),
        asked=asked,
    )
    return "; ".join(str(one) for one in missing)


def _diff(deployment: Deployment, made: Plan) -> str:
    before = {_title(one): one for one in manifests_of(deployment)}
    after = {_title(one): one for one in made.manifests}
    return diffs.text(before, after)


def _title(manifest: dict[str, Any]) -> str:
    return f"{manifest['kind']} {manifest['metadata']['name']}"
