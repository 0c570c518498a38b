"""A tenant's deployments: the list, one deployment live, and what may be done with it."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from apps.common import asks, refusals, tables
from apps.common.etags import etag_of, not_modified, stamp
from apps.common.htmx import render_page, wants_part
from apps.deployments import gateways, placement, selectors, services
from apps.deployments.forms import ScaleForm
from apps.deployments.models import Deployment
from apps.deployments.rendering import asked_of, manifests_of
from apps.deployments.tables import DEPLOYMENTS
from apps.inventory.selectors import freshness_of
from apps.tenancy.models import Role, Tenant
from apps.tenancy.selectors import role_in, tenant_for, tenants_of
from domain import diffs
from domain.asked import short_content
from domain.errors import DomainError


def why_not_change(user: Any, tenant: Tenant) -> str:
    """Why this person may not change a deployment; empty when they may."""
    role = role_in(user, tenant)
    if role is None or role < Role.EDITOR:
        return "This needs the role editor in the tenant."
    return "The tenant is retired." if tenant.retired_at else ""


@require_GET
@login_required
def deployment_list(request: HttpRequest, tenant: str) -> HttpResponseBase:
    found = tenant_for(request.user, tenant)
    rows = selectors.deployments_of(found, retired=request.GET.get("retired") == "true")
    return tables.respond(
        request,
        DEPLOYMENTS,
        rows,
        "deployments/list.html",
        revision=lambda: selectors.list_revision(found),
        context=lambda: {"tenant": found, "why_not": why_not_change(request.user, found)},
    )


@require_GET
@login_required
def deployment_page(request: HttpRequest, tenant: str, name: str) -> HttpResponse:
    found = tenant_for(request.user, tenant)
    deployment = selectors.deployment_of(found, name)
    stale = _is_stale(deployment)
    etag = etag_of(request, selectors.revision_of(deployment), stale)
    if wants_part(request) and (answer := not_modified(request, etag)):
        return answer
    pools = list(deployment.pools.all())
    ready = selectors.ready_pod(pools)
    endpoint = selectors.endpoint_of(deployment)
    context = {
        "tenant": found,
        "deployment": deployment,
        "summary": selectors.summary_of(deployment),
        "pools": [(pool, selectors.conditions_of(pool)) for pool in pools],
        "expected": str(selectors.summary_of(deployment).wanted),
        "range": request.GET.get("range", "1h")[:4],
        "from_outside": endpoint.from_outside(ready) if ready else "",
        "endpoint": endpoint,
        "gateway_url": gateways.url_of(deployment),
        "gateway_curl": gateways.curl_of(deployment, endpoint.path),
        "stale": stale,
        "why_not": why_not_change(request.user, found),
        "etag": etag,
    }
    return stamp(render_page(request, "deployments/detail.html", context, part="live"), etag)


def _is_stale(deployment: Deployment) -> bool:
    """What is shown is as old as what the watch last heard of the cluster."""
    if deployment.retired_at is not None:
        return False
    return freshness_of(deployment.cluster).kind == "stale"


@require_GET
@login_required
def deployment_objects(request: HttpRequest, tenant: str, name: str) -> HttpResponse:
    """What was asked for, and the objects that it becomes."""
    found = tenant_for(request.user, tenant)
    deployment = selectors.deployment_of(found, name)
    try:
        manifests = "---\n".join(diffs.to_yaml(one) for one in manifests_of(deployment))
        problem = ""
    except DomainError as refusal:
        manifests, problem = "", str(refusal)
    context = {
        "tenant": found,
        "deployment": deployment,
        "asked": diffs.to_yaml(short_content(asked_of(deployment))),
        "manifests": manifests,
        "problem": problem,
    }
    return render(request, "deployments/objects.html", context)


@require_GET
@login_required
def deployment_logs(request: HttpRequest, tenant: str, name: str, pod: str) -> HttpResponse:
    """The end of a pod's log, asked of the cluster."""
    found = tenant_for(request.user, tenant)
    deployment = selectors.deployment_of(found, name)
    if pod not in selectors.pod_names(deployment):
        raise Http404
    question = {
        "namespace": deployment.namespace,
        "pod": pod,
        "previous": request.GET.get("previous") == "true",
    }
    ask = asks.put(
        "deployments.logs",
        question,
        asked_by=request.user,
        cluster_id=deployment.cluster_id,
        tenant_id=found.pk,
    )
    context = {
        "tenant": found,
        "deployment": deployment,
        "pod": pod,
        "ask": asks.wait(ask),
        "previous": question["previous"],
    }
    return render(request, "deployments/logs.html", context)


@require_POST
@login_required
def deployment_try(request: HttpRequest, tenant: str, name: str) -> HttpResponse:
    """Ask a ready server for its models, through the API server."""
    found = tenant_for(request.user, tenant)
    deployment = selectors.deployment_of(found, name)
    pod = selectors.ready_pod(list(deployment.pools.all()))
    if pod is None:
        return render(request, "deployments/not_ready.html", {"deployment": deployment})
    endpoint = selectors.endpoint_of(deployment)
    ask = asks.put(
        "deployments.try",
        {
            "namespace": deployment.namespace,
            "pod": pod,
            "port": endpoint.port,
            "path": endpoint.path,
        },
        asked_by=request.user,
        cluster_id=deployment.cluster_id,
        tenant_id=found.pk,
    )
    return render(request, "parts/ask.html", {"ask": asks.wait(ask)})


@require_GET
@login_required
def pool_why(request: HttpRequest, tenant: str, name: str, pool: str) -> HttpResponse:
    """The part that asks, filter by filter, where the devices for a pool's claim are lost."""
    found = tenant_for(request.user, tenant)
    deployment = selectors.deployment_of(found, name)
    row = get_object_or_404(deployment.pools, name=pool)
    ask = placement.ask_why(request.user, deployment, row)
    if ask is None:
        return render(request, "deployments/why_plugin.html", {"pool": row})
    return render(request, "parts/ask.html", {"ask": asks.wait(ask)})


@require_POST
@login_required
def pool_scale(request: HttpRequest, tenant: str, name: str, pool: str) -> HttpResponse:
    found = tenant_for(request.user, tenant, role=Role.EDITOR)
    deployment = selectors.deployment_of(found, name)
    row = get_object_or_404(deployment.pools, name=pool)
    form = ScaleForm(request.POST)
    if form.is_valid():
        try:
            services.scale_pool(actor=request.user, pool=row, **form.cleaned_data)  # type: ignore[arg-type]
            messages.success(request, f"{row} is scaled to {form.cleaned_data['replicas']}.")
        except refusals.Refusal as refusal:
            messages.error(request, refusals.sentence(refusal))
    else:
        messages.error(request, "Replicas are a number from 0 to 1000.")
    return redirect("deployments:detail", found.slug, name)


@require_POST
@login_required
def deployment_step(request: HttpRequest, tenant: str, name: str, step: str) -> HttpResponse:
    """Restart, put back or retire."""
    found = tenant_for(request.user, tenant, role=Role.EDITOR)
    deployment = selectors.deployment_of(found, name)
    actor: Any = request.user
    given = request.POST.get("generation", "")
    generation = int(given) if given.isdigit() else None
    try:
        if step == "restart":
            services.restart_deployment(actor=actor, deployment=deployment, generation=generation)
            messages.success(request, f"The pods of {name} are being replaced.")
        elif step == "put-back":
            services.put_back_deployment(actor=actor, deployment=deployment)
            messages.success(request, f"{name} is being put back.")
        else:
            services.retire_deployment(actor=actor, deployment=deployment, generation=generation)
            messages.success(request, f"{name} is being taken out of the cluster.")
    except refusals.Refusal as refusal:
        messages.error(request, refusals.sentence(refusal))
    return redirect("deployments:detail", found.slug, name)


@require_GET
@login_required
def summary(request: HttpRequest) -> HttpResponse:
    """The overview's card: how many serve, and which do not."""
    tenants = tenants_of(request.user)
    if only := request.GET.get("tenant"):
        tenants = tenants.filter(slug=only)
    rows = selectors.live_of(tenants, cluster=request.GET.get("cluster", ""))
    etag = etag_of(request, selectors.revision_of_many(rows))
    if answer := not_modified(request, etag):
        return answer
    context = selectors.counted(rows)
    return stamp(render(request, "deployments/summary.html", context), etag)
