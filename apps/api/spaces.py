"""A tenant's place in a cluster: giving it one, and taking it back."""

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from apps.api.asks import AskOut, answered
from apps.api.base import Api
from apps.common import asks
from apps.inventory.models import Cluster
from apps.quotas import services
from apps.quotas.models import TenantNamespace
from apps.tenancy.models import PlatformRole, Tenant
from apps.tenancy.selectors import require_platform, tenant_for


class SpaceOut(serializers.ModelSerializer):
    cluster = serializers.CharField(source="cluster.slug", read_only=True)

    class Meta:
        model = TenantNamespace
        fields = (
            "cluster",
            "namespace",
            "adopted",
            "generation",
            "observed_generation",
            "conditions",
            "drift",
            "proposal",
            "leaving_at",
            "created_at",
        )
        read_only_fields = fields


class SpaceIn(serializers.Serializer):
    cluster = serializers.SlugField(max_length=50)
    namespace = serializers.CharField(max_length=63)
    adopt = serializers.BooleanField(
        default=False, help_text="It exists in the cluster already: label it and take it over."
    )


class SpacesApi(Api):
    serializer_class = SpaceOut

    @extend_schema(
        operation_id="tenant_clusters_list",
        summary="The clusters that a tenant has, each with its namespace",
        responses=SpaceOut(many=True),
    )
    def get(self, request: Request, tenant: str) -> Response:
        rows = _spaces(tenant_for(request.user, tenant))
        return Response(self.get_serializer(rows, many=True).data)

    @extend_schema(
        operation_id="tenant_clusters_give",
        summary="Give a tenant a cluster",
        request=SpaceIn,
        responses={201: SpaceOut},
    )
    def post(self, request: Request, tenant: str) -> Response:
        require_platform(request.user, PlatformRole.ADMIN)
        given = self.asked(SpaceIn)
        cluster = get_object_or_404(Cluster, slug=given.pop("cluster"), retired_at=None)
        found = get_object_or_404(Tenant, slug=tenant)
        row = services.give_cluster(actor=self.actor, tenant=found, cluster=cluster, **given)
        url = reverse("api:tenant-cluster", args=[tenant, cluster.slug], request=request)
        return self.shown(row, version=str(row.generation), status=201, Location=url)


class SpaceApi(Api):
    serializer_class = SpaceOut

    @extend_schema(operation_id="tenant_clusters_read", summary="A tenant's place in a cluster")
    def get(self, request: Request, tenant: str, cluster: str) -> Response:
        row = get_object_or_404(_spaces(tenant_for(request.user, tenant)), cluster__slug=cluster)
        return self.shown(row, version=str(row.generation))

    @extend_schema(
        operation_id="tenant_clusters_take",
        summary="Take a cluster back from a tenant; refused while something of it runs there",
        responses={202: SpaceOut},
    )
    def delete(self, request: Request, tenant: str, cluster: str) -> Response:
        require_platform(request.user, PlatformRole.ADMIN)
        found = get_object_or_404(Tenant, slug=tenant)
        row = get_object_or_404(_spaces(found), cluster__slug=cluster)
        self.require_match(str(row.generation))
        row = services.take_cluster(actor=self.actor, row=row)
        return self.shown(row, version=str(row.generation), status=202)


class KeepApi(Api):
    serializer_class = SpaceOut

    @extend_schema(
        operation_id="tenant_clusters_keep",
        summary="Leave a tenant a cluster that was to be taken back",
        request=None,
    )
    def post(self, request: Request, tenant: str, cluster: str) -> Response:
        require_platform(request.user, PlatformRole.ADMIN)
        found = get_object_or_404(Tenant, slug=tenant)
        row = get_object_or_404(_spaces(found), cluster__slug=cluster)
        row = services.keep_cluster(actor=self.actor, row=row)
        return self.shown(row, version=str(row.generation))


class RemovalApi(Api):
    serializer_class = AskOut

    @extend_schema(
        operation_id="tenant_clusters_removal",
        summary="What taking a cluster back would remove, and what would stay",
        request=None,
        responses={200: AskOut, 202: AskOut},
    )
    def post(self, request: Request, tenant: str, cluster: str) -> Response:
        require_platform(request.user, PlatformRole.ADMIN)
        found = get_object_or_404(Tenant, slug=tenant)
        row = get_object_or_404(_spaces(found), cluster__slug=cluster)
        ask = asks.put(
            "quotas.leaving",
            {"space": row.pk},
            asked_by=self.actor,
            cluster_id=row.cluster_id,
            tenant_id=found.pk,
        )
        return answered(self, asks.wait(ask))


def _spaces(tenant: Tenant) -> QuerySet[TenantNamespace]:
    return TenantNamespace.objects.filter(tenant=tenant).select_related("tenant", "cluster")
