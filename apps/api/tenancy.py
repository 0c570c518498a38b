"""Tenants and their members."""

from django.db import transaction
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from apps.api import lists
from apps.api.base import Api, ListApi
from apps.tenancy import services
from apps.tenancy.models import Member, PlatformRole, Role, Tenant
from apps.tenancy.selectors import require_platform, tenant_for, tenants_of

ROLES = {role.name.lower(): role for role in Role}


class TenantOut(serializers.ModelSerializer):
    class Meta:
        model = Tenant
        fields = ("slug", "name", "created_at", "updated_at", "retired_at")
        read_only_fields = fields


class TenantIn(serializers.Serializer):
    slug = serializers.CharField(max_length=50)
    name = serializers.CharField(max_length=100)


class TenantChange(serializers.Serializer):
    name = serializers.CharField(max_length=100)


class MemberOut(serializers.ModelSerializer):
    user = serializers.CharField(source="user.username", read_only=True)
    role = serializers.SerializerMethodField()

    class Meta:
        model = Member
        fields = ("user", "role", "from_login", "created_at")
        read_only_fields = fields

    @extend_schema_field({"type": "string", "enum": sorted(ROLES)})
    def get_role(self, member: Member) -> str:
        return Role(member.role).name.lower()


class MemberIn(serializers.Serializer):
    role = serializers.ChoiceField(choices=sorted(ROLES))


def _version(tenant: Tenant) -> str:
    return f"{tenant.updated_at.timestamp():.6f}".replace(".", "")


class TenantsApi(ListApi):
    serializer_class = TenantOut
    table = lists.TENANTS

    def rows(self) -> QuerySet[Tenant]:
        return tenants_of(self.request.user)

    @extend_schema(operation_id="tenants_list", summary="Tenants", responses=TenantOut(many=True))
    def get(self, request: Request) -> Response:
        return self.listed()

    @extend_schema(
        operation_id="tenants_create",
        summary="Make a tenant",
        request=TenantIn,
        responses={201: TenantOut},
    )
    def post(self, request: Request) -> Response:
        require_platform(request.user, PlatformRole.ADMIN)
        tenant = services.create_tenant(actor=self.actor, **self.asked(TenantIn))
        url = reverse("api:tenant", args=[tenant.slug], request=request)
        return self.shown(tenant, version=_version(tenant), status=201, Location=url)


class TenantApi(Api):
    serializer_class = TenantOut

    @extend_schema(operation_id="tenants_read", summary="A tenant")
    def get(self, request: Request, tenant: str) -> Response:
        found = tenant_for(request.user, tenant)
        return self.shown(found, version=_version(found))

    @extend_schema(operation_id="tenants_update", summary="Rename a tenant", request=TenantChange)
    @transaction.atomic
    def patch(self, request: Request, tenant: str) -> Response:
        found = self._locked(tenant)
        services.rename_tenant(actor=self.actor, tenant=found, **self.asked(TenantChange))
        return self.shown(found, version=_version(found))

    @extend_schema(
        operation_id="tenants_retire",
        summary="Retire a tenant: nothing new is given to it, its history stays",
        responses={200: TenantOut},
    )
    @transaction.atomic
    def delete(self, request: Request, tenant: str) -> Response:
        found = services.retire_tenant(actor=self.actor, tenant=self._locked(tenant))
        return self.shown(found, version=_version(found))

    def _locked(self, slug: str) -> Tenant:
        require_platform(self.request.user, PlatformRole.ADMIN)
        rows = Tenant.objects.select_for_update(no_key=True)
        found = get_object_or_404(rows, slug=slug)
        self.require_match(_version(found))
        return found


class MembersApi(ListApi):
    serializer_class = MemberOut
    table = lists.MEMBERS

    def rows(self) -> QuerySet[Member]:
        tenant = tenant_for(self.request.user, self.kwargs["tenant"])
        return Member.objects.filter(tenant=tenant).select_related("user")

    @extend_schema(
        operation_id="members_list",
        summary="Members of a tenant",
        responses=MemberOut(many=True),
    )
    def get(self, request: Request, tenant: str) -> Response:
        return self.listed()


class MemberApi(Api):
    serializer_class = MemberOut

    @extend_schema(operation_id="members_read", summary="A member")
    def get(self, request: Request, tenant: str, user: str) -> Response:
        return self.shown(self._member(tenant_for(request.user, tenant), user))

    @extend_schema(
        operation_id="members_set",
        summary="Make someone a member, or change the role",
        request=MemberIn,
    )
    def put(self, request: Request, tenant: str, user: str) -> Response:
        found = managed_tenant(request, tenant)
        role = ROLES[self.asked(MemberIn)["role"]]
        member = services.set_member(
            actor=self.actor, tenant=found, user=services.person(user), role=role
        )
        return self.shown(member)

    @extend_schema(operation_id="members_remove", summary="Take someone out", responses={204: None})
    def delete(self, request: Request, tenant: str, user: str) -> Response:
        member = self._member(managed_tenant(request, tenant), user)
        services.remove_member(actor=self.actor, member=member)
        return Response(status=204)

    def _member(self, tenant: Tenant, user: str) -> Member:
        rows = Member.objects.filter(tenant=tenant).select_related("user", "tenant")
        return get_object_or_404(rows, user__username=user)


def managed_tenant(request: Request, slug: str) -> Tenant:
    """The tenant, for a platform admin or one of its owners."""
    if request.user.has_platform_role(PlatformRole.ADMIN):  # type: ignore[union-attr]
        return get_object_or_404(Tenant, slug=slug)
    return tenant_for(request.user, slug, role=Role.OWNER)
