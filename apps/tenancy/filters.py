import django_filters as filters
from django.db.models import QuerySet

from apps.tenancy.models import Tenant


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
