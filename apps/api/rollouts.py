"""Migrations: drawing up, watching, deciding. What each answers is what its page shows."""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from apps.api import lists
from apps.api.base import Api, ListApi
from apps.deployments.models import Deployment
from apps.rollouts import access, selectors, services
from apps.rollouts.models import Migration, Workload
from domain.errors import InvalidValue


class MoveOut(serializers.ModelSerializer):
    deployment = serializers.CharField(source="name", read_only=True)
    tenant = serializers.CharField(
        source="deployment.tenant.slug", read_only=True, allow_null=True, default=None
    )
    wave = serializers.IntegerField(
        source="wave.number", read_only=True, allow_null=True, default=None
    )
    weight = serializers.SerializerMethodField()

    class Meta:
        model = Workload
        fields = (
            "id",
            "deployment",
            "tenant",
            "namespace",
            "way",
            "wave",
            "phase",
            "step",
            "old_pool",
            "new_pool",
            "replicas",
            "weight",
            "finding",
        )
        read_only_fields = fields

    @extend_schema_field(serializers.IntegerField(allow_null=True))
    def get_weight(self, move: Workload) -> int | None:
        if move.deployment is None:
            return None
        pools = {pool.name: pool.weight for pool in move.deployment.pools.all()}
        return pools.get(move.new_pool)


class MigrationOut(serializers.ModelSerializer):
    cluster = serializers.CharField(source="cluster.slug", read_only=True)
    tenant = serializers.CharField(
        source="tenant.slug", read_only=True, allow_null=True, default=None
    )
    scope = serializers.DictField(read_only=True)
    settings = serializers.DictField(read_only=True)
    moves = serializers.SerializerMethodField()

    class Meta:
        model = Migration
        fields = (
            "id",
            "name",
            "cluster",
            "tenant",
            "scope",
            "settings",
            "stage",
            "state",
            "waiting_for",
            "owner",
            "reason",
            "cause",
            "state_since",
            "generation",
            "moves",
            "created_at",
            "started_at",
            "ended_at",
            "rollback_began_at",
            "rollback_ended_at",
        )
        read_only_fields = fields

    @extend_schema_field(MoveOut(many=True))
    def get_moves(self, migration: Migration) -> list[dict[str, Any]]:
        """Workloads of others are the platform's to see: a tenant does not learn of them."""
        rows = selectors.moves_of(migration)
        request = self.context.get("request")
        if request is None or not request.user.is_platform:
            rows = [row for row in rows if row.deployment_id is not None]
        return list(MoveOut(rows, many=True).data)


class DeploymentName(serializers.Serializer):
    tenant = serializers.CharField(max_length=50)
    name = serializers.CharField(max_length=40)


class ScopeIn(serializers.Serializer):
    """Instead of deployments by name; the Inventory finds them."""

    kind = serializers.ChoiceField(choices=["tenant", "resource", "node-pool"])
    names = serializers.ListField(child=serializers.CharField(max_length=253), max_length=100)
    convert_nodes = serializers.BooleanField(required=False)
    probe = serializers.BooleanField(required=False)
    prefer = serializers.ChoiceField(
        choices=["claims", "bridge"],
        required=False,
        help_text="`bridge` is planned, and not carried out yet: the plan says so of each.",
    )


class MigrationIn(serializers.Serializer):
    """`settings` is described in docs/migrations.md; without it the defaults hold."""

    name = serializers.CharField(max_length=50)
    cluster = serializers.CharField(max_length=50, help_text="Slug of the cluster.")
    deployments = DeploymentName(many=True, required=False)
    scope = ScopeIn(required=False)
    settings = serializers.DictField(required=False)
    waves = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text="Names of deployments in the order in which they go; the first is the canary.",
    )


class ReasonIn(serializers.Serializer):
    reason = serializers.CharField(max_length=300, required=False, allow_blank=True)


class AgreeIn(serializers.Serializer):
    what = serializers.CharField(
        max_length=100,
        required=False,
        help_text="A stage, `step:MOVE:NUMBER` or `accept:STUDY`; what it waits for if not given.",
    )


class NothingIn(serializers.Serializer):
    pass


def _version(migration: Migration) -> str:
    return f"g{migration.generation}"


class MigrationsApi(ListApi):
    serializer_class = MigrationOut
    table = lists.MIGRATIONS

    def rows(self) -> QuerySet[Migration]:
        return selectors.migrations_of(self.request.user)

    @extend_schema(
        operation_id="migrations_list",
        summary="Migrations that you may see",
        responses=MigrationOut(many=True),
    )
    def get(self, request: Request) -> Response:
        return self.listed()

    @extend_schema(
        operation_id="migrations_create",
        summary="Draw up a migration; nothing moves before it is started",
        request=MigrationIn,
        responses={201: MigrationOut},
    )
    def post(self, request: Request) -> Response:
        asked = self.asked(MigrationIn)
        cluster = access.clusters_to_choose(self.actor).filter(slug=asked["cluster"]).first()
        if cluster is None:
            raise InvalidValue(f"There is no cluster {asked['cluster']!r}.", field="cluster")
        deployments = [self._deployment(one) for one in asked.get("deployments", ())]
        content = asked.get("settings", {})
        access.require_own(self.actor, deployments, content)
        made = services.create_migration(
            actor=self.actor,
            name=asked["name"],
            cluster=cluster,
            deployments=deployments,
            content=content,
            scope=asked.get("scope"),
            tenant=access.scope_tenant(self.actor, asked.get("scope")),
            waves=asked.get("waves", ()),
        )
        url = reverse("api:migration", args=[made.pk], request=request)
        return self.shown(made, version=_version(made), status=201, Location=url)

    def _deployment(self, asked: dict[str, str]) -> Deployment:
        tenant = access.tenant_to_move(self.actor, asked["tenant"])
        found = Deployment.objects.filter(tenant=tenant, name=asked["name"], retired_at=None)
        row = found.select_related("tenant", "cluster").first()
        if row is None:
            raise InvalidValue(
                f"{tenant.slug} has no deployment {asked['name']!r}.", field="deployments"
            )
        return row


class MigrationApi(Api):
    serializer_class = MigrationOut

    @extend_schema(operation_id="migrations_read", summary="A migration")
    def get(self, request: Request, migration_id: int) -> Response:
        found = selectors.migration_for(request.user, migration_id)
        return self.shown(found, version=_version(found))


class _StepApi(Api):
    """Something that a person may do with a migration."""

    serializer_class = MigrationOut

    def steered(self, migration_id: int) -> Migration:
        """The migration, for somebody who may act on it and whose If-Match names it as it is."""
        found = selectors.migration_for(self.request.user, migration_id)
        if why_not := selectors.may_steer(self.request.user, found):
            raise PermissionDenied(why_not)
        self.require_match(_version(found))
        return found

    def now(self, migration: Migration) -> Response:
        found = selectors.migration_for(self.request.user, migration.pk)
        return self.shown(found, version=_version(found), status=202)


def _described[Method: Callable[..., Response]](
    name: str, summary: str, request: type[serializers.Serializer]
) -> Callable[[Method], Method]:
    described: Callable[[Method], Method] = extend_schema(
        operation_id=f"migrations_{name}",
        summary=summary,
        request=request,
        responses={202: MigrationOut},
    )
    return described


class StartApi(_StepApi):
    @_described("start", "Start a migration", NothingIn)
    def post(self, request: Request, migration_id: int) -> Response:
        found = self.steered(migration_id)
        return self.now(services.start_migration(actor=self.actor, migration=found))


class PauseApi(_StepApi):
    @_described("pause", "No step forward; gates are judged on", ReasonIn)
    def post(self, request: Request, migration_id: int) -> Response:
        found, asked = self.steered(migration_id), self.asked(ReasonIn)
        return self.now(services.pause_migration(actor=self.actor, migration=found, **asked))


class ResumeApi(_StepApi):
    @_described("resume", "End a pause or a freeze", NothingIn)
    def post(self, request: Request, migration_id: int) -> Response:
        found = self.steered(migration_id)
        return self.now(services.resume_migration(actor=self.actor, migration=found))


class ApproveMigrationApi(_StepApi):
    @_described("approve", "Agree to what it waits for", AgreeIn)
    def post(self, request: Request, migration_id: int) -> Response:
        found, asked = self.steered(migration_id), self.asked(AgreeIn)
        return self.now(services.approve_migration(actor=self.actor, migration=found, **asked))


class RetryApi(_StepApi):
    @_described("retry", "Try again what failed, or all of it after a rollback", NothingIn)
    def post(self, request: Request, migration_id: int) -> Response:
        found = self.steered(migration_id)
        return self.now(services.retry_migration(actor=self.actor, migration=found))


class RollBackApi(_StepApi):
    @_described("roll_back", "Take everything back to the old path", ReasonIn)
    def post(self, request: Request, migration_id: int) -> Response:
        found, asked = self.steered(migration_id), self.asked(ReasonIn)
        return self.now(services.roll_back_migration(actor=self.actor, migration=found, **asked))


class FreezeApi(_StepApi):
    @_described("freeze", "Leave weights and pools as they are until somebody decides", ReasonIn)
    def post(self, request: Request, migration_id: int) -> Response:
        found, asked = self.steered(migration_id), self.asked(ReasonIn)
        return self.now(services.freeze_migration(actor=self.actor, migration=found, **asked))


class LeaveApi(_StepApi):
    @_described("leave", "End it where it stands", ReasonIn)
    def post(self, request: Request, migration_id: int) -> Response:
        found, asked = self.steered(migration_id), self.asked(ReasonIn)
        return self.now(services.leave_migration(actor=self.actor, migration=found, **asked))


class RetireApi(_StepApi):
    @_described("retire", "Retire the old path; there is no way back after it", NothingIn)
    def post(self, request: Request, migration_id: int) -> Response:
        found = self.steered(migration_id)
        return self.now(services.retire_migration(actor=self.actor, migration=found))
