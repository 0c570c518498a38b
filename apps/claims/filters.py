from datetime import timedelta

import django_filters as filters
from django.db.models import QuerySet
from django.utils import timezone

from apps.claims.models import Claim

IDLE_MINUTES = 10


class ClaimFilters(filters.FilterSet):
    state = filters.MultipleChoiceFilter(label="State", choices=Claim.State.choices)
    cluster = filters.CharFilter(field_name="cluster__slug", label="Cluster")
    tenant = filters.CharFilter(label="Tenant")
    namespace = filters.CharFilter(label="Namespace")
    deployment = filters.CharFilter(label="Deployment")
    device_class = filters.CharFilter(label="Class")
    node = filters.CharFilter(field_name="node_name", label="Node")
    idle = filters.BooleanFilter(
        label=f"Allocated, but unused for {IDLE_MINUTES} minutes", method="of_idle"
    )

    class Meta:
        model = Claim
        fields: list[str] = []

    def of_idle(self, rows: QuerySet[Claim], name: str, value: bool) -> QuerySet[Claim]:
        since = timezone.now() - timedelta(minutes=IDLE_MINUTES)
        idle = {"idle_since__lt": since}
        return rows.filter(**idle) if value else rows.exclude(**idle)
