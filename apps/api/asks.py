"""Asks: questions that need a cluster or the placement worker, with their answers."""

from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from apps.api.base import Api
from apps.common import asks
from apps.common.models import Ask


class AskOut(serializers.ModelSerializer):
    state = serializers.ChoiceField(choices=Ask.State.choices)
    answer = serializers.JSONField(allow_null=True)

    class Meta:
        model = Ask
        fields = (
            "key",
            "kind",
            "state",
            "answer",
            "problem",
            "created_at",
            "answered_at",
            "expires_at",
        )
        read_only_fields = fields


def answered(view: Api, ask: Ask) -> Response:
    """200 with the answer when it is there, else 202 with where to look for it."""
    url = reverse("api:ask", args=[ask.key], request=view.request)
    status = 200 if ask.is_settled else 202
    return Response(AskOut(ask).data, status=status, headers={"Location": url})


class AskApi(Api):
    """Whoever may ask may take back: a token that only reads too."""

    serializer_class = AskOut
    permission_classes = [IsAuthenticated]

    @extend_schema(operation_id="asks_read", summary="The state and answer of an ask of yours")
    def get(self, request: Request, key: UUID) -> Response:
        return self.shown(get_object_or_404(Ask, key=key, asked_by=request.user.pk))

    @extend_schema(
        operation_id="asks_take_back",
        summary="Take an ask of yours back: whoever works on it stops",
        responses=AskOut,
    )
    def delete(self, request: Request, key: UUID) -> Response:
        ask = get_object_or_404(Ask, key=key, asked_by=request.user.pk)
        return self.shown(asks.take_back(ask))
