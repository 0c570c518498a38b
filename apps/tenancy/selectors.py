"""The doors: the only ways by which a request gets at a tenant or at platform work."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Count, Max, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from apps.tenancy.models import PlatformRole, Role, Tenant, User


def tenants_of(user: Any) -> QuerySet[Tenant]:
    """The tenants that `user` may see: their own, or all of them for platform roles.

    `user.only_tenant_id` is set where the request came with an API token: the one tenant it is
    for, or 0 for a token of platform roles, which acts in no tenant.
    """
    if user.is_platform:
        return Tenant.objects.all()
    own = Tenant.objects.filter(members__user=user)
    only = getattr(user, "only_tenant_id", None)
    return own if only is None else own.filter(pk=only)


def sees_anything(user: Any) -> bool:
    """False for somebody who has logged in and belongs nowhere yet."""
    return bool(user.is_platform) or tenants_of(user).exists()


def role_in(user: Any, tenant: Tenant) -> Role | None:
    if getattr(user, "only_tenant_id", None) not in (None, tenant.pk):
        return None
    found = tenant.members.filter(user=user).values_list("role", flat=True).first()
    return None if found is None else Role(found)


def tenant_for(user: Any, slug: str, *, role: Role = Role.VIEWER) -> Tenant:
    """Return the tenant if `user` has at least `role` in it.

    404 when they may not even see it, so that names cannot be probed; 403 when the role is too
    low. Platform roles see every tenant but act in none: acting needs a membership.
    """
    tenant = get_object_or_404(tenants_of(user), slug=slug)
    held = role_in(user, tenant)
    if role > Role.VIEWER and (held is None or held < role):
        raise PermissionDenied(f"This needs the role {role.label.lower()} in {tenant.name}.")
    return tenant


def require_platform(user: Any, *roles: PlatformRole) -> None:
    """404 for people without any platform role, 403 for those with another one."""
    if not user.is_platform:
        raise Http404
    if not user.has_platform_role(*roles):
        wanted = " or ".join(role.label.lower() for role in roles)
        raise PermissionDenied(f"This needs the role {wanted}.")


def people() -> QuerySet[User]:
    return User.objects.prefetch_related("memberships__tenant")


def revision(user: Any) -> str:
    """A text that changes when the list of a person's tenants does, members included."""
    found = tenants_of(user).aggregate(
        newest=Max("updated_at"), newest_member=Max("members__updated_at"), count=Count("members")
    )
    return str(found)
