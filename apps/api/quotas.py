"""How many devices of each class a tenant may hold in a cluster, and how many it holds."""

from django.db.models import OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api import lists
from apps.api.base import Api, ListApi
from apps.inventory.models import Cluster
from apps.quotas import selectors, services
from apps.quotas.models import Charge, Quota
from apps.tenancy.models import PlatformRole, Tenant
from apps.tenancy.selectors import require_platform, tenant_for, tenants_of


class QuotaOut(serializers.ModelSerializer):
    tenant = serializers.CharField(source="tenant.slug", read_only=True)
    cluster = serializers.CharField(source="cluster.slug", read_only=True)
    device_class = serializers.CharField(source="device_class.name", read_only=True)
    used = serializers.IntegerField(read_only=True)

    class Meta:
        model = Quota
        fields = ("tenant", "cluster", "device_class", "limit", "used", "updated_at")
        read_only_fields = fields


class LimitsIn(serializers.Serializer):
    limits = serializers.DictField(
        child=serializers.IntegerField(min_value=0, allow_null=True),
        allow_empty=False,
        help_text="Devices by class; null takes the class away, others stay as they are.",
    )


class LimitOut(serializers.Serializer):
    device_class = serializers.CharField()
    limit = serializers.IntegerField(allow_null=True)
    used = serializers.IntegerField()


class LimitsOut(serializers.Serializer):
    tenant = serializers.CharField()
    cluster = serializers.CharField()
    limits = LimitOut(many=True)


class QuotasApi(ListApi):
    serializer_class = QuotaOut
    table = lists.QUOTAS

    def rows(self) -> QuerySet[Quota]:
        held = (
            Charge.objects.filter(
                tenant=OuterRef("tenant"),
                cluster=OuterRef("cluster"),
                class_name=OuterRef("device_class__name"),
            )
            .order_by()
            .values("class_name")
            .annotate(held=Sum("amount"))
            .values("held")
        )
        rows = Quota.objects.filter(tenant__in=tenants_of(self.request.user))
        return rows.select_related("tenant", "cluster", "device_class").annotate(
            used=Coalesce(Subquery(held), 0)
        )

    @extend_schema(
        operation_id="quotas_list",
        summary="Quotas and their use",
        responses=QuotaOut(many=True),
    )
    def get(self, request: Request) -> Response:
        return self.listed()


class TenantQuotasApi(Api):
    serializer_class = LimitsOut

    @extend_schema(operation_id="tenant_quotas_read", summary="A tenant's quotas in a cluster")
    def get(self, request: Request, tenant: str, cluster: str) -> Response:
        return self._shown(tenant_for(request.user, tenant), cluster)

    @extend_schema(
        operation_id="tenant_quotas_set",
        summary="Set a tenant's quotas in a cluster",
        request=LimitsIn,
    )
    def put(self, request: Request, tenant: str, cluster: str) -> Response:
        require_platform(request.user, PlatformRole.ADMIN)
        found = get_object_or_404(Tenant, slug=tenant)
        services.set_quotas(
            actor=self.actor,
            tenant=found,
            cluster=get_object_or_404(Cluster, slug=cluster),
            **self.asked(LimitsIn),
        )
        return self._shown(found, cluster)

    def _shown(self, tenant: Tenant, slug: str) -> Response:
        cluster = get_object_or_404(Cluster, slug=slug)
        limits, used = selectors.limits_of(tenant, cluster), selectors.used_by(tenant, cluster)
        lines = [
            {"device_class": name, "limit": limits.get(name), "used": used.get(name, 0)}
            for name in sorted({*limits, *used})
        ]
        return self.shown({"tenant": tenant.slug, "cluster": slug, "limits": lines})
