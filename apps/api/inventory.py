"""Clusters, nodes and devices as last seen. For platform roles; members see their clusters."""

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api import lists
from apps.api.base import Api, ListApi
from apps.inventory.models import Cluster, Device, Mode, Node
from apps.tenancy.models import PlatformRole
from apps.tenancy.selectors import require_platform, tenants_of


class ClusterOut(serializers.ModelSerializer):
    mode = serializers.ChoiceField(choices=Mode.choices)

    class Meta:
        model = Cluster
        fields = (
            "slug",
            "name",
            "server",
            "mode",
            "version",
            "features",
            "rights",
            "credentials_expire_at",
            "checked_at",
            "heard_at",
            "problem",
            "retired_at",
        )
        read_only_fields = fields


class NodeOut(serializers.ModelSerializer):
    cluster = serializers.CharField(source="cluster.slug", read_only=True)

    class Meta:
        model = Node
        fields = (
            "id",
            "cluster",
            "name",
            "is_ready",
            "is_schedulable",
            "path",
            "physical",
            "in_dra",
            "in_plugin",
            "free",
            "unhealthy",
            "unknown",
            "at_least",
            "product",
            "driver",
            "driver_version",
            "mig",
            "node_pool",
            "zone",
            "faults",
        )
        read_only_fields = fields


class DeviceOut(serializers.ModelSerializer):
    cluster = serializers.CharField(source="cluster.slug", read_only=True)
    node = serializers.CharField(source="node_name", read_only=True)

    class Meta:
        model = Device
        fields = (
            "id",
            "cluster",
            "node",
            "driver",
            "pool",
            "name",
            "card",
            "type",
            "path",
            "mode",
            "state",
            "card_state",
            "uuid",
            "profile",
            "product",
            "memory_mib",
            "driver_version",
            "reason",
            "taints",
            "device_class",
            "holders",
            "is_vanished",
        )
        read_only_fields = fields


def clusters_for(user: Any) -> QuerySet[Cluster]:
    """All for platform roles, else those in which a tenant of theirs has a namespace."""
    if user.is_platform:
        return Cluster.objects.all()
    tenants = tenants_of(user)
    return Cluster.objects.filter(
        pk__in=Cluster.objects.filter(tenant_namespaces__tenant__in=tenants).values("pk")
    )


class ClustersApi(ListApi):
    serializer_class = ClusterOut
    table = lists.CLUSTERS

    def get_queryset(self) -> QuerySet[Cluster]:
        return clusters_for(self.request.user)

    @extend_schema(operation_id="clusters_list", summary="Clusters")
    def get(self, request: Request) -> Response:
        return self.listed()


class ClusterApi(Api):
    serializer_class = ClusterOut

    @extend_schema(operation_id="clusters_read", summary="A cluster")
    def get(self, request: Request, cluster: str) -> Response:
        return self.shown(get_object_or_404(clusters_for(request.user), slug=cluster))


class NodesApi(ListApi):
    serializer_class = NodeOut
    table = lists.NODES

    def get_queryset(self) -> QuerySet[Node]:
        require_platform(self.request.user, *PlatformRole)
        return Node.objects.select_related("cluster")

    @extend_schema(operation_id="nodes_list", summary="Nodes with their cards counted")
    def get(self, request: Request) -> Response:
        return self.listed()


class NodeApi(Api):
    serializer_class = NodeOut

    @extend_schema(operation_id="nodes_read", summary="A node")
    def get(self, request: Request, node_id: int) -> Response:
        require_platform(request.user, *PlatformRole)
        return self.shown(get_object_or_404(Node.objects.select_related("cluster"), pk=node_id))


class DevicesApi(ListApi):
    serializer_class = DeviceOut
    table = lists.DEVICES

    def get_queryset(self) -> QuerySet[Device]:
        require_platform(self.request.user, *PlatformRole)
        return Device.objects.select_related("cluster")

    @extend_schema(operation_id="devices_list", summary="Devices, whole and in parts")
    def get(self, request: Request) -> Response:
        return self.listed()


class DeviceApi(Api):
    serializer_class = DeviceOut

    @extend_schema(operation_id="devices_read", summary="A device with its holders")
    def get(self, request: Request, device_id: int) -> Response:
        require_platform(request.user, *PlatformRole)
        return self.shown(get_object_or_404(Device.objects.select_related("cluster"), pk=device_id))
