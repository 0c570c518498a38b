"""Usage: card hours by tenant, class, deployment or cluster."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.base import Api
from apps.telemetry import usage
from apps.telemetry.questions import RANGES
from apps.telemetry.usage_views import asked_of


class AmountOut(serializers.Serializer):
    name = serializers.CharField()
    card_hours = serializers.FloatField(help_text="Partitions and shares by their part of a card.")
    device_hours = serializers.FloatField()
    uses = serializers.IntegerField()


class StepOut(serializers.Serializer):
    at = serializers.DateTimeField()
    name = serializers.CharField()
    card_hours = serializers.FloatField()


class UsageOut(serializers.Serializer):
    start = serializers.DateTimeField()
    end = serializers.DateTimeField()
    by = serializers.CharField()
    grain = serializers.CharField()
    amounts = AmountOut(many=True)
    steps = StepOut(many=True)


class UsageApi(Api):
    serializer_class = UsageOut
    parameters = ("by", "grain", "range", "start", "end", "tenant", "cluster", "device_class")

    @extend_schema(
        operation_id="usage_read",
        summary="Hours of accelerators by who held them",
        parameters=[
            OpenApiParameter("by", str, enum=list(usage.BY)),
            OpenApiParameter("grain", str, enum=list(usage.GRAIN)),
            OpenApiParameter("range", str, enum=list(RANGES), description="Default 30d."),
            OpenApiParameter("start", str, description="With end, in place of range."),
            OpenApiParameter("end", str),
            OpenApiParameter("tenant", str),
            OpenApiParameter("cluster", str),
            OpenApiParameter("device_class", str),
        ],
    )
    def get(self, request: Request) -> Response:
        now = timezone.now()
        asked = asked_of(self.actor, request.query_params, now)
        found: dict[str, Any] = {
            "start": asked.start,
            "end": min(asked.end, now),
            "by": asked.by,
            "grain": asked.grain,
            "amounts": usage.amounts(asked, now),
            "steps": usage.steps(asked, now),
        }
        return self.shown(found)
