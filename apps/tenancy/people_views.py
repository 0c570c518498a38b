"""People's accounts and platform roles, for platform admins."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from apps.common import refusals, tables
from apps.common.htmx import posted
from apps.tenancy import services
from apps.tenancy.forms import PersonForm, RolesForm
from apps.tenancy.models import PlatformRole, Role, User
from apps.tenancy.selectors import people, require_platform
from apps.tenancy.tables import PEOPLE


def _admin(request: HttpRequest) -> Any:
    require_platform(request.user, PlatformRole.ADMIN)
    return request.user


@require_GET
@login_required
def person_list(request: HttpRequest) -> HttpResponseBase:
    _admin(request)
    return tables.respond(request, PEOPLE, people(), "tenancy/people.html")


@require_http_methods(["GET", "POST"])
@login_required
def person_new(request: HttpRequest) -> HttpResponse:
    actor = _admin(request)
    form = PersonForm(posted(request))
    if request.method == "POST" and form.is_valid():
        try:
            user = services.create_account(actor=actor, **form.cleaned_data)
            messages.success(request, f"{user} can log in now.")
            return redirect("tenancy:person", user.pk)
        except refusals.Refusal as refusal:
            refusals.show(form, refusal)
    status = 422 if form.errors else 200
    return render(request, "tenancy/person_new.html", {"form": form}, status=status)


@require_http_methods(["GET", "POST"])
@login_required
def person_page(request: HttpRequest, person_id: int) -> HttpResponse:
    """One person: their roles, their tenants, whether they may log in."""
    actor = _admin(request)
    rows: QuerySet[User] = people()
    person = get_object_or_404(rows, pk=person_id)
    form = RolesForm(posted(request), initial=_initial(person))
    if request.method == "POST" and form.is_valid():
        try:
            _save(actor, person, form)
            messages.success(request, f"{person} is saved.")
            return redirect("tenancy:person", person.pk)
        except refusals.Refusal as refusal:
            refusals.show(form, refusal)
            person.refresh_from_db()
    context = {
        "person": person,
        "form": form,
        "memberships": [
            (one, Role(one.role).label) for one in person.memberships.select_related("tenant")
        ],
    }
    status = 422 if form.errors else 200
    return render(request, "tenancy/person.html", context, status=status)


def _initial(person: User) -> dict[str, Any]:
    return {"platform_roles": person.platform_roles, "is_active": person.is_active}


def _save(actor: Any, person: User, form: RolesForm) -> None:
    data = form.cleaned_data
    roles = [PlatformRole(one) for one in data["platform_roles"]]
    if sorted(person.platform_roles) != sorted(one.value for one in roles):
        services.set_platform_roles(actor=actor, user=person, roles=roles)
    services.set_active(actor=actor, user=person, is_active=data["is_active"])
    if data["password"]:
        services.set_password(actor=actor, user=person, password=data["password"])
