import django_filters as filters
from django.db.models import QuerySet

from apps.inventory.models import Cluster, Device, Mode, Node
from apps.inventory.words import MODES, PATHS, device_word


class ClusterFilters(filters.FilterSet):
    mode = filters.ChoiceFilter(label="Mode", choices=Mode.choices)
    retired = filters.BooleanFilter(
        field_name="retired_at", lookup_expr="isnull", exclude=True, label="Retired"
    )

    class Meta:
        model = Cluster
        fields: list[str] = []


class NodeFilters(filters.FilterSet):
    cluster = filters.CharFilter(field_name="cluster__slug", label="Cluster")
    path = filters.ChoiceFilter(label="Managed by", choices=list(PATHS.items()))
    product = filters.CharFilter(lookup_expr="icontains", label="Model contains")
    driver = filters.CharFilter(lookup_expr="icontains", label="Driver contains")
    node_pool = filters.CharFilter(label="Node pool")
    zone = filters.CharFilter(label="Zone")
    cards = filters.BooleanFilter(field_name="has_cards", label="Has accelerators")
    ready = filters.BooleanFilter(field_name="is_ready", label="Ready")
    free = filters.NumberFilter(field_name="free", lookup_expr="gte", label="Free cards, at least")
    faults = filters.BooleanFilter(label="Needs a look", method="with_faults")

    class Meta:
        model = Node
        fields: list[str] = []

    def with_faults(self, rows: QuerySet[Node], name: str, value: bool) -> QuerySet[Node]:
        return rows.filter(fault_count__gt=0) if value else rows.filter(fault_count=0)


class DeviceFilters(filters.FilterSet):
    state = filters.MultipleChoiceFilter(
        label="State",
        choices=[
            (state, device_word(state).capitalize())
            for state in ("dra", "device-plugin", "free", "blocked", "unhealthy", "unknown")
        ],
    )
    cluster = filters.CharFilter(field_name="cluster__slug", label="Cluster")
    node = filters.CharFilter(field_name="node_name", label="Node")
    path = filters.ChoiceFilter(label="Managed by", choices=list(PATHS.items()))
    mode = filters.ChoiceFilter(label="Mode", choices=list(MODES.items()))
    product = filters.CharFilter(lookup_expr="icontains", label="Model contains")
    profile = filters.CharFilter(label="Partition profile")
    driver = filters.CharFilter(label="Driver")
    pool = filters.CharFilter(label="Device pool")
    device_class = filters.CharFilter(label="Held through class")
    cards = filters.BooleanFilter(field_name="is_card", label="One row for each card")
    memory = filters.NumberFilter(
        field_name="memory_mib", lookup_expr="gte", label="Memory, MiB at least"
    )

    class Meta:
        model = Device
        fields: list[str] = []
