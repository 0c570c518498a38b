import django_filters as filters
from django.db.models import QuerySet

from apps.catalog.models import Approval, ClaimPattern, DeviceClass, VersionState


class ClassFilters(filters.FilterSet):
    state = filters.ChoiceFilter(
        method="of_state", label="Has a version", choices=VersionState.choices
    )
    cluster = filters.CharFilter(
        field_name="placements__cluster__slug", label="Cluster", distinct=True
    )

    class Meta:
        model = DeviceClass
        fields: list[str] = []

    def of_state(self, rows: QuerySet[DeviceClass], name: str, value: str) -> QuerySet[DeviceClass]:
        return rows.filter(versions__state=value).distinct()


class PatternFilters(filters.FilterSet):
    state = filters.ChoiceFilter(
        method="of_state", label="Has a version", choices=VersionState.choices
    )
    tenant = filters.CharFilter(method="of_tenant", label="Usable by tenant")

    class Meta:
        model = ClaimPattern
        fields: list[str] = []

    def of_state(
        self, rows: QuerySet[ClaimPattern], name: str, value: str
    ) -> QuerySet[ClaimPattern]:
        return rows.filter(versions__state=value).distinct()

    def of_tenant(
        self, rows: QuerySet[ClaimPattern], name: str, value: str
    ) -> QuerySet[ClaimPattern]:
        return (rows.filter(tenants=None) | rows.filter(tenants__slug=value)).distinct()


class ApprovalFilters(filters.FilterSet):
    state = filters.ChoiceFilter(label="State", choices=Approval.State.choices)

    class Meta:
        model = Approval
        fields: list[str] = []
