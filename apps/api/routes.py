"""What shares the requests of a deployment: the portal's own route, or a rule handed over."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.deployments import DeploymentOut, OneDeploymentApi
from apps.deployments import handover, selectors
from apps.deployments.models import Deployment
from apps.tenancy.selectors import tenant_for


class RuleOut(serializers.Serializer):
    route = serializers.CharField()
    rule = serializers.IntegerField(source="index")
    matches = serializers.CharField()
    filters = serializers.ListField(child=serializers.CharField())
    sends_to = serializers.CharField(help_text="Kind, name and (weight) of each backend.")
    why_not = serializers.CharField(help_text="Why it cannot be handed over; empty when it can.")


class RouteOut(serializers.Serializer):
    route = serializers.SerializerMethodField()
    rule = serializers.SerializerMethodField()
    is_own = serializers.SerializerMethodField()
    rules = serializers.SerializerMethodField()

    @extend_schema_field(serializers.CharField())
    def get_route(self, deployment: Deployment) -> str:
        return str(deployment.handed_over.get("route") or deployment.name)

    @extend_schema_field(serializers.IntegerField(allow_null=True))
    def get_rule(self, deployment: Deployment) -> int | None:
        index: int | None = deployment.handed_over.get("index")
        return index

    @extend_schema_field(serializers.BooleanField())
    def get_is_own(self, deployment: Deployment) -> bool:
        return not deployment.handed_over

    @extend_schema_field(RuleOut(many=True))
    def get_rules(self, deployment: Deployment) -> list[dict[str, object]]:
        return list(RuleOut(handover.rules_of(deployment), many=True).data)


class RouteIn(serializers.Serializer):
    route = serializers.CharField(max_length=253, help_text="An HTTPRoute of the namespace.")
    rule = serializers.IntegerField(min_value=0, max_value=1000, help_text="Counted from 0.")


class RouteApi(OneDeploymentApi):
    serializer_class: Any = RouteOut

    @extend_schema(
        operation_id="deployments_route_read",
        summary="The route that shares its requests, and the rules that could",
        responses={200: RouteOut},
    )
    def get(self, request: Request, tenant: str, name: str) -> Response:
        found = selectors.deployment_of(tenant_for(request.user, tenant), name)
        return self.shown(found)

    @extend_schema(
        operation_id="deployments_route_hand_over",
        summary="Let one rule of an HTTPRoute of yours follow the weights",
        request=RouteIn,
        responses={200: DeploymentOut},
    )
    def put(self, request: Request, tenant: str, name: str) -> Response:
        found, asked = self.editable(tenant, name), self.asked(RouteIn)
        handover.hand_over(
            actor=self.actor, deployment=found, generation=self.generation_of(found), **asked
        )
        return self._whole(found)

    @extend_schema(
        operation_id="deployments_route_take_back",
        summary="The rule is yours again; the deployment gets a route of its own",
        responses={200: DeploymentOut},
    )
    def delete(self, request: Request, tenant: str, name: str) -> Response:
        found = self.editable(tenant, name)
        handover.take_back(actor=self.actor, deployment=found, generation=self.generation_of(found))
        return self._whole(found)

    def _whole(self, found: Deployment) -> Response:
        self.serializer_class = DeploymentOut
        return self.now(found)
