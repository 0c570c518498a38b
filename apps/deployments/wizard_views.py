"""Deploying and changing by wizard or YAML; both end on the same review page (S3)."""

import re
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from apps.catalog import selectors as catalog
from apps.common import asks, refusals
from apps.common.htmx import posted
from apps.deployments import placement, selectors, services
from apps.deployments.forms import PREFIX, ModelStep, PatternStep, SizeStep, YamlForm, asked_by
from apps.deployments.models import Deployment
from apps.deployments.planning import Plan, plan
from apps.deployments.rendering import asked_of, manifests_of
from apps.quotas import selectors as quotas
from apps.tenancy.models import Role, Tenant
from apps.tenancy.selectors import tenant_for
from domain import diffs, quota
from domain.asked import Asked, asked_from_yaml, short_content
from domain.errors import DomainError, InvalidValue

STEPS = (("pattern", "Pattern"), ("model", "Model"), ("size", "Size"), ("review", "Review"))
EXAMPLE = """\
name: llama
cluster: {cluster}
runtime: vllm
image: docker.io/vllm/vllm-openai:v0.33.0
model: meta-llama/Llama-3.1-8B-Instruct
cpu: "4"
memory: 16Gi
pools:
- pattern: {pattern}
  replicas: 1
  params: {{}}
"""


@dataclass(slots=True)
class Wizard:
    """All steps, bound to what was posted; a step that has not come yet is unbound."""

    pattern: PatternStep
    model: ModelStep
    size: SizeStep

    def form(self, step: str) -> forms.Form:
        return {"pattern": self.pattern, "model": self.model, "size": self.size}[step]

    def kept(self, shown: str) -> list[tuple[str, str]]:
        """Values of the other steps, for hidden fields."""
        return [
            (name, str(form.data[name]))
            for step, form in (
                ("pattern", self.pattern),
                ("model", self.model),
                ("size", self.size),
            )
            if step != shown
            for name in form.fields
            if name in form.data
        ]


def _wizard(request: HttpRequest, tenant: Tenant) -> Wizard:
    data = request.POST
    version = catalog.approved_pattern_version(data.get("pattern", ""))
    return Wizard(
        PatternStep(data if "pattern" in data else None, tenant=tenant),
        ModelStep(data if "name" in data else None),
        SizeStep(data if "replicas" in data else None, version=version),
    )


@require_http_methods(["GET", "POST"])
@login_required
def deployment_new(request: HttpRequest, tenant: str) -> HttpResponse:
    """One step at a time; every step carries the answers of the others along."""
    found = tenant_for(request.user, tenant, role=Role.EDITOR)
    wizard = _wizard(request, found)
    at = request.POST.get("at", "pattern")
    order = [name for name, _ in STEPS]
    if request.method == "GET" or at not in order:
        return _step(request, found, wizard, "pattern")
    index = order.index(at)
    if "back" in request.POST:
        return _step(request, found, wizard, order[max(0, index - 1)])
    form = wizard.form(at)
    # A step that is shown for the first time is bound to nothing and has no errors to show.
    if not form.is_bound or not form.is_valid():
        return _step(request, found, wizard, at, status=422)
    if at != "size":
        return _step(request, found, wizard, order[index + 1])
    return _to_review(request, found, wizard)


def _to_review(request: HttpRequest, tenant: Tenant, wizard: Wizard) -> HttpResponse:
    for step in ("pattern", "model"):
        if not wizard.form(step).is_valid():
            return _step(request, tenant, wizard, step, status=422)
    try:
        asked = asked_by(wizard.pattern, wizard.model, wizard.size)
        made = plan(tenant=tenant, asked=asked)
    except DomainError as refusal:
        step = _step_of(refusal)
        refusals.show(wizard.form(step), _on_form(refusal))
        return _step(request, tenant, wizard, step, status=422)
    return _review(request, tenant, made, kept=wizard.kept(""))


def _step_of(refusal: DomainError) -> str:
    """The step that holds the field which was refused."""
    field = getattr(refusal, "field", "")
    if field.startswith("pools") and "params" in field:
        return "size"
    return "pattern" if field.startswith("pools") or field == "cluster" else "model"


def _on_form(refusal: DomainError) -> DomainError:
    """The same refusal, with its path in the request as the name of a field of the wizard."""
    if not isinstance(refusal, InvalidValue):
        return refusal
    name = re.sub(r"\[\d+\].*", "", refusal.field)
    if refusal.field.startswith("pools[0]."):
        name = refusal.field.removeprefix("pools[0].").replace("params.", PREFIX)
    return InvalidValue(str(refusal), field=name)


def _step(
    request: HttpRequest, tenant: Tenant, wizard: Wizard, step: str, status: int = 200
) -> HttpResponse:
    context = {
        "tenant": tenant,
        "steps": STEPS,
        "step": step,
        "done": [name for name, _ in STEPS[: [one for one, _ in STEPS].index(step)]],
        "form": wizard.form(step),
        "kept": wizard.kept(step),
        "is_first": step == "pattern",
        "patterns": catalog.usable_patterns(tenant),
        "clusters": list(quotas.clusters_of(tenant)),
    }
    return render(request, "deployments/wizard.html", context, status=status)


@require_http_methods(["GET", "POST"])
@login_required
def deployment_yaml(request: HttpRequest, tenant: str) -> HttpResponse:
    """The same as one YAML document."""
    found = tenant_for(request.user, tenant, role=Role.EDITOR)
    clusters = list(quotas.clusters_of(found))
    versions = catalog.usable_patterns(found)
    example = EXAMPLE.format(
        cluster=clusters[0].slug if clusters else "my-cluster",
        pattern=versions[0].pattern.slug if versions else "my-pattern",
    )
    form = YamlForm(posted(request), initial={"yaml": example})
    return _yaml_editor(request, found, form, None)


@require_http_methods(["GET", "POST"])
@login_required
def deployment_edit(request: HttpRequest, tenant: str, name: str) -> HttpResponse:
    """Change a deployment as YAML; the review shows the difference."""
    found = tenant_for(request.user, tenant, role=Role.EDITOR)
    deployment = selectors.deployment_of(found, name)
    held = diffs.to_yaml(short_content(asked_of(deployment)))
    form = YamlForm(posted(request), initial={"yaml": held})
    return _yaml_editor(request, found, form, deployment)


def _yaml_editor(
    request: HttpRequest, tenant: Tenant, form: YamlForm, deployment: Deployment | None
) -> HttpResponse:
    if request.method == "POST" and "edit" not in request.POST and form.is_valid():
        try:
            asked = asked_from_yaml(form.cleaned_data["yaml"])
            made = plan(tenant=tenant, asked=asked, held=_held(deployment))
            return _review(request, tenant, made, deployment=deployment)
        except DomainError as refusal:
            refusals.show(form, refusal)
    context = {"tenant": tenant, "form": form, "deployment": deployment}
    status = 422 if form.errors else 200
    return render(request, "deployments/yaml.html", context, status=status)


def _held(deployment: Deployment | None) -> dict[str, int]:
    if deployment is None:
        return {}
    return {pool.name: pool.pattern_version_id for pool in deployment.pools.all()}


def _review(
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


@require_POST
@login_required
def deployment_submit(request: HttpRequest, tenant: str) -> HttpResponse:
    """Carry out what was reviewed: the YAML of the review is what counts."""
    found = tenant_for(request.user, tenant, role=Role.EDITOR)
    actor: Any = request.user
    name = request.POST.get("deployment", "")
    deployment = selectors.deployment_of(found, name) if name else None
    form = YamlForm(request.POST)
    if not form.is_valid():
        return _yaml_editor(request, found, form, deployment)
    try:
        asked = asked_from_yaml(form.cleaned_data["yaml"])
        made = _carry_out(actor, found, deployment, asked, request.POST.get("generation", ""))
    except refusals.Refusal as refusal:
        refusals.show(form, refusal)
        context = {"tenant": found, "form": form, "deployment": deployment}
        return render(request, "deployments/yaml.html", context, status=422)
    messages.success(request, f"{made} is on its way.")
    return redirect("deployments:detail", found.slug, made.name)


def _carry_out(
    actor: Any, tenant: Tenant, deployment: Deployment | None, asked: Asked, generation: str
) -> Deployment:
    if deployment is None:
        return services.create_deployment(actor=actor, tenant=tenant, asked=asked)
    seen = int(generation) if generation.isdigit() else None
    return services.update_deployment(
        actor=actor, deployment=deployment, asked=asked, generation=seen
    )
