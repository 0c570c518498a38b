"""Clusters: registered, tried out, told what the portal may do there, retired."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from apps.api import lists
from apps.api.asks import AskOut, answered
from apps.api.base import Api, ListApi
from apps.common import asks
from apps.inventory import services, tasks
from apps.inventory.models import Cluster, Mode, WriteSwitch
from apps.tenancy.models import PlatformRole
from apps.tenancy.selectors import require_platform, tenants_of
from kube import credentials
from kube.errors import BadCredentials


class ClusterOut(serializers.ModelSerializer):
    mode = serializers.ChoiceField(choices=Mode.choices)
    features = serializers.DictField()
    rights = serializers.DictField()

    class Meta:
        model = Cluster
        fields = (
            "slug",
            "name",
            "server",
            "mode",
            "version",
            "features",
            "rights",
            "credentials_expire_at",
            "checked_at",
            "heard_at",
            "problem",
            "retired_at",
        )
        read_only_fields = fields


class CredentialsIn(serializers.Serializer):
    """A kubeconfig, or an address with a token and a CA certificate. Never shown again."""

    kubeconfig = serializers.CharField(
        required=False, max_length=credentials.LARGEST_KUBECONFIG, write_only=True
    )
    server = serializers.CharField(required=False, max_length=500)
    token = serializers.CharField(required=False, max_length=20_000, write_only=True)
    ca = serializers.CharField(required=False, max_length=100_000, allow_blank=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Adds `credentials` to what was given."""
        given = {name: attrs.pop(name, "") for name in ("kubeconfig", "server", "token", "ca")}
        if bool(given["kubeconfig"]) == bool(given["server"]):
            raise serializers.ValidationError("Give a kubeconfig, or an address with a token.")
        try:
            if given["kubeconfig"]:
                return attrs | {"credentials": credentials.from_kubeconfig(given["kubeconfig"])}
            opened = credentials.from_parts(
                server=given["server"], token=given["token"], ca=given["ca"]
            )
        except BadCredentials as error:
            raise serializers.ValidationError(error.message, code=error.code) from None
        return attrs | {"credentials": opened}


class ClusterIn(CredentialsIn):
    slug = serializers.CharField(max_length=50)
    name = serializers.CharField(max_length=100)
    mode = serializers.ChoiceField(choices=Mode.choices, default=Mode.OBSERVE)


class ModeIn(serializers.Serializer):
    mode = serializers.ChoiceField(choices=Mode.choices)


class WritesOut(serializers.ModelSerializer):
    changed_at = serializers.DateTimeField(allow_null=True)

    class Meta:
        model = WriteSwitch
        fields = ("stopped", "reason", "changed_at")
        read_only_fields = fields


class WritesIn(serializers.Serializer):
    stopped = serializers.BooleanField()
    reason = serializers.CharField(max_length=200, required=False, allow_blank=True)


def clusters_for(user: Any) -> QuerySet[Cluster]:
    """All for platform roles, else those in which a tenant of theirs has a namespace."""
    if user.is_platform:
        return Cluster.objects.all()
    tenants = tenants_of(user)
    return Cluster.objects.filter(
        pk__in=Cluster.objects.filter(tenant_namespaces__tenant__in=tenants).values("pk")
    )


def _version(cluster: Cluster) -> str:
    return cluster.mode


class ClustersApi(ListApi):
    serializer_class = ClusterOut
    table = lists.CLUSTERS

    def rows(self) -> QuerySet[Cluster]:
        return clusters_for(self.request.user)

    @extend_schema(
        operation_id="clusters_list",
        summary="Clusters",
        responses=ClusterOut(many=True),
    )
    def get(self, request: Request) -> Response:
        return self.listed()

    @extend_schema(
        operation_id="clusters_create",
        summary="Register a cluster",
        request=ClusterIn,
        responses={201: ClusterOut},
    )
    def post(self, request: Request) -> Response:
        require_platform(request.user, PlatformRole.ADMIN)
        made = services.register_cluster(actor=self.actor, **self.asked(ClusterIn))
        url = reverse("api:cluster", args=[made.slug], request=request)
        return self.shown(made, version=_version(made), status=201, Location=url)


class TryApi(Api):
    serializer_class = AskOut

    @extend_schema(
        operation_id="clusters_try",
        summary="Try credentials out: version, features, missing rights; nothing is kept",
        request=CredentialsIn,
        responses={200: AskOut, 202: AskOut},
    )
    def post(self, request: Request) -> Response:
        require_platform(request.user, PlatformRole.ADMIN)
        opened = self.asked(CredentialsIn)["credentials"]
        ask = asks.put(tasks.TRY_OUT, tasks.question_of(opened), asked_by=self.actor)
        return answered(self, asks.wait(ask))


class ClusterApi(Api):
    serializer_class = ClusterOut

    @extend_schema(operation_id="clusters_read", summary="A cluster")
    def get(self, request: Request, cluster: str) -> Response:
        found = get_object_or_404(clusters_for(request.user), slug=cluster)
        return self.shown(found, version=_version(found))

    @extend_schema(
        operation_id="clusters_update",
        summary="Observe, propose changes, or manage",
        request=ModeIn,
    )
    @transaction.atomic
    def patch(self, request: Request, cluster: str) -> Response:
        found = self._locked(cluster)
        found = services.set_mode(actor=self.actor, cluster=found, **self.asked(ModeIn))
        return self.shown(found, version=_version(found))

    @extend_schema(
        operation_id="clusters_retire",
        summary="Stop looking at a cluster; its history stays",
        responses={200: ClusterOut},
    )
    @transaction.atomic
    def delete(self, request: Request, cluster: str) -> Response:
        found = services.retire_cluster(actor=self.actor, cluster=self._locked(cluster))
        return self.shown(found, version=_version(found))

    def _locked(self, slug: str) -> Cluster:
        require_platform(self.request.user, PlatformRole.ADMIN)
        rows = Cluster.objects.select_for_update(no_key=True)
        found = get_object_or_404(rows, slug=slug)
        self.require_match(_version(found))
        return found


class CredentialsApi(Api):
    serializer_class = ClusterOut

    @extend_schema(
        operation_id="clusters_credentials",
        summary="Replace the credentials of a cluster",
        request=CredentialsIn,
    )
    def put(self, request: Request, cluster: str) -> Response:
        require_platform(request.user, PlatformRole.ADMIN)
        found = get_object_or_404(Cluster, slug=cluster)
        found = services.rotate_credentials(
            actor=self.actor, cluster=found, **self.asked(CredentialsIn)
        )
        return self.shown(found, version=_version(found))


class WritesApi(Api):
    serializer_class = WritesOut

    @extend_schema(operation_id="writes_read", summary="Are writes to clusters stopped?")
    def get(self, request: Request) -> Response:
        require_platform(request.user, *PlatformRole)
        return self.shown(WriteSwitch.objects.filter(pk=1).first() or WriteSwitch(pk=1))

    @extend_schema(
        operation_id="writes_set",
        summary="Stop all writes to all clusters at once, or allow them again",
        request=WritesIn,
    )
    def put(self, request: Request) -> Response:
        require_platform(request.user, PlatformRole.ADMIN)
        asked = self.asked(WritesIn)
        if asked["stopped"]:
            switch = services.stop_writes(actor=self.actor, reason=asked.get("reason", ""))
        else:
            switch = services.allow_writes(actor=self.actor)
        return self.shown(switch)
