"""What a migration rests on: plan, preflight, shadow, nodes, report and signed evidence."""

from typing import Any

from django.core.exceptions import PermissionDenied
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.base import Api
from apps.rollouts import evidence, node_services, report, signing
from apps.rollouts import selectors as rollouts
from apps.rollouts.models import Migration, NodeConversion, Study, Workload


class StudyOut(serializers.Serializer):
    """`body` is null as long as nothing was looked at."""

    kind = serializers.ChoiceField(choices=Study.Kind.choices)
    state = serializers.CharField(help_text="none, waiting, running, done or failed.")
    summary = serializers.CharField()
    problem = serializers.CharField()
    looked_at = serializers.DateTimeField(allow_null=True)
    body = serializers.DictField(allow_null=True)


class PlannedOut(serializers.ModelSerializer):
    """A workload of the scope. `is_managed` false: listed, and never touched."""

    name = serializers.CharField(source="__str__")
    is_managed = serializers.SerializerMethodField()
    wave = serializers.IntegerField(source="wave.number", allow_null=True, default=None)
    pattern = serializers.CharField(source="pattern_version", allow_null=True)

    class Meta:
        model = Workload
        fields = [
            "name",
            "kind",
            "is_managed",
            "way",
            "finding",
            "pattern",
            "params",
            "mapping",
            "diff",
            "nodes",
            "old_pool",
            "new_pool",
            "replicas",
            "wave",
            "phase",
        ]

    def get_is_managed(self, row: Workload) -> bool:
        return row.deployment_id is not None


class PlanOut(StudyOut):
    workloads = PlannedOut(many=True)


class ConvertedNodeOut(serializers.ModelSerializer):
    class Meta:
        model = NodeConversion
        fields = [
            "node",
            "direction",
            "state",
            "step",
            "cause",
            "owner",
            "started_at",
            "finished_at",
            "log",
        ]


class NodesIn(serializers.Serializer):
    nodes = serializers.ListField(
        child=serializers.CharField(max_length=253), min_length=1, max_length=1000
    )
    direction = serializers.ChoiceField(choices=NodeConversion.Direction.choices, default="forth")


class ReportOut(serializers.Serializer):
    headline = serializers.CharField()
    answers = serializers.ListField(child=serializers.DictField())
    comparison = serializers.ListField(child=serializers.DictField())
    rollback = serializers.DictField()
    is_final = serializers.BooleanField()


class BundleOut(serializers.Serializer):
    """Check it with `manage.py verify_evidence` and the public key."""

    format = serializers.CharField()
    content = serializers.DictField()
    digest = serializers.CharField()
    signature = serializers.DictField()


class KeyOut(serializers.Serializer):
    algorithm = serializers.CharField()
    id = serializers.CharField()
    public_key = serializers.CharField(help_text="32 bytes, base64.")


class _OfMigration(Api):
    serializer_class: Any = StudyOut

    def migration(self, migration_id: int) -> Migration:
        return rollouts.migration_for(self.actor, migration_id)


def _study(api: Api, migration: Migration, kind: str) -> dict[str, Any]:
    study = rollouts.newest_study(migration, kind)
    if study is None:
        nothing: dict[str, Any] = {"state": "none", "summary": "", "problem": "", "body": None}
        return nothing | {"kind": kind, "looked_at": None}
    body = study.body if api.actor.is_platform else report.narrowed_study(kind, study.body)
    return {
        "kind": kind,
        "state": study.state,
        "summary": str(study.body.get("summary", "")),
        "problem": study.problem,
        "looked_at": study.updated_at,
        "body": {key: value for key, value in body.items() if key != "ask"},
    }


class PlanApi(_OfMigration):
    serializer_class = PlanOut

    @extend_schema(summary="What each workload becomes", responses=PlanOut)
    def get(self, request: Request, migration_id: int) -> Response:
        migration = self.migration(migration_id)
        rows = migration.workloads.select_related("deployment", "wave", "pattern_version__pattern")
        if not self.actor.is_platform:
            rows = rows.exclude(deployment=None)
            for row in rows:
                row.nodes = []  # the platform team's to know
        return self.shown(_study(self, migration, Study.Kind.PLAN) | {"workloads": rows})


class PreflightApi(_OfMigration):
    @extend_schema(summary="What stands in the way, and the parity table", responses=StudyOut)
    def get(self, request: Request, migration_id: int) -> Response:
        return self.shown(_study(self, self.migration(migration_id), Study.Kind.PREFLIGHT))


class ShadowApi(_OfMigration):
    @extend_schema(summary="What would fit, and what the cluster would take", responses=StudyOut)
    def get(self, request: Request, migration_id: int) -> Response:
        return self.shown(_study(self, self.migration(migration_id), Study.Kind.SHADOW))


class NodesApi(_OfMigration):
    """Of platform people only."""

    serializer_class = ConvertedNodeOut

    def migration(self, migration_id: int) -> Migration:
        found = super().migration(migration_id)
        if not self.actor.is_platform:
            raise PermissionDenied("Nodes are the platform team's.")
        return found

    @extend_schema(summary="Nodes on their way", responses=ConvertedNodeOut(many=True))
    def get(self, request: Request, migration_id: int) -> Response:
        rows = self.migration(migration_id).conversions.all()
        return Response(ConvertedNodeOut(rows, many=True).data)

    @extend_schema(
        summary="Convert nodes, or take them back",
        request=NodesIn,
        responses=ConvertedNodeOut(many=True),
    )
    def post(self, request: Request, migration_id: int) -> Response:
        migration = self.migration(migration_id)
        if why_not := rollouts.may_convert(self.actor):
            raise PermissionDenied(why_not)
        asked = self.asked(NodesIn)
        rows = node_services.convert_nodes(actor=self.actor, migration=migration, **asked)
        return Response(ConvertedNodeOut(rows, many=True).data, status=202)


class ReportApi(_OfMigration):
    serializer_class = ReportOut

    @extend_schema(summary="Old path against new, in words and figures", responses=ReportOut)
    def get(self, request: Request, migration_id: int) -> Response:
        bundle = evidence.bundle_of(self.migration(migration_id), whole=self.actor.is_platform)
        content = bundle["content"]
        return self.shown(
            {
                "headline": report.headline(content),
                "answers": report.answers(content),
                "comparison": content["comparison"],
                "rollback": content["rollback"],
                "is_final": content["is_final"],
            }
        )


class EvidenceApi(_OfMigration):
    serializer_class = BundleOut

    @extend_schema(summary="The signed bundle", responses=BundleOut)
    def get(self, request: Request, migration_id: int) -> Response:
        # As it was signed: a serializer could spell a number anew.
        bundle = evidence.bundle_of(self.migration(migration_id), whole=self.actor.is_platform)
        return Response(bundle)


class EvidenceKeyApi(Api):
    serializer_class = KeyOut

    @extend_schema(summary="The key that evidence is checked with", responses=KeyOut)
    def get(self, request: Request) -> Response:
        key = signing.public_key()
        shown = {"algorithm": signing.ALGORITHM, "id": key.id, "public_key": key.text}
        return self.shown(shown)
