from datetime import UTC, date, datetime, time
from typing import Any

import django_filters as filters
from django import forms
from django.apps import apps
from django.db.models import QuerySet

from apps.audit.models import Entry


def _day() -> forms.DateInput:
    return forms.DateInput(attrs={"type": "date"})


class EntryFilters(filters.FilterSet):
    actor = filters.CharFilter(field_name="actor_name", label="Who")
    verb = filters.CharFilter(field_name="verb", label="Action")
    kind = filters.CharFilter(method="of_kind", label="Kind of object")
    subject = filters.NumberFilter(field_name="subject_id", label="Object's number")
    tenant = filters.CharFilter(method="of_tenant", label="Tenant")
    request_id = filters.CharFilter(label="Request")
    since = filters.DateFilter(method="from_day", label="From day (UTC)", widget=_day())
    until = filters.DateFilter(method="to_day", label="To day (UTC)", widget=_day())

    class Meta:
        model = Entry
        fields: list[str] = []

    def from_day(self, rows: QuerySet[Entry], name: str, value: date) -> QuerySet[Entry]:
        return rows.filter(at__gte=datetime.combine(value, time.min, UTC))

    def to_day(self, rows: QuerySet[Entry], name: str, value: date) -> QuerySet[Entry]:
        return rows.filter(at__lte=datetime.combine(value, time.max, UTC))

    def of_kind(self, rows: QuerySet[Entry], name: str, value: str) -> QuerySet[Entry]:
        """ "device class" as it is shown or, exactly, "catalog.deviceclass"."""
        label = value.lower().replace(" ", "")
        if "." in label:
            return rows.filter(subject_kind=label)
        return rows.filter(subject_kind__endswith=f".{label}")

    def of_tenant(self, rows: QuerySet[Entry], name: str, value: str) -> QuerySet[Entry]:
        # By label, as a foreign key would: this is the lowest room and imports none above it.
        tenants: Any = apps.get_model("tenancy", "Tenant")
        found = tenants.objects.filter(slug=value).values("pk")
        return rows.filter(tenant_id__in=found)
