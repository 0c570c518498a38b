"""ResourceClaims as last seen: all for platform roles, else those of one's tenants."""

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api import lists
from apps.api.base import Api, ListApi
from apps.claims.models import Claim
from apps.claims.selectors import claims_for


class ClaimOut(serializers.ModelSerializer):
    cluster = serializers.CharField(source="cluster.slug", read_only=True)
    node = serializers.CharField(source="node_name", read_only=True)

    class Meta:
        model = Claim
        fields = (
            "id",
            "cluster",
            "namespace",
            "name",
            "uid",
            "state",
            "node",
            "device_class",
            "devices",
            "pods",
            "results",
            "tenant",
            "deployment",
            "model_pool",
            "created_at",
            "allocated_at",
            "idle_since",
        )
        read_only_fields = fields


class ClaimsApi(ListApi):
    serializer_class = ClaimOut
    table = lists.CLAIMS

    def rows(self) -> QuerySet[Claim]:
        return claims_for(self.request.user)

    @extend_schema(operation_id="claims_list", summary="Claims", responses=ClaimOut(many=True))
    def get(self, request: Request) -> Response:
        return self.listed()


class ClaimApi(Api):
    serializer_class = ClaimOut

    @extend_schema(operation_id="claims_read", summary="A claim with the devices it got")
    def get(self, request: Request, claim_id: int) -> Response:
        return self.shown(get_object_or_404(claims_for(request.user), pk=claim_id))
