from django.db.models import Count
from django.urls import reverse

from apps.common.tables import Column, Table
from apps.tenancy.filters import PeopleFilters, TenantFilters
from apps.tenancy.models import Tenant, User


def tenant_url(tenant: Tenant) -> str:
    return reverse("tenancy:detail", args=[tenant.slug])


TENANTS = Table(
    name="tenants",
    noun=("tenant", "tenants"),
    default_sort="slug",
    search=("slug", "name"),
    search_hint="Find by name",
    filters=TenantFilters,
    columns=(
        Column(key="slug", title="Tenant", sort="slug", fixed=True, link=tenant_url),
        Column(key="name", title="Name", sort="name"),
        Column(
            key="state",
            title="State",
            kind="state",
            value=lambda tenant: "retired" if tenant.retired_at else "active",
        ),
        Column(
            key="members",
            title="Members",
            kind="amount",
            value="members_count",
            annotate={"members_count": Count("members", distinct=True)},
        ),
        Column(
            key="deployments",
            title="Deployments, ever",
            kind="amount",
            shown=False,
            value="deployments_count",
            annotate={"deployments_count": Count("deployments", distinct=True)},
        ),
        Column(key="created_at", title="Since", kind="ago", shown=False),
    ),
    none_yet=(
        "A tenant is a team that serves models: its members, its quota, a namespace per cluster.",
        "tenancy:new",
        "Make a tenant",
    ),
)


def _tenants_of(user: User) -> str:
    return ", ".join(member.tenant.slug for member in user.memberships.all())


PEOPLE = Table(
    name="people",
    noun=("person", "people"),
    default_sort="username",
    search=("username", "full_name"),
    search_hint="Find by name",
    filters=PeopleFilters,
    columns=(
        Column(
            key="username",
            title="Login name",
            sort="username",
            fixed=True,
            link=lambda user: reverse("tenancy:person", args=[user.pk]),
        ),
        Column(key="full_name", title="Name"),
        Column(
            key="roles",
            title="Platform roles",
            value=lambda user: ", ".join(user.platform_roles),
        ),
        Column(key="tenants", title="Tenants", value=_tenants_of),
        Column(
            key="state",
            title="State",
            kind="state",
            value=lambda user: "active" if user.is_active else "revoked",
        ),
        Column(key="last_login", title="Last login", kind="ago"),
    ),
    none_yet=("Everybody who logs in is listed here.", "tenancy:person-new", "Make an account"),
)
