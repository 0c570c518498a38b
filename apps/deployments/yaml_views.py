"""Deploying and changing by one YAML document, and carrying out what was reviewed."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from apps.catalog import selectors as catalog
from apps.common import refusals
from apps.common.htmx import posted
from apps.deployments import drafts, selectors, services
from apps.deployments.forms import YamlForm
from apps.deployments.models import Deployment
from apps.deployments.planning import plan
from apps.deployments.rendering import asked_of
from apps.deployments.review_views import held_versions, review
from apps.quotas import selectors as quotas
from apps.tenancy.models import Role, Tenant
from apps.tenancy.selectors import tenant_for
from domain import diffs
from domain.asked import Asked, asked_from_yaml, short_content
from domain.errors import DomainError

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
            made = plan(tenant=tenant, asked=asked, held=held_versions(deployment))
            return review(request, tenant, made, deployment=deployment)
        except DomainError as refusal:
            refusals.show(form, refusal)
    context = {"tenant": tenant, "form": form, "deployment": deployment}
    status = 422 if form.errors else 200
    return render(request, "deployments/yaml.html", context, status=status)


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
    drafts.forget(request, found)
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
