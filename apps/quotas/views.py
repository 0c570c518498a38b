from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.catalog import selectors as catalog
from apps.common import asks, refusals
from apps.common.etags import etag_of, not_modified, stamp
from apps.common.htmx import posted
from apps.inventory.models import Cluster
from apps.quotas import selectors, services
from apps.quotas.forms import NamespaceForm, QuotasForm
from apps.quotas.models import TenantNamespace
from apps.tenancy.models import PlatformRole, Tenant
from apps.tenancy.selectors import require_platform, tenant_for, tenants_of

ROWS = 50


def _is_admin(request: HttpRequest) -> bool:
    user: Any = request.user
    return bool(user.has_platform_role(PlatformRole.ADMIN))


@require_GET
@login_required
def matrix(request: HttpRequest) -> HttpResponse:
    """Tenants by classes, for one cluster (S12)."""
    clusters = selectors.clusters()
    wanted = request.GET.get("cluster", "")
    cluster = next(
        (one for one in clusters if one.slug == wanted), clusters[0] if clusters else None
    )
    context: dict[str, Any] = {
        "clusters": clusters,
        "cluster": cluster,
        "is_admin": _is_admin(request),
    }
    if cluster is not None:
        found = tenants_of(request.user).filter(retired_at=None)
        if only := request.GET.get("tenant"):
            found = found.filter(slug=only)
        page = Paginator(found, ROWS).get_page(request.GET.get("page"))
        names, rows = selectors.matrix(cluster, list(page.object_list))
        context |= {"page": page, "names": names, "rows": rows}
    return render(request, "quotas/matrix.html", context)


@require_GET
@login_required
def of_tenant(request: HttpRequest, tenant: str) -> HttpResponse:
    """The part that shows a tenant's clusters, namespaces and quotas."""
    found = tenant_for(request.user, tenant)
    etag = etag_of(request, selectors.revision(found))
    if answer := not_modified(request, etag):
        return answer
    context = {
        "tenant": found,
        "spaces": [
            (row, selectors.lines_of(found, row.cluster, {}))
            for row in selectors.namespaces_of(found)
        ],
        "is_admin": _is_admin(request),
    }
    return stamp(render(request, "quotas/of_tenant.html", context), etag)


@require_GET
@login_required
def summary(request: HttpRequest) -> HttpResponse:
    """The overview's card: the tenants that are nearest to their limits."""
    only = request.GET.get("tenant", "")
    tenants = tenants_of(request.user).filter(retired_at=None)
    if only:
        tenants = tenants.filter(slug=only)
    rows = selectors.fullest(tenants, cluster=request.GET.get("cluster", ""))
    etag = etag_of(request, rows)
    if answer := not_modified(request, etag):
        return answer
    return stamp(render(request, "quotas/summary.html", {"rows": rows}), etag)


@require_http_methods(["GET", "POST"])
@login_required
def give(request: HttpRequest, tenant: str) -> HttpResponse:
    require_platform(request.user, PlatformRole.ADMIN)
    found = tenant_for(request.user, tenant)
    form = NamespaceForm(posted(request), initial={"namespace": f"team-{found.slug}"})
    if request.method == "POST" and form.is_valid():
        try:
            row = services.give_cluster(actor=request.user, tenant=found, **form.cleaned_data)  # type: ignore[arg-type]
            messages.success(request, f"{row} is being made.")
            return redirect("quotas:edit", found.slug, row.cluster.slug)
        except refusals.Refusal as refusal:
            refusals.show(form, refusal)
    context = {"tenant": found, "form": form}
    return render(request, "quotas/give.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@login_required
def edit(request: HttpRequest, tenant: str, cluster: str) -> HttpResponse:
    """Set a tenant's limits in one cluster."""
    require_platform(request.user, PlatformRole.ADMIN)
    found = tenant_for(request.user, tenant)
    place = get_object_or_404(Cluster, slug=cluster, retired_at=None)
    held = selectors.limits_of(found, place)
    classes = sorted({*catalog.classes_in(place).values_list("name", flat=True), *held})
    form = QuotasForm(posted(request), classes=classes, initial=held)
    if request.method == "POST" and form.is_valid():
        try:
            services.set_quotas(
                actor=request.user,  # type: ignore[arg-type]
                tenant=found,
                cluster=place,
                limits=form.limits(),
            )
            messages.success(request, f"The quotas of {found.name} in {place.name} are saved.")
            return redirect("tenancy:detail", found.slug)
        except refusals.Refusal as refusal:
            refusals.show(form, refusal)
    context = {
        "tenant": found,
        "cluster": place,
        "form": form,
        "lines": selectors.lines_of(found, place, {}),
    }
    return render(request, "quotas/edit.html", context, status=422 if form.errors else 200)


@require_POST
@login_required
def put_back(request: HttpRequest, tenant: str, cluster: str) -> HttpResponse:
    require_platform(request.user, PlatformRole.ADMIN)
    found: Tenant = tenant_for(request.user, tenant)
    row = get_object_or_404(TenantNamespace, tenant=found, cluster__slug=cluster)
    services.put_back_namespace(actor=request.user, row=row)  # type: ignore[arg-type]
    messages.success(request, "It is being put back.")
    return redirect("tenancy:detail", found.slug)


@require_http_methods(["GET", "POST"])
@login_required
def take(request: HttpRequest, tenant: str, cluster: str) -> HttpResponse:
    """Take a cluster back from a tenant: first what would be removed, then the doing."""
    require_platform(request.user, PlatformRole.ADMIN)
    found: Tenant = tenant_for(request.user, tenant)
    row = get_object_or_404(TenantNamespace, tenant=found, cluster__slug=cluster)
    if request.method == "POST":
        try:
            services.take_cluster(actor=request.user, row=row)  # type: ignore[arg-type]
            messages.success(request, f"{row} is being taken back.")
        except refusals.Refusal as refusal:
            messages.error(request, refusals.sentence(refusal))
        return redirect("tenancy:detail", found.slug)
    ask = asks.put(
        "quotas.leaving",
        {"space": row.pk},
        asked_by=request.user,
        cluster_id=row.cluster_id,
        tenant_id=found.pk,
    )
    context = {
        "tenant": found,
        "row": row,
        "ask": asks.wait(ask),
        "lines": selectors.lines_of(found, row.cluster, {}),
    }
    return render(request, "quotas/take.html", context)


@require_POST
@login_required
def keep(request: HttpRequest, tenant: str, cluster: str) -> HttpResponse:
    require_platform(request.user, PlatformRole.ADMIN)
    found: Tenant = tenant_for(request.user, tenant)
    row = get_object_or_404(TenantNamespace, tenant=found, cluster__slug=cluster)
    services.keep_cluster(actor=request.user, row=row)  # type: ignore[arg-type]
    messages.success(request, f"{found.name} keeps {row}.")
    return redirect("tenancy:detail", found.slug)
