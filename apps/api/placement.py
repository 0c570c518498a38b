"""Placement: would it fit, why not, what if the device plugin's workloads asked by claims, lint.

Every question is an ask: 200 with the answer if it came at once, else 202 and where to look.
"""

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.asks import AskOut, answered
from apps.api.base import Api
from apps.catalog import matching
from apps.catalog import selectors as catalog
from apps.catalog.models import ClaimPattern, DeviceClass
from apps.common import asks
from apps.common.models import Ask
from apps.inventory.models import Cluster, Pod
from apps.placement import asking
from apps.tenancy.models import PlatformRole, Tenant
from apps.tenancy.selectors import require_platform, tenants_of
from domain import deviceclasses, patterns
from domain.errors import InvalidValue

ANSWERS = {200: AskOut, 202: AskOut}
LONGEST = 20_000


class OfCluster(serializers.Serializer):
    cluster = serializers.SlugField(max_length=50)


class CheckIn(OfCluster):
    """Claims as the Kubernetes API has them; with a pod, the claims or templates that it names."""

    claims = serializers.ListField(child=serializers.DictField(), min_length=1, max_length=16)
    pod = serializers.DictField(required=False, help_text="A Pod: all of the scheduler's filters.")
    fixes = serializers.BooleanField(
        default=True, help_text="Where nothing fits: also what would. Takes longer."
    )


class ExplainIn(OfCluster):
    """Either a claim, or the namespace and name of a pod that waits."""

    claim = serializers.DictField(required=False)
    namespace = serializers.CharField(required=False, max_length=63)
    pod = serializers.CharField(required=False, max_length=253)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("claim" in attrs) == ("pod" in attrs) or ("pod" in attrs) != ("namespace" in attrs):
            raise serializers.ValidationError("Give a claim, or a pod with its namespace.")
        return attrs


class ShadowIn(OfCluster):
    device_class = serializers.CharField(max_length=253)
    resource = serializers.CharField(max_length=316, help_text="Such as nvidia.com/gpu.")
    tenant = serializers.SlugField(max_length=50, required=False)
    node_labels = serializers.DictField(child=serializers.CharField(max_length=63), required=False)
    as_published = serializers.BooleanField(
        default=False, help_text="As if the nodes of these pods published their cards."
    )


class FragmentsIn(OfCluster):
    device_class = serializers.CharField(max_length=253, required=False, default="")


class CompareIn(OfCluster):
    """A class or a pattern that exists, and the content of its next version."""

    device_class = serializers.CharField(max_length=200, required=False)
    pattern = serializers.SlugField(max_length=50, required=False)
    content = serializers.DictField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("device_class" in attrs) == ("pattern" in attrs):
            raise serializers.ValidationError("Give a device_class or a pattern.")
        return attrs


class LintIn(OfCluster):
    expressions = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST), min_length=1, max_length=32
    )


class Placement(Api):
    """Questions change nothing: a token that may only read may ask."""

    serializer_class = AskOut
    permission_classes = [IsAuthenticated]

    def cluster(self, given: dict[str, Any]) -> Cluster:
        mine = asking.clusters_for(self.actor)
        return get_object_or_404(Cluster, slug=given["cluster"], pk__in=[one.pk for one in mine])

    def told(self, ask: Ask) -> Response:
        return answered(self, asks.wait(ask))


class CheckApi(Placement):
    @extend_schema(
        operation_id="placement_check",
        summary="Where claims, or a pod with its claims, fit now; else why not, and what would",
        request=CheckIn,
        responses=ANSWERS,
    )
    def post(self, request: Request) -> Response:
        given = self.asked(CheckIn)
        cluster = self.cluster(given)
        if "pod" in given:
            for claim in given["claims"]:
                if claim.get("kind") not in ("ResourceClaim", "ResourceClaimTemplate"):
                    raise InvalidValue("Only claims and templates of claims.", field="claims")
            return self.told(
                asking.check(
                    self.actor, cluster, given["claims"], given["pod"], fixes=given["fixes"]
                )
            )
        claims = [asking.claim_from(claim) for claim in given["claims"]]
        return self.told(asking.check(self.actor, cluster, claims, fixes=given["fixes"]))


class ExplainApi(Placement):
    @extend_schema(
        operation_id="placement_explain",
        summary="How many devices each filter leaves for a claim, or why a pod waits",
        request=ExplainIn,
        responses=ANSWERS,
    )
    def post(self, request: Request) -> Response:
        given = self.asked(ExplainIn)
        cluster = self.cluster(given)
        if "claim" in given:
            claim = asking.claim_from(given["claim"])
            return self.told(asking.explain(self.actor, cluster, claim))
        pods = Pod.objects.filter(cluster=cluster).select_related("cluster")
        if not self.actor.is_platform:
            pods = pods.filter(tenant__in=tenants_of(self.actor).values_list("slug", flat=True))
        pod = get_object_or_404(pods, namespace=given["namespace"], name=given["pod"])
        return self.told(asking.why_pod(self.actor, pod))


class ShadowApi(Placement):
    @extend_schema(
        operation_id="placement_shadow",
        summary="What pods of a device plugin would find if they asked by claims",
        request=ShadowIn,
        responses=ANSWERS,
    )
    def post(self, request: Request) -> Response:
        require_platform(request.user, *PlatformRole)
        given = self.asked(ShadowIn)
        cluster = self.cluster(given)
        if tenant := given.get("tenant", ""):
            get_object_or_404(Tenant, slug=tenant)
        ask = asking.shadow(
            self.actor,
            cluster,
            class_name=given["device_class"],
            resource=given["resource"],
            tenant=tenant,
            node_labels=given.get("node_labels"),
            as_published=given["as_published"],
        )
        return self.told(ask)


class FragmentsApi(Placement):
    @extend_schema(
        operation_id="placement_fragments",
        summary="Largest free groups, stranded cards, room for partitions, and moves that help",
        request=FragmentsIn,
        responses=ANSWERS,
    )
    def post(self, request: Request) -> Response:
        require_platform(request.user, *PlatformRole)
        given = self.asked(FragmentsIn)
        return self.told(asking.fragments(self.actor, self.cluster(given), given["device_class"]))


class CompareApi(Placement):
    @extend_schema(
        operation_id="placement_compare",
        summary="Devices and claims that the next version of a class or pattern would change",
        request=CompareIn,
        responses=ANSWERS,
    )
    def post(self, request: Request) -> Response:
        require_platform(request.user, PlatformRole.ADMIN, PlatformRole.APPROVER)
        given = self.asked(CompareIn)
        cluster = self.cluster(given)
        if "device_class" in given:
            found = get_object_or_404(DeviceClass, name=given["device_class"])
            content = deviceclasses.class_from(given["content"])
            before = catalog.approved_class_version(found)
            expressions = list(content.selectors)
            return self.told(matching.ask_class(self.actor, cluster, expressions, before))
        get_object_or_404(ClaimPattern, slug=given["pattern"])
        earlier = catalog.approved_pattern_version(given["pattern"])
        pattern = patterns.pattern_from(given["content"])
        return self.told(matching.ask_pattern(self.actor, cluster, pattern, earlier))


class LintApi(Placement):
    @extend_schema(
        operation_id="placement_lint",
        summary="What is wrong, or hardly meant, with selectors, by what the drivers publish",
        request=LintIn,
        responses=ANSWERS,
    )
    def post(self, request: Request) -> Response:
        given = self.asked(LintIn)
        return self.told(asking.lint(self.actor, self.cluster(given), given["expressions"]))
