"""Reviews of device classes and claim patterns, and what decides them."""

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from apps.api import lists
from apps.api.base import Api, ListApi
from apps.catalog import selectors, services
from apps.catalog.models import Approval, ClassVersion
from apps.tenancy.models import PlatformRole
from apps.tenancy.selectors import require_platform


class ApprovalOut(serializers.ModelSerializer):
    kind = serializers.SerializerMethodField()
    name = serializers.SerializerMethodField()
    number = serializers.IntegerField(source="version.number", read_only=True)
    requested_by = serializers.CharField(source="requested_by.username", read_only=True)
    decided_by = serializers.CharField(
        source="decided_by.username", read_only=True, allow_null=True, default=None
    )

    class Meta:
        model = Approval
        fields = (
            "id",
            "kind",
            "name",
            "number",
            "content_hash",
            "state",
            "requested_by",
            "decided_by",
            "decided_at",
            "expires_at",
            "text",
            "created_at",
        )
        read_only_fields = fields

    def get_kind(self, approval: Approval) -> str:
        return "device-class" if approval.class_version else "claim-pattern"

    def get_name(self, approval: Approval) -> str:
        version = approval.version
        found = version.device_class if isinstance(version, ClassVersion) else version.pattern
        return str(found)


class TextIn(serializers.Serializer):
    text = serializers.CharField(max_length=2000)


class ApproveIn(serializers.Serializer):
    content_hash = serializers.CharField(
        max_length=64, help_text="Of what you looked at; another content is refused."
    )
    text = serializers.CharField(max_length=2000, required=False, allow_blank=True)


def submitted(view: Api, approval: Approval) -> Response:
    url = reverse("api:approval", args=[approval.pk], request=view.request)
    return view.shown(approval, status=201, Location=url)


class ApprovalsApi(ListApi):
    serializer_class = ApprovalOut
    table = lists.APPROVALS

    def rows(self) -> QuerySet[Approval]:
        require_platform(self.request.user, *PlatformRole)
        return selectors.approvals()

    @extend_schema(
        operation_id="approvals_list",
        summary="Reviews, open and ended",
        responses=ApprovalOut(many=True),
    )
    def get(self, request: Request) -> Response:
        return self.listed()


class ApprovalApi(Api):
    serializer_class = ApprovalOut

    @extend_schema(operation_id="approvals_read", summary="A review")
    def get(self, request: Request, approval_id: int) -> Response:
        require_platform(request.user, *PlatformRole)
        return self.shown(get_object_or_404(selectors.approvals(), pk=approval_id))


class _DecisionApi(Api):
    serializer_class = ApprovalOut
    roles: tuple[PlatformRole, ...] = (PlatformRole.APPROVER,)

    def _decide(self, approval_id: int, decide: Callable[..., Approval], **asked: Any) -> Response:
        require_platform(self.request.user, *self.roles)
        approval = get_object_or_404(Approval, pk=approval_id)
        decide(actor=self.actor, approval=approval, **asked)
        return self.shown(selectors.approvals().get(pk=approval_id))


class ApproveApi(_DecisionApi):
    @extend_schema(
        operation_id="approvals_approve",
        summary="Approve exactly the content with this hash",
        request=ApproveIn,
        responses={200: ApprovalOut},
    )
    def post(self, request: Request, approval_id: int) -> Response:
        return self._decide(approval_id, services.approve, **self.asked(ApproveIn))


class DenyApi(_DecisionApi):
    @extend_schema(
        operation_id="approvals_deny",
        summary="Send it back to its author with the reason",
        request=TextIn,
        responses={200: ApprovalOut},
    )
    def post(self, request: Request, approval_id: int) -> Response:
        return self._decide(approval_id, services.deny, **self.asked(TextIn))


class TakeBackApi(_DecisionApi):
    roles = (PlatformRole.ADMIN,)

    @extend_schema(
        operation_id="approvals_take_back",
        summary="End a review that is no longer wanted",
        request=None,
        responses={200: ApprovalOut},
    )
    def post(self, request: Request, approval_id: int) -> Response:
        return self._decide(approval_id, services.take_back)
