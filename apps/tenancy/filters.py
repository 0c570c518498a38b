import django_filters as filters
from django.db.models import QuerySet

from apps.tenancy.models import PlatformRole, Tenant, User


class TenantFilters(filters.FilterSet):
    state = filters.ChoiceFilter(
        method="of_state",
        label="State",
        choices=[("active", "Active"), ("retired", "Retired")],
    )

    class Meta:
        model = Tenant
        fields: list[str] = []

    def of_state(self, rows: QuerySet[Tenant], name: str, value: str) -> QuerySet[Tenant]:
        return rows.filter(retired_at__isnull=value == "active")


class PeopleFilters(filters.FilterSet):
    role = filters.ChoiceFilter(
        label="Platform role", choices=PlatformRole.choices, method="of_role"
    )
    tenant = filters.CharFilter(field_name="memberships__tenant__slug", label="Tenant")

    class Meta:
        model = User
        fields: list[str] = []

    def of_role(self, rows: QuerySet[User], name: str, value: str) -> QuerySet[User]:
        return rows.filter(platform_roles__contains=[value])
