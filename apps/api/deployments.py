"""Deployments: what a tenant serves. The body is the same content as the YAML of the form."""

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from apps.api import lists
from apps.api.base import Api, ListApi
from apps.deployments import selectors, services
from apps.deployments.models import AllocationPath, Deployment, ModelPool, Runtime
from apps.deployments.planning import plan
from apps.deployments.rendering import asked_of
from apps.quotas import selectors as quotas
from apps.tenancy.models import Role, Tenant
from apps.tenancy.selectors import tenant_for, tenants_of
from domain.asked import asked_from, short_content


class EnvIn(serializers.Serializer):
    name = serializers.CharField()
    value = serializers.CharField(required=False)
    secret = serializers.CharField(required=False, help_text="A Secret of the namespace …")
    key = serializers.CharField(required=False, help_text="… and the key in it.")


class OwnIn(serializers.Serializer):
    port = serializers.IntegerField(required=False)
    command = serializers.ListField(child=serializers.CharField(), required=False)
    ready_path = serializers.CharField(required=False)
    live_path = serializers.CharField(required=False)
    metrics_path = serializers.CharField(required=False)


class PoolIn(serializers.Serializer):
    pattern = serializers.CharField(help_text="Slug of a claim pattern.")
    name = serializers.CharField(required=False, help_text="`main` if not given.")
    replicas = serializers.IntegerField(required=False, min_value=0, max_value=1000)
    params = serializers.DictField(required=False, help_text="The pattern's parameters.")
    path = serializers.ChoiceField(choices=AllocationPath.choices, required=False)
    version = serializers.IntegerField(required=False, help_text="0: the newest approved.")
    weight = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=100,
        help_text="Percentage of the requests; given for all pools, or for none.",
    )


class DeploymentIn(serializers.Serializer):
    """Described here, read by domain.asked, which the form and its YAML go through too."""

    name = serializers.CharField(max_length=40)
    cluster = serializers.CharField(help_text="Slug of the cluster.")
    image = serializers.CharField(max_length=300)
    pools = PoolIn(many=True)
    runtime = serializers.ChoiceField(choices=Runtime.choices, required=False)
    model = serializers.CharField(required=False)
    args = serializers.ListField(child=serializers.CharField(), required=False)
    env = EnvIn(many=True, required=False)
    cpu = serializers.CharField(required=False)
    memory = serializers.CharField(required=False)
    startup_minutes = serializers.IntegerField(required=False, min_value=1, max_value=180)
    own = OwnIn(required=False)


class ConditionOut(serializers.Serializer):
    type = serializers.CharField()
    status = serializers.ChoiceField(choices=["True", "False", "Unknown"])
    reason = serializers.CharField()
    message = serializers.CharField()
    generation = serializers.IntegerField()
    transitioned_at = serializers.CharField()


class PoolOut(serializers.ModelSerializer):
    pattern = serializers.CharField(source="pattern_version.pattern.slug", read_only=True)
    version = serializers.IntegerField(source="pattern_version.number", read_only=True)
    params = serializers.DictField(read_only=True)
    charge = serializers.DictField(child=serializers.IntegerField(), read_only=True)
    conditions = serializers.SerializerMethodField()
    pods = serializers.ListField(child=serializers.DictField(), read_only=True)
    claims = serializers.ListField(child=serializers.DictField(), read_only=True)

    class Meta:
        model = ModelPool
        fields = (
            "name",
            "path",
            "pattern",
            "version",
            "params",
            "charge",
            "replicas",
            "weight",
            "retiring_at",
            "conditions",
            "pods",
            "claims",
        )
        read_only_fields = fields

    @extend_schema_field(ConditionOut(many=True))
    def get_conditions(self, pool: ModelPool) -> list[dict[str, Any]]:
        return selectors.conditions_of(pool)


class DeploymentOut(serializers.ModelSerializer):
    tenant = serializers.CharField(source="tenant.slug", read_only=True)
    cluster = serializers.CharField(source="cluster.slug", read_only=True)
    state = serializers.SerializerMethodField()
    message = serializers.SerializerMethodField()
    spec = serializers.SerializerMethodField()
    pools = PoolOut(many=True, read_only=True)
    conditions = ConditionOut(many=True, read_only=True)
    drift = serializers.ListField(read_only=True)
    routing = serializers.DictField(
        read_only=True,
        help_text="What the gateway was last seen to say; empty where no gateway carries it.",
    )

    class Meta:
        model = Deployment
        fields = (
            "tenant",
            "cluster",
            "name",
            "namespace",
            "state",
            "message",
            "generation",
            "observed_generation",
            "spec",
            "pools",
            "conditions",
            "routing",
            "drift",
            "proposal",
            "created_at",
            "retiring_at",
            "retired_at",
        )
        read_only_fields = fields

    def get_state(self, deployment: Deployment) -> str:
        return selectors.summary_of(deployment).word

    def get_message(self, deployment: Deployment) -> str:
        return selectors.summary_of(deployment).message

    @extend_schema_field(DeploymentIn)
    def get_spec(self, deployment: Deployment) -> dict[str, Any]:
        return short_content(asked_of(deployment))


class QuotaLine(serializers.Serializer):
    device_class = serializers.CharField(source="resource")
    limit = serializers.IntegerField(allow_null=True)
    used = serializers.IntegerField()
    after = serializers.IntegerField()
    fits = serializers.BooleanField()


class PreviewOut(serializers.Serializer):
    manifests = serializers.ListField(child=serializers.DictField())
    quota = QuotaLine(many=True)


class ScaleIn(serializers.Serializer):
    replicas = serializers.IntegerField(min_value=0, max_value=1000)
    pool = serializers.CharField(default="main")


def _version(deployment: Deployment) -> str:
    return f"g{deployment.generation}"


class DeploymentsApi(ListApi):
    serializer_class = DeploymentOut
    table = lists.DEPLOYMENTS

    def rows(self) -> QuerySet[Deployment]:
        rows = Deployment.objects.filter(tenant__in=tenants_of(self.request.user))
        return _with_all(rows)

    @extend_schema(
        operation_id="deployments_list",
        summary="Deployments of all your tenants",
        responses=DeploymentOut(many=True),
    )
    def get(self, request: Request) -> Response:
        return self.listed()


def _with_all(rows: QuerySet[Deployment]) -> QuerySet[Deployment]:
    return rows.select_related("tenant", "cluster").prefetch_related(
        "pools__pattern_version__pattern"
    )


class TenantDeploymentsApi(ListApi):
    serializer_class = DeploymentOut
    table = lists.DEPLOYMENTS

    def rows(self) -> QuerySet[Deployment]:
        tenant = tenant_for(self.request.user, self.kwargs["tenant"])
        return _with_all(Deployment.objects.filter(tenant=tenant))

    @extend_schema(
        operation_id="tenant_deployments_list",
        summary="Deployments of a tenant",
        responses=DeploymentOut(many=True),
    )
    def get(self, request: Request, tenant: str) -> Response:
        return self.listed()

    @extend_schema(
        operation_id="deployments_create",
        summary="Deploy a model",
        request=DeploymentIn,
        responses={201: DeploymentOut},
    )
    def post(self, request: Request, tenant: str) -> Response:
        found = tenant_for(request.user, tenant, role=Role.EDITOR)
        made = services.create_deployment(
            actor=self.actor, tenant=found, asked=asked_from(request.data)
        )
        url = reverse("api:deployment", args=[found.slug, made.name], request=request)
        shown = selectors.deployment_of(found, made.name)
        return self.shown(shown, version=_version(shown), status=201, Location=url)


class PreviewApi(Api):
    serializer_class = PreviewOut

    @extend_schema(
        operation_id="deployments_preview",
        summary="What a deployment would apply and take from the quota; nothing is changed",
        request=DeploymentIn,
        responses={200: PreviewOut},
    )
    def post(self, request: Request, tenant: str) -> Response:
        found: Tenant = tenant_for(request.user, tenant)
        planned = plan(tenant=found, asked=asked_from(request.data))
        lines = quotas.lines_of(found, planned.cluster, planned.amounts)
        return self.shown({"manifests": planned.manifests, "quota": lines})


class OneDeploymentApi(Api):
    serializer_class = DeploymentOut

    def editable(self, tenant: str, name: str) -> Deployment:
        """The deployment, for an editor whose If-Match names its generation."""
        found = selectors.deployment_of(
            tenant_for(self.request.user, tenant, role=Role.EDITOR), name
        )
        self.require_match(_version(found))
        return found

    def generation_of(self, deployment: Deployment) -> int | None:
        """What the service must still find: without If-Match the last writer wins."""
        return deployment.generation if "If-Match" in self.request.headers else None

    def now(self, deployment: Deployment) -> Response:
        found = selectors.deployment_of(deployment.tenant, deployment.name)
        return self.shown(found, version=_version(found))


class DeploymentApi(OneDeploymentApi):
    @extend_schema(operation_id="deployments_read", summary="A deployment")
    def get(self, request: Request, tenant: str, name: str) -> Response:
        found = selectors.deployment_of(tenant_for(request.user, tenant), name)
        return self.shown(found, version=_version(found))

    @extend_schema(
        operation_id="deployments_update", summary="Change a deployment", request=DeploymentIn
    )
    def put(self, request: Request, tenant: str, name: str) -> Response:
        found = self.editable(tenant, name)
        services.update_deployment(
            actor=self.actor,
            deployment=found,
            asked=asked_from(request.data),
            generation=self.generation_of(found),
        )
        return self.now(found)

    @extend_schema(
        operation_id="deployments_retire",
        summary="Take everything of it out of the cluster",
        responses={202: DeploymentOut},
    )
    def delete(self, request: Request, tenant: str, name: str) -> Response:
        found = self.editable(tenant, name)
        services.retire_deployment(
            actor=self.actor, deployment=found, generation=self.generation_of(found)
        )
        response = self.now(found)
        response.status_code = 202
        return response


class ScaleApi(OneDeploymentApi):
    @extend_schema(
        operation_id="deployments_scale",
        summary="Change the replicas of a pool",
        request=ScaleIn,
        responses={200: DeploymentOut},
    )
    def post(self, request: Request, tenant: str, name: str) -> Response:
        found = self.editable(tenant, name)
        asked = self.asked(ScaleIn)
        services.scale_pool(
            actor=self.actor,
            pool=get_object_or_404(ModelPool, deployment=found, name=asked["pool"]),
            replicas=asked["replicas"],
            generation=self.generation_of(found),
        )
        return self.now(found)


class RestartApi(OneDeploymentApi):
    @extend_schema(
        operation_id="deployments_restart",
        summary="Replace every pod",
        request=None,
        responses={200: DeploymentOut},
    )
    def post(self, request: Request, tenant: str, name: str) -> Response:
        found = self.editable(tenant, name)
        services.restart_deployment(
            actor=self.actor, deployment=found, generation=self.generation_of(found)
        )
        return self.now(found)
