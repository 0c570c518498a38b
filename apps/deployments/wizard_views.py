"""Deploying a model step by step; it ends on the review page, as YAML does (S3)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from apps.catalog import selectors as catalog
from apps.common import refusals
from apps.deployments import drafts
from apps.deployments.forms import PREFIX, ModelStep, PatternStep, SizeStep, asked_by
from apps.deployments.planning import plan
from apps.deployments.review_views import STEPS, review
from apps.quotas import selectors as quotas
from apps.tenancy.models import Role, Tenant
from apps.tenancy.selectors import tenant_for
from domain.errors import DomainError, InvalidValue

ORDER = [name for name, _ in STEPS]


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


def _wizard(data: Mapping[str, str], tenant: Tenant) -> Wizard:
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
    if "forget" in request.POST:
        drafts.forget(request, found)
        return redirect("deployments:new", found.slug)
    if request.method == "GET":
        return _resumed(request, found)
    data = {name: str(value) for name, value in request.POST.items()}
    wizard = _wizard(data, found)
    at = data.get("at", "")
    if at not in ORDER:
        return _step(request, found, wizard, "pattern")
    if "back" in data:
        return _step(request, found, wizard, ORDER[max(0, ORDER.index(at) - 1)])
    return _forward(request, found, wizard, at)


def _resumed(request: HttpRequest, tenant: Tenant) -> HttpResponse:
    """The wizard where it was left, or at its beginning."""
    held = drafts.kept(request, tenant)
    wizard = _wizard(held, tenant)
    at = held.get("at", "")
    return _step(request, tenant, wizard, at if at in ORDER[:-1] else "pattern", resumed=bool(held))


def _forward(request: HttpRequest, tenant: Tenant, wizard: Wizard, at: str) -> HttpResponse:
    if at == "review":
        return _to_review(request, tenant, wizard)
    form = wizard.form(at)
    # A step that is shown for the first time is bound to nothing and has no errors to show.
    if not form.is_bound or not form.is_valid():
        return _step(request, tenant, wizard, at, status=422)
    if at != "size":
        return _step(request, tenant, wizard, ORDER[ORDER.index(at) + 1])
    return _to_review(request, tenant, wizard)


def _to_review(request: HttpRequest, tenant: Tenant, wizard: Wizard) -> HttpResponse:
    for step in ORDER[:-1]:
        if not wizard.form(step).is_valid():
            return _step(request, tenant, wizard, step, status=422)
    try:
        asked = asked_by(wizard.pattern, wizard.model, wizard.size)
        made = plan(tenant=tenant, asked=asked)
    except DomainError as refusal:
        step = _step_of(refusal)
        refusals.show(wizard.form(step), on_form(refusal))
        return _step(request, tenant, wizard, step, status=422)
    _keep(request, tenant, wizard, "size")
    return review(request, tenant, made, kept=wizard.kept(""))


def _step_of(refusal: DomainError) -> str:
    """The step that holds the field which was refused."""
    field = getattr(refusal, "field", "")
    if field.startswith("pools") and "params" in field:
        return "size"
    return "pattern" if field.startswith("pools") or field == "cluster" else "model"


def on_form(refusal: DomainError) -> DomainError:
    """The same refusal, with its path in the request as the name of a field of the wizard."""
    if not isinstance(refusal, InvalidValue):
        return refusal
    name = re.sub(r"\[\d+\].*", "", refusal.field)
    if refusal.field.startswith("pools[0]."):
        name = refusal.field.removeprefix("pools[0].").replace("params.", PREFIX)
    return InvalidValue(str(refusal), field=name)


def _step(
    request: HttpRequest,
    tenant: Tenant,
    wizard: Wizard,
    step: str,
    *,
    status: int = 200,
    resumed: bool = False,
) -> HttpResponse:
    if request.method == "POST":
        _keep(request, tenant, wizard, step)
    context = {
        "tenant": tenant,
        "steps": STEPS,
        "step": step,
        "done": ORDER[: ORDER.index(step)],
        "form": wizard.form(step),
        "kept": wizard.kept(step),
        "resumed": resumed,
        "is_first": step == "pattern",
        "patterns": catalog.usable_patterns(tenant),
        "clusters": list(quotas.clusters_of(tenant)),
    }
    return render(request, "deployments/wizard.html", context, status=status)


def _keep(request: HttpRequest, tenant: Tenant, wizard: Wizard, step: str) -> None:
    drafts.keep(request, tenant, {"at": step, **dict(wizard.kept(""))})
