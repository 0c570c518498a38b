"""Which HTTPRoute shares a deployment's requests: the portal's own, or one rule of the tenant's."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from apps.common import refusals
from apps.deployments import gateways, handover, selectors, sharing
from apps.deployments.views import why_not_change
from apps.tenancy.models import Role
from apps.tenancy.selectors import tenant_for


class RuleForm(forms.Form):
    route = forms.CharField(max_length=253)
    rule = forms.IntegerField(min_value=0, max_value=1000)
    generation = forms.IntegerField(min_value=0, required=False)


@require_GET
@login_required
def deployment_route(request: HttpRequest, tenant: str, name: str) -> HttpResponse:
    """What shares the requests now, and the rules that could be handed over."""
    found = tenant_for(request.user, tenant)
    deployment = selectors.deployment_of(found, name)
    context = {
        "tenant": found,
        "deployment": deployment,
        "has_gateway": gateways.gateway_of(deployment.cluster) is not None,
        "note": sharing.note(deployment),
        "condition": deployment.routing.get("condition"),
        "rules": handover.rules_of(deployment),
        "why_not": why_not_change(request.user, found),
    }
    return render(request, "deployments/route.html", context)


@require_POST
@login_required
def route_hand_over(request: HttpRequest, tenant: str, name: str) -> HttpResponse:
    found = tenant_for(request.user, tenant, role=Role.EDITOR)
    deployment = selectors.deployment_of(found, name)
    form = RuleForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose a rule of a route.")
        return redirect("deployments:route", found.slug, name)
    actor: Any = request.user
    chosen = form.cleaned_data
    try:
        handover.hand_over(actor=actor, deployment=deployment, **chosen)
        messages.success(request, f"A rule of {chosen['route']} follows the weights.")
    except refusals.Refusal as refusal:
        messages.error(request, refusals.sentence(refusal))
    return redirect("deployments:route", found.slug, name)


@require_POST
@login_required
def route_take_back(request: HttpRequest, tenant: str, name: str) -> HttpResponse:
    found = tenant_for(request.user, tenant, role=Role.EDITOR)
    deployment = selectors.deployment_of(found, name)
    actor: Any = request.user
    try:
        handover.take_back(actor=actor, deployment=deployment)
        messages.success(request, f"{name} gets a route of its own.")
    except refusals.Refusal as refusal:
        messages.error(request, refusals.sentence(refusal))
    return redirect("deployments:route", found.slug, name)
