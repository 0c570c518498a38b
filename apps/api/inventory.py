"""Nodes and devices as last seen, for platform roles."""

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api import lists
from apps.api.base import Api, ListApi
from apps.inventory.models import Device, Node
from apps.tenancy.models import PlatformRole
from apps.tenancy.selectors import require_platform


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


class NodesApi(ListApi):
    serializer_class = NodeOut
    table = lists.NODES

    def rows(self) -> QuerySet[Node]:
        require_platform(self.request.user, *PlatformRole)
        return Node.objects.select_related("cluster")

    @extend_schema(
        operation_id="nodes_list",
        summary="Nodes with their cards counted",
        responses=NodeOut(many=True),
    )
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

    def rows(self) -> QuerySet[Device]:
        require_platform(self.request.user, *PlatformRole)
        return Device.objects.select_related("cluster")

    @extend_schema(
        operation_id="devices_list",
        summary="Devices, whole and in parts",
        responses=DeviceOut(many=True),
    )
    def get(self, request: Request) -> Response:
        return self.listed()


class DeviceApi(Api):
    serializer_class = DeviceOut

    @extend_schema(operation_id="devices_read", summary="A device with its holders")
    def get(self, request: Request, device_id: int) -> Response:
        require_platform(request.user, *PlatformRole)
        return self.shown(get_object_or_404(Device.objects.select_related("cluster"), pk=device_id))
