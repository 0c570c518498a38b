"""Telemetry: a metric over time, figures of now, and where a cluster's metrics come from.

What needs a Prometheus is asked by a worker: 202 and Retry-After until it has answered.
"""

from typing import Any

import orjson
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.base import Api
from apps.inventory.models import Cluster
from apps.telemetry import asking, services
from apps.telemetry.lines import BY
from apps.telemetry.measure import source_of
from apps.telemetry.models import MetricsSource
from apps.telemetry.panels import MORE, NUMBERS
from apps.telemetry.questions import RANGES, SCOPES, cluster_of, question_of, scope_of
from apps.telemetry.statistics import STATISTICS
from apps.telemetry.views import NOW
from apps.tenancy.models import PlatformRole
from apps.tenancy.selectors import require_platform
from domain.figures import State
from domain.metrics import CATALOGUE

STATES = [state.value for state in State]
WHERE = ("cluster", *SCOPES)
_SCOPE = [OpenApiParameter(name, str, description=f"Narrow to this {name}.") for name in WHERE]
_TIME = [
    OpenApiParameter("range", str, enum=list(RANGES), description="Back from now; default 1h."),
    OpenApiParameter("start", str, description="With end, in place of range."),
    OpenApiParameter("end", str),
]


class LineOut(serializers.Serializer):
    name = serializers.CharField()
    values = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        help_text="A value for each of times; null where nothing is known.",
    )
    state = serializers.ChoiceField(choices=STATES)
    detail = serializers.CharField()


class SeriesOut(serializers.Serializer):
    """At most 500 points a line. A gap is null, never 0."""

    metric = serializers.CharField()
    statistic = serializers.CharField()
    unit = serializers.CharField()
    state = serializers.ChoiceField(choices=STATES)
    detail = serializers.CharField(help_text="What is missing, in words: names tried, how old.")
    query = serializers.CharField(help_text="What was asked of the source.")
    step_seconds = serializers.IntegerField()
    times = serializers.ListField(
        child=serializers.IntegerField(), help_text="Unix seconds at the end of each step."
    )
    lines = LineOut(many=True)
    left_out = serializers.IntegerField(help_text="Lines beyond the hundred that are given.")


class FigureOut(serializers.Serializer):
    """A value, or null with the state that says why."""

    metric = serializers.CharField()
    statistic = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    unit = serializers.CharField()
    state = serializers.ChoiceField(choices=STATES)
    detail = serializers.CharField()
    at = serializers.DateTimeField(allow_null=True)
    query = serializers.CharField()
    known = serializers.IntegerField(allow_null=True)
    total = serializers.IntegerField(allow_null=True)


class SourceOut(serializers.ModelSerializer):
    has_token = serializers.SerializerMethodField()

    class Meta:
        model = MetricsSource
        fields = (*services.FIELDS, "has_token", "checked_at", "version", "problem")
        read_only_fields = fields

    def get_has_token(self, source: MetricsSource) -> bool:
        return bool(source.token)


class SourceIn(serializers.ModelSerializer):
    token = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=8000,
        write_only=True,
        help_text="Left out, the stored one stays; empty, it is taken away.",
    )

    class Meta:
        model = MetricsSource
        fields = (*services.FIELDS, "token")


def _waiting() -> Response:
    detail = "A worker asks Prometheus; ask again in a moment."
    return Response({"detail": detail}, status=202, headers={"Retry-After": "1"})


class SeriesApi(Api):
    serializer_class = SeriesOut
    parameters = (*WHERE, "metric", "statistic", "by", "range", "start", "end")

    @extend_schema(
        operation_id="series_read",
        summary="A metric over time",
        parameters=[
            OpenApiParameter("metric", str, required=True, enum=sorted(CATALOGUE)),
            OpenApiParameter("statistic", str, enum=list(STATISTICS)),
            OpenApiParameter("by", str, enum=list(BY[1:]), description="A line for each."),
            *_SCOPE,
            *_TIME,
        ],
        responses={200: SeriesOut, 202: None},
    )
    def get(self, request: Request) -> HttpResponseBase:
        asked = question_of(self.actor, request.query_params)
        found = asking.chart(
            asked.cluster,
            asked.metric,
            asked.scope,
            asked.start,
            asked.end,
            statistic=asked.statistic,
            by=asked.by,
            asked_by=self.actor,
        )
        if found is None:
            return _waiting()
        # 48,000 values in a day of a hundred lines: looked at one by one, by a serializer and a
        # renderer in Python, they take longer than all the rest.
        return HttpResponse(orjson.dumps(found), content_type="application/json")


class FiguresApi(Api):
    serializer_class = FigureOut
    parameters = WHERE

    @extend_schema(
        operation_id="figures_list",
        summary="The ten figures and some more, of the last five minutes",
        parameters=_SCOPE,
        responses={200: FigureOut(many=True), 202: None},
    )
    def get(self, request: Request) -> Response:
        scope = scope_of(self.actor, request.query_params)
        cluster = cluster_of(self.actor, request.query_params, scope)
        now = timezone.now().replace(microsecond=0)
        wanted = (*NUMBERS, *MORE)
        found = asking.figures(cluster, wanted, scope, now - NOW, now, asked_by=self.actor)
        if found is None:
            return _waiting()
        rows: list[dict[str, Any]] = [
            {"metric": metric, "statistic": how} | _fields(figure)
            for (metric, how), figure in zip(wanted, found, strict=True)
        ]
        return Response(FigureOut(rows, many=True).data)


def _fields(figure: Any) -> dict[str, Any]:
    names = ("value", "unit", "state", "detail", "at", "query", "known", "total")
    return {name: getattr(figure, name) for name in names}


class MetricsSourceApi(Api):
    serializer_class = SourceOut

    @extend_schema(operation_id="metrics_source_read", summary="Where metrics come from")
    def get(self, request: Request, cluster: str) -> Response:
        require_platform(self.actor, *PlatformRole)
        found = get_object_or_404(Cluster, slug=cluster, retired_at=None)
        return self.shown(source_of(found))

    @extend_schema(
        operation_id="metrics_source_set",
        summary="Say where metrics come from",
        request=SourceIn,
        responses=SourceOut,
    )
    def put(self, request: Request, cluster: str) -> Response:
        require_platform(self.actor, PlatformRole.ADMIN)
        found = get_object_or_404(Cluster, slug=cluster, retired_at=None)
        given = self.asked(SourceIn)
        return self.shown(services.set_source(actor=self.actor, cluster=found, **given))
