import django_filters as filters

from apps.deployments.models import Deployment


class DeploymentFilters(filters.FilterSet):
    cluster = filters.CharFilter(field_name="cluster__slug", label="Cluster")
    runtime = filters.CharFilter(label="Runtime")
    retired = filters.BooleanFilter(
        field_name="retired_at", lookup_expr="isnull", exclude=True, label="Retired"
    )

    class Meta:
        model = Deployment
        fields: list[str] = []
