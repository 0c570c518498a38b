"""What is kept of a migration: decisions, samples of its gates, calls of its webhooks."""

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api import lists
from apps.api.base import ListApi
from apps.rollouts import selectors
from apps.rollouts.models import Decision, Delivery, GateSample


class DecisionOut(serializers.ModelSerializer):
    workload = serializers.CharField(
        source="workload.name", read_only=True, allow_null=True, default=None
    )
    argument = serializers.DictField(read_only=True)
    seen = serializers.DictField(read_only=True)

    class Meta:
        model = Decision
        fields = (
            "id",
            "at",
            "last_at",
            "times",
            "actor_name",
            "action",
            "argument",
            "reason",
            "stage",
            "workload",
            "seen",
            "problem",
        )
        read_only_fields = fields


class SampleOut(serializers.ModelSerializer):
    workload = serializers.CharField(
        source="workload.name", read_only=True, allow_null=True, default=None
    )
    candidate = serializers.DictField(read_only=True)
    current = serializers.DictField(read_only=True)

    class Meta:
        model = GateSample
        fields = (
            "id",
            "gate",
            "workload",
            "stage",
            "step",
            "weight",
            "at",
            "start",
            "end",
            "verdict",
            "reason",
            "dry_run",
            "candidate",
            "current",
            "query",
        )
        read_only_fields = fields


class DeliveryOut(serializers.ModelSerializer):
    """`key` names hook, point and step: the same one is sent once."""

    class Meta:
        model = Delivery
        fields = (
            "id",
            "hook",
            "point",
            "key",
            "state",
            "attempts",
            "status",
            "answer",
            "created_at",
            "next_at",
            "finished_at",
        )
        read_only_fields = fields


class DecisionsApi(ListApi):
    serializer_class = DecisionOut
    table = lists.DECISIONS

    def rows(self) -> QuerySet[Decision]:
        found = selectors.migration_for(self.request.user, self.kwargs["migration_id"])
        return Decision.objects.filter(migration=found).select_related("workload")

    @extend_schema(
        operation_id="migrations_decisions",
        summary="What was decided, why, and what was seen",
        responses=DecisionOut(many=True),
    )
    def get(self, request: Request, migration_id: int) -> Response:
        return self.listed()


class SamplesApi(ListApi):
    serializer_class = SampleOut
    table = lists.SAMPLES

    def rows(self) -> QuerySet[GateSample]:
        found = selectors.migration_for(self.request.user, self.kwargs["migration_id"])
        return GateSample.objects.filter(migration=found).select_related("workload")

    @extend_schema(
        operation_id="migrations_samples",
        summary="Samples of its gates",
        responses=SampleOut(many=True),
    )
    def get(self, request: Request, migration_id: int) -> Response:
        return self.listed()


class DeliveriesApi(ListApi):
    serializer_class = DeliveryOut
    table = lists.DELIVERIES

    def rows(self) -> QuerySet[Delivery]:
        found = selectors.migration_for(self.request.user, self.kwargs["migration_id"])
        return Delivery.objects.filter(migration=found)

    @extend_schema(
        operation_id="migrations_deliveries",
        summary="Calls of its webhooks, with what was answered",
        responses=DeliveryOut(many=True),
    )
    def get(self, request: Request, migration_id: int) -> Response:
        return self.listed()
