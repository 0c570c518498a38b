from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.common import refusals, tables
from apps.common.htmx import posted
from apps.tenancy import selectors, services
from apps.tenancy.forms import MemberForm, TenantForm
from apps.tenancy.models import PlatformRole, Role, Tenant
from apps.tenancy.selectors import require_platform, role_in, tenant_for, tenants_of
from apps.tenancy.tables import TENANTS


def may_manage(user: Any, tenant: Tenant) -> bool:
    """Owners manage their members; platform admins those of every tenant."""
    return user.has_platform_role(PlatformRole.ADMIN) or role_in(user, tenant) == Role.OWNER


def _managed(request: HttpRequest, slug: str) -> Tenant:
    tenant = tenant_for(request.user, slug)
    if not may_manage(request.user, tenant):
        raise PermissionDenied("Only an owner of the tenant or a platform admin may do this.")
    return tenant


@require_GET
@login_required
def tenant_list(request: HttpRequest) -> HttpResponseBase:
    rows = tenants_of(request.user)
    return tables.respond(
        request,
        TENANTS,
        rows,
        "tenancy/list.html",
        revision=lambda: selectors.revision(request.user),
        context={"may_create": _is_admin(request)},
        may_make=_is_admin(request),
    )


def _is_admin(request: HttpRequest) -> bool:
    user: Any = request.user
    return bool(user.has_platform_role(PlatformRole.ADMIN))


@require_http_methods(["GET", "POST"])
@login_required
def tenant_new(request: HttpRequest) -> HttpResponse:
    require_platform(request.user, PlatformRole.ADMIN)
    form = TenantForm(posted(request))
    if request.method == "POST" and form.is_valid():
        try:
            tenant = services.create_tenant(actor=request.user, **form.cleaned_data)  # type: ignore[arg-type]
            messages.success(request, f"{tenant.name} is ready for members and clusters.")
            return redirect("tenancy:detail", tenant.slug)
        except refusals.Refusal as refusal:
            refusals.show(form, refusal)
    return render(request, "tenancy/new.html", {"form": form}, status=422 if form.errors else 200)


@require_GET
@login_required
def tenant_page(request: HttpRequest, tenant: str) -> HttpResponse:
    return _page(request, tenant_for(request.user, tenant), MemberForm())


def _page(
    request: HttpRequest, tenant: Tenant, form: MemberForm, status: int = 200
) -> HttpResponse:
    context = {
        "tenant": tenant,
        "members": tenant.members.select_related("user").order_by("-role", "user__username"),
        "may_manage": may_manage(request.user, tenant),
        "is_admin": _is_admin(request),
        "form": form,
        "roles": Role.choices,
    }
    return render(request, "tenancy/detail.html", context, status=status)


@require_POST
@login_required
def member_add(request: HttpRequest, tenant: str) -> HttpResponse:
    found = _managed(request, tenant)
    form = MemberForm(request.POST)
    if form.is_valid():
        try:
            user = services.person(form.cleaned_data["username"])
            services.set_member(
                actor=request.user,  # type: ignore[arg-type]
                tenant=found,
                user=user,
                role=form.cleaned_data["role"],
            )
            messages.success(request, f"{user} is {form.cleaned_data['role'].label.lower()} now.")
            return redirect("tenancy:detail", found.slug)
        except refusals.Refusal as refusal:
            refusals.show(form, refusal)
    return _page(request, found, form, status=422)


@require_POST
@login_required
def member_remove(request: HttpRequest, tenant: str, member_id: int) -> HttpResponse:
    found = _managed(request, tenant)
    member = get_object_or_404(found.members.select_related("user"), pk=member_id)
    try:
        services.remove_member(actor=request.user, member=member)  # type: ignore[arg-type]
        messages.success(request, f"{member.user} is no longer a member.")
    except refusals.Refusal as refusal:
        messages.error(request, refusals.sentence(refusal))
    return redirect("tenancy:detail", found.slug)


@require_POST
@login_required
def tenant_retire(request: HttpRequest, tenant: str) -> HttpResponse:
    require_platform(request.user, PlatformRole.ADMIN)
    found = tenant_for(request.user, tenant)
    services.retire_tenant(actor=request.user, tenant=found)  # type: ignore[arg-type]
    messages.success(request, f"{found.name} is retired; nothing new can be deployed for it.")
    return redirect("tenancy:detail", found.slug)
