from typing import Any

import django_filters as filters
from django.db.models import QuerySet

from apps.rollouts.models import Migration, Stage, State

#: States in which a person has to do something.
ATTENTION = (State.WAITING, State.FROZEN, State.ROLLING_BACK, State.FAILED)


class MigrationFilters(filters.FilterSet):
    state = filters.MultipleChoiceFilter(choices=State.choices, label="State")
    stage = filters.MultipleChoiceFilter(choices=Stage.choices, label="Stage")
    cluster = filters.CharFilter(field_name="cluster__slug", label="Cluster")
    tenant = filters.CharFilter(field_name="tenant__slug", label="Tenant")
    attention = filters.BooleanFilter(method="needs_attention", label="Needs attention")

    class Meta:
        model = Migration
        fields: list[str] = []

    def needs_attention(self, rows: QuerySet[Migration], name: str, value: Any) -> Any:
        return rows.filter(state__in=ATTENTION) if value else rows.exclude(state__in=ATTENTION)
