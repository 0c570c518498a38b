"""Changing a deployment with the wizard's fields on one page; YAML is the other way (S3)."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from apps.common import refusals
from apps.deployments import selectors
from apps.deployments.change_forms import (
    PoolForm,
    ServerForm,
    changed,
    needs_yaml,
    pool_initial,
    server_initial,
)
from apps.deployments.models import Deployment
from apps.deployments.planning import plan
from apps.deployments.rendering import asked_of, standing
from apps.deployments.review_views import held_versions, review
from apps.deployments.wizard_views import on_form
from apps.tenancy.models import Role, Tenant
from apps.tenancy.selectors import tenant_for
from domain.asked import Asked
from domain.errors import DomainError


@dataclass(slots=True)
class Change:
    server: ServerForm
    pools: list[PoolForm]

    @property
    def forms(self) -> list[Any]:
        return [self.server, *self.pools]

    def is_valid(self) -> bool:
        valid = [form.is_valid() for form in self.forms]  # all of them, to show every error
        return all(valid)

    def kept(self) -> list[tuple[str, str]]:
        """What was posted, for the way back from the review."""
        return [
            (form.add_prefix(name), str(form.data[form.add_prefix(name)]))
            for form in self.forms
            for name in form.fields
            if form.add_prefix(name) in form.data
        ]

    def refuse(self, refusal: DomainError) -> None:
        """Show it beside the field of the pool that it names, else with what runs."""
        where = getattr(refusal, "field", "")
        for index, pool in enumerate(self.pools):
            if where.startswith(f"pools[{index}]"):
                refusals.show(pool, on_form(refusal))
                return
        refusals.show(self.server, on_form(refusal))


@require_http_methods(["GET", "POST"])
@login_required
def deployment_change(request: HttpRequest, tenant: str, name: str) -> HttpResponse:
    found = tenant_for(request.user, tenant, role=Role.EDITOR)
    deployment = selectors.deployment_of(found, name)
    asked = asked_of(deployment)
    if needs_yaml(asked):
        messages.info(request, "Some of its values do not fit into a form: it is changed as YAML.")
        return redirect("deployments:edit", found.slug, deployment.name)
    change = _change(request, deployment, asked)
    if request.method == "POST" and "back" not in request.POST and change.is_valid():
        try:
            wanted = changed(asked, change.server, change.pools)
            made = plan(tenant=found, asked=wanted, held=held_versions(deployment))
            return review(request, found, made, deployment=deployment, kept=change.kept())
        except DomainError as refusal:
            change.refuse(refusal)
    return _form(request, found, deployment, change)


def _change(request: HttpRequest, deployment: Deployment, asked: Asked) -> Change:
    data = request.POST if request.method == "POST" else None
    return Change(
        ServerForm(data, initial=server_initial(asked)),
        [
            PoolForm(data, pool=pool, initial=pool_initial(asked, pool))
            for pool in standing(deployment)
        ],
    )


def _form(
    request: HttpRequest, tenant: Tenant, deployment: Deployment, change: Change
) -> HttpResponse:
    context = {"tenant": tenant, "deployment": deployment, "change": change}
    status = 422 if any(form.errors for form in change.forms) else 200
    return render(request, "deployments/change.html", context, status=status)
