"""Device classes and claim patterns with their versions."""

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from apps.api import lists
from apps.api.approvals import ApprovalOut, TextIn, submitted
from apps.api.base import Api, ListApi
from apps.catalog import selectors, services
from apps.catalog.models import (
    ClaimPattern,
    ClassInCluster,
    ClassVersion,
    DeviceClass,
    PatternVersion,
    VersionState,
)
from apps.inventory.models import Cluster
from apps.tenancy.models import PlatformRole, Tenant
from apps.tenancy.selectors import require_platform, tenants_of


class VersionOut(serializers.Serializer):
    number = serializers.IntegerField()
    state = serializers.ChoiceField(choices=VersionState.choices)
    content = serializers.DictField()
    content_hash = serializers.CharField()
    author = serializers.CharField()
    note = serializers.CharField()
    created_at = serializers.DateTimeField()
    approved_at = serializers.DateTimeField(allow_null=True)
    withdrawn_at = serializers.DateTimeField(allow_null=True)


class PlacementOut(serializers.ModelSerializer):
    cluster = serializers.CharField(source="cluster.slug", read_only=True)
    conditions = serializers.ListField(child=serializers.DictField(), read_only=True)
    drift = serializers.ListField(read_only=True)

    class Meta:
        model = ClassInCluster
        fields = ("cluster", "adopted", "conditions", "drift", "proposal", "checked_at")
        read_only_fields = fields


class ClassOut(serializers.ModelSerializer):
    versions = VersionOut(many=True, read_only=True)
    placements = PlacementOut(many=True, read_only=True)

    class Meta:
        model = DeviceClass
        fields = ("name", "description", "versions", "placements", "created_at")
        read_only_fields = fields


class PatternOut(serializers.ModelSerializer):
    versions = VersionOut(many=True, read_only=True)
    tenants: Any = serializers.SlugRelatedField(slug_field="slug", many=True, read_only=True)

    class Meta:
        model = ClaimPattern
        fields = ("slug", "name", "description", "tenants", "versions", "created_at")
        read_only_fields = fields


class DraftIn(serializers.Serializer):
    content = serializers.DictField()
    note = serializers.CharField(max_length=400, required=False, allow_blank=True)


class ClassIn(DraftIn):
    name = serializers.CharField(max_length=200)
    description = serializers.CharField(max_length=300, required=False, allow_blank=True)
    clusters = serializers.SlugRelatedField(
        slug_field="slug",
        many=True,
        queryset=Cluster.objects.filter(retired_at=None),
        required=False,
    )


class PatternIn(DraftIn):
    slug = serializers.CharField(max_length=50)
    name = serializers.CharField(max_length=100)
    description = serializers.CharField(max_length=300, required=False, allow_blank=True)
    tenants = serializers.SlugRelatedField(
        slug_field="slug",
        many=True,
        queryset=Tenant.objects.filter(retired_at=None),
        required=False,
    )


class PlaceIn(serializers.Serializer):
    adopt = serializers.BooleanField(default=False)


def _admin(request: Request) -> None:
    require_platform(request.user, PlatformRole.ADMIN)


class SubmitApi(Api):
    """Puts the draft of something that has versions before the approvers."""

    serializer_class = ApprovalOut

    def submit(self, of: DeviceClass | ClaimPattern) -> Response:
        version: Any = get_object_or_404(of.versions, state=VersionState.DRAFT)
        return submitted(self, services.submit(actor=self.actor, version=version))


class WithdrawApi(Api):
    def withdraw(self, version: ClassVersion | PatternVersion) -> None:
        services.withdraw(actor=self.actor, version=version, **self.asked(TextIn))


# --- Device classes -------------------------------------------------------------------------
def _class(name: str) -> DeviceClass:
    rows = selectors.classes().prefetch_related("versions__author")
    return get_object_or_404(rows, name=name)


class ClassesApi(ListApi):
    serializer_class = ClassOut
    table = lists.CLASSES

    def rows(self) -> QuerySet[DeviceClass]:
        return selectors.classes().prefetch_related("versions__author")

    @extend_schema(
        operation_id="device_classes_list",
        summary="Device classes",
        responses=ClassOut(many=True),
    )
    def get(self, request: Request) -> Response:
        return self.listed()

    @extend_schema(
        operation_id="device_classes_create",
        summary="Propose a class: its first version is a draft",
        request=ClassIn,
        responses={201: ClassOut},
    )
    def post(self, request: Request) -> Response:
        _admin(request)
        version = services.create_class(actor=self.actor, **self.asked(ClassIn))
        name = version.device_class.name
        url = reverse("api:device-class", args=[name], request=request)
        return self.shown(_class(name), status=201, Location=url)


class ClassApi(Api):
    serializer_class = ClassOut

    @extend_schema(operation_id="device_classes_read", summary="A class with its versions")
    def get(self, request: Request, name: str) -> Response:
        return self.shown(_class(name))


class ClassDraftApi(Api):
    serializer_class = ClassOut

    @extend_schema(
        operation_id="device_classes_draft",
        summary="Change the draft, or begin the next version",
        request=DraftIn,
    )
    def put(self, request: Request, name: str) -> Response:
        _admin(request)
        services.draft_class(actor=self.actor, device_class=_class(name), **self.asked(DraftIn))
        return self.shown(_class(name))


class ClassSubmitApi(SubmitApi):
    @extend_schema(
        operation_id="device_classes_submit",
        summary="Put the draft before the approvers",
        request=None,
        responses={201: ApprovalOut},
    )
    def post(self, request: Request, name: str) -> Response:
        _admin(request)
        return self.submit(_class(name))


class ClassWithdrawApi(WithdrawApi):
    serializer_class = ClassOut

    @extend_schema(
        operation_id="device_classes_withdraw",
        summary="Withdraw the approved version: the class leaves its clusters",
        request=TextIn,
        responses={200: ClassOut},
    )
    def post(self, request: Request, name: str) -> Response:
        _admin(request)
        version = get_object_or_404(_class(name).versions, state=VersionState.APPROVED)
        self.withdraw(version)
        return self.shown(_class(name))


class ClassPlacementApi(Api):
    serializer_class = ClassOut

    @extend_schema(
        operation_id="device_classes_place",
        summary="Offer the class in a cluster; `adopt` takes over one that is there",
        request=PlaceIn,
    )
    def put(self, request: Request, name: str, cluster: str) -> Response:
        _admin(request)
        found = get_object_or_404(Cluster, slug=cluster, retired_at=None)
        services.place_class(
            actor=self.actor, device_class=_class(name), cluster=found, **self.asked(PlaceIn)
        )
        return self.shown(_class(name))


# --- Claim patterns -------------------------------------------------------------------------
def _pattern(request: Request, slug: str) -> ClaimPattern:
    return get_object_or_404(_patterns(request), slug=slug)


def _patterns(request: Request) -> QuerySet[ClaimPattern]:
    """All for platform roles; for members those that no tenant or one of theirs is named in."""
    rows = selectors.pattern_list().prefetch_related("versions__author")
    user: Any = request.user
    if user.is_platform:
        return rows
    usable = ClaimPattern.objects.filter(tenants=None) | ClaimPattern.objects.filter(
        tenants__in=tenants_of(user)
    )
    return rows.filter(pk__in=usable.values("pk"))


class PatternsApi(ListApi):
    serializer_class = PatternOut
    table = lists.PATTERNS

    def rows(self) -> QuerySet[ClaimPattern]:
        return _patterns(self.request)

    @extend_schema(
        operation_id="claim_patterns_list",
        summary="Claim patterns",
        responses=PatternOut(many=True),
    )
    def get(self, request: Request) -> Response:
        return self.listed()

    @extend_schema(
        operation_id="claim_patterns_create",
        summary="Propose a pattern: its first version is a draft",
        request=PatternIn,
        responses={201: PatternOut},
    )
    def post(self, request: Request) -> Response:
        _admin(request)
        version = services.create_pattern(actor=self.actor, **self.asked(PatternIn))
        slug = version.pattern.slug
        url = reverse("api:claim-pattern", args=[slug], request=request)
        return self.shown(_pattern(request, slug), status=201, Location=url)


class PatternApi(Api):
    serializer_class = PatternOut

    @extend_schema(operation_id="claim_patterns_read", summary="A pattern with its versions")
    def get(self, request: Request, slug: str) -> Response:
        return self.shown(_pattern(request, slug))


class PatternDraftApi(Api):
    serializer_class = PatternOut

    @extend_schema(
        operation_id="claim_patterns_draft",
        summary="Change the draft, or begin the next version",
        request=DraftIn,
    )
    def put(self, request: Request, slug: str) -> Response:
        _admin(request)
        pattern = _pattern(request, slug)
        services.draft_pattern(actor=self.actor, pattern=pattern, **self.asked(DraftIn))
        return self.shown(_pattern(request, slug))


class PatternSubmitApi(SubmitApi):
    @extend_schema(
        operation_id="claim_patterns_submit",
        summary="Put the draft before the approvers",
        request=None,
        responses={201: ApprovalOut},
    )
    def post(self, request: Request, slug: str) -> Response:
        _admin(request)
        return self.submit(_pattern(request, slug))


class PatternWithdrawApi(WithdrawApi):
    serializer_class = PatternOut

    @extend_schema(
        operation_id="claim_patterns_withdraw",
        summary="Withdraw an approved version; pools pinned to it run on",
        request=TextIn,
        responses={200: PatternOut},
    )
    def post(self, request: Request, slug: str, number: int) -> Response:
        _admin(request)
        rows = PatternVersion.objects.filter(pattern=_pattern(request, slug))
        version = get_object_or_404(rows, number=number)
        self.withdraw(version)
        return self.shown(_pattern(request, slug))
