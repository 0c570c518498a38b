"""Pools side by side: how they share requests, their weights, and the Gateway of a cluster."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.common import refusals
from apps.deployments import gateway_settings, pools, selectors, sharing
from apps.deployments.gateways import missing_apis
from apps.deployments.models import ClusterGateway
from apps.deployments.rendering import standing
from apps.inventory.models import Cluster
from apps.tenancy.models import PlatformRole, Role
from apps.tenancy.selectors import require_platform, tenant_for


@require_GET
@login_required
def deployment_sharing(request: HttpRequest, tenant: str, name: str) -> HttpResponse:
    """The part with the pools side by side."""
    found = tenant_for(request.user, tenant)
    deployment = selectors.deployment_of(found, name)
    context = {
        "tenant": found,
        "deployment": deployment,
        "pools": sharing.sharing(deployment, asked_by=request.user),
        "note": sharing.note(deployment),
        "condition": deployment.routing.get("condition"),
    }
    return render(request, "deployments/sharing.html", context)


@require_POST
@login_required
def deployment_weights(request: HttpRequest, tenant: str, name: str) -> HttpResponse:
    """Share requests anew; the fields are named weight-POOL."""
    found = tenant_for(request.user, tenant, role=Role.EDITOR)
    deployment = selectors.deployment_of(found, name)
    given = {
        pool.name: request.POST.get(f"weight-{pool.name}", "") for pool in standing(deployment)
    }
    generation = request.POST.get("generation", "")
    if not all(text.isascii() and text.isdigit() and len(text) < 4 for text in given.values()):
        messages.error(request, "A weight is a number from 0 to 100.")
        return redirect("deployments:detail", found.slug, name)
    try:
        actor: Any = request.user
        pools.set_weights(
            actor=actor,
            deployment=deployment,
            weights={key: int(text) for key, text in given.items()},
            generation=int(generation) if generation.isdigit() else None,
        )
        messages.success(request, f"The requests of {name} are shared anew.")
    except refusals.Refusal as refusal:
        messages.error(request, refusals.sentence(refusal))
    return redirect("deployments:detail", found.slug, name)


@require_POST
@login_required
def pool_remove(request: HttpRequest, tenant: str, name: str, pool: str) -> HttpResponse:
    found = tenant_for(request.user, tenant, role=Role.EDITOR)
    deployment = selectors.deployment_of(found, name)
    row = get_object_or_404(deployment.pools, name=pool)
    try:
        actor: Any = request.user
        pools.remove_pool(actor=actor, pool=row)
        messages.success(request, f"{row} is being taken out of the cluster.")
    except refusals.Refusal as refusal:
        messages.error(request, refusals.sentence(refusal))
    return redirect("deployments:detail", found.slug, name)


class GatewayForm(forms.ModelForm):
    class Meta:
        model = ClusterGateway
        fields = gateway_settings.FIELDS
        labels = {
            "is_on": "Deployments are reached through this Gateway",
            "namespace": "Namespace of the Gateway",
            "name": "Name of the Gateway",
            "section": "Listener",
            "domain": "Domain",
            "picker_image": "Image of the endpoint picker",
            "failure_mode": "While a pool's picker is away",
            "counter": "PromQL that counts a pool's requests",
        }
        help_texts = {
            "section": "Empty: all listeners of the Gateway.",
            "domain": "A deployment answers at DEPLOYMENT.TENANT.domain.",
            "failure_mode": "What gateways make of it differs; the deployment's page tells what "
            "is known of yours.",
            "counter": "May use $namespace, $inference_pool and $window. Empty: shares are "
            "measured by the model servers' own counters.",
        }
        widgets = {"counter": forms.Textarea(attrs={"rows": 3, "class": "mono"})}


@require_http_methods(["GET", "POST"])
@login_required
def cluster_gateway(request: HttpRequest, cluster: str) -> HttpResponse:
    """The platform team's choice for one cluster."""
    require_platform(request.user, PlatformRole.ADMIN)
    found = get_object_or_404(Cluster, slug=cluster, retired_at=None)
    row = ClusterGateway.objects.filter(cluster=found).first()
    form = GatewayForm(request.POST or None, instance=row or ClusterGateway(cluster=found))
    if request.method == "POST" and form.is_valid():
        try:
            actor: Any = request.user
            gateway_settings.set_gateway(actor=actor, cluster=found, **form.cleaned_data)
            messages.success(request, f"The deployments of {found.name} follow.")
            return redirect("inventory:cluster", found.slug)
        except refusals.Refusal as refusal:
            refusals.show(form, refusal)
    context = {"cluster": found, "form": form, "missing": missing_apis(found)}
    status = 422 if form.is_bound else 200
    return render(request, "deployments/gateway.html", context, status=status)
