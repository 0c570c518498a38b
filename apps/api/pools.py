"""Pools of a deployment side by side: added, removed, weighted, measured; a cluster's Gateway."""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.base import Api
from apps.api.deployments import DeploymentOut, OneDeploymentApi, PoolIn
from apps.catalog import selectors as catalog
from apps.deployments import gateway_settings, pools, selectors, sharing
from apps.deployments.models import ClusterGateway, ModelPool
from apps.inventory.models import Cluster
from apps.tenancy.models import PlatformRole
from apps.tenancy.selectors import require_platform, tenant_for
from domain.errors import InvalidValue


class WeightsIn(serializers.Serializer):
    weights = serializers.DictField(
        child=serializers.IntegerField(min_value=0, max_value=100),
        help_text="Percentage of the requests by pool; every pool is named and they add up to 100.",
    )


class PoolShareOut(serializers.Serializer):
    pool = serializers.CharField(source="pool.name")
    weight = serializers.IntegerField(source="pool.weight")
    ready = serializers.IntegerField()
    replicas = serializers.IntegerField(source="pool.replicas")
    expected = serializers.FloatField(allow_null=True, help_text="0 to 1, by what shares requests.")
    measured = serializers.SerializerMethodField()
    state = serializers.SerializerMethodField()
    detail = serializers.SerializerMethodField()
    requests = serializers.SerializerMethodField()
    of_requests = serializers.SerializerMethodField()
    follows = serializers.BooleanField(
        allow_null=True, help_text="Whether the measured share is the expected one, within chance."
    )

    @extend_schema_field(serializers.FloatField(allow_null=True))
    def get_measured(self, one: sharing.PoolSharing) -> float | None:
        return one.share.value if one.share else None

    @extend_schema_field(serializers.CharField())
    def get_state(self, one: sharing.PoolSharing) -> str:
        return str(one.share.state) if one.share else "asking"

    @extend_schema_field(serializers.CharField())
    def get_detail(self, one: sharing.PoolSharing) -> str:
        return one.share.detail if one.share else ""

    @extend_schema_field(serializers.IntegerField(allow_null=True))
    def get_requests(self, one: sharing.PoolSharing) -> int | None:
        return one.share.known if one.share else None

    @extend_schema_field(serializers.IntegerField(allow_null=True))
    def get_of_requests(self, one: sharing.PoolSharing) -> int | None:
        return one.share.total if one.share else None


class SharingOut(serializers.Serializer):
    note = serializers.CharField(help_text="What shares the requests.")
    pools = PoolShareOut(many=True)


class WeightsApi(OneDeploymentApi):
    serializer_class = DeploymentOut

    @extend_schema(
        operation_id="deployments_weights",
        summary="Share the requests between the pools anew",
        request=WeightsIn,
        responses={200: DeploymentOut},
    )
    def post(self, request: Request, tenant: str, name: str) -> Response:
        found = self.editable(tenant, name)
        asked = self.asked(WeightsIn)
        pools.set_weights(
            actor=self.actor,
            deployment=found,
            weights=asked["weights"],
            generation=self.generation_of(found),
        )
        return self.now(found)


class SharingApi(Api):
    serializer_class = SharingOut

    @extend_schema(
        operation_id="deployments_sharing",
        summary="How the requests of the last five minutes were shared",
        responses={200: SharingOut},
    )
    def get(self, request: Request, tenant: str, name: str) -> Response:
        found = selectors.deployment_of(tenant_for(request.user, tenant), name)
        rows = sharing.sharing(found, asked_by=request.user)
        return self.shown({"note": sharing.note(found), "pools": rows})


class PoolsApi(OneDeploymentApi):
    serializer_class = DeploymentOut

    @extend_schema(
        operation_id="deployments_pool_add",
        summary="A pool beside those that are there, without weight yet",
        request=PoolIn,
        responses={201: DeploymentOut},
    )
    def post(self, request: Request, tenant: str, name: str) -> Response:
        found = self.editable(tenant, name)
        asked = self.asked(PoolIn)
        if asked.get("weight"):
            raise InvalidValue("A pool comes without weight.", field="weight")
        version = catalog.approved_pattern_version(asked["pattern"], asked.get("version", 0))
        if version is None:
            raise InvalidValue("There is no such approved pattern.", field="pattern")
        pools.add_pool(
            actor=self.actor,
            deployment=found,
            name=asked.get("name", "main"),
            path=asked.get("path", "dra"),
            pattern_version=version,
            parameters=asked.get("params", {}),
            replicas=asked.get("replicas", 1),
        )
        response = self.now(found)
        response.status_code = 201
        return response


class PoolApi(OneDeploymentApi):
    serializer_class = DeploymentOut

    @extend_schema(
        operation_id="deployments_pool_remove",
        summary="Take a pool without weight out of the cluster",
        responses={202: DeploymentOut},
    )
    def delete(self, request: Request, tenant: str, name: str, pool: str) -> Response:
        found = self.editable(tenant, name)
        row = get_object_or_404(ModelPool, deployment=found, name=pool)
        pools.remove_pool(actor=self.actor, pool=row)
        response = self.now(found)
        response.status_code = 202
        return response


class GatewayContent(serializers.ModelSerializer):
    class Meta:
        model = ClusterGateway
        fields = gateway_settings.FIELDS


class GatewayApi(Api):
    serializer_class = GatewayContent

    def _cluster(self, slug: str) -> Cluster:
        require_platform(self.request.user, PlatformRole.ADMIN)
        return get_object_or_404(Cluster, slug=slug, retired_at=None)

    @extend_schema(
        operation_id="clusters_gateway_read", summary="The Gateway of a cluster's deployments"
    )
    def get(self, request: Request, cluster: str) -> Response:
        found = self._cluster(cluster)
        return self.shown(get_object_or_404(ClusterGateway, cluster=found))

    @extend_schema(
        operation_id="clusters_gateway_set",
        summary="Set it; the deployments of the cluster follow",
        request=GatewayContent,
        responses={200: GatewayContent},
    )
    def put(self, request: Request, cluster: str) -> Response:
        found = self._cluster(cluster)
        wanted: dict[str, Any] = dict(self.asked(GatewayContent))
        return self.shown(gateway_settings.set_gateway(actor=self.actor, cluster=found, **wanted))
