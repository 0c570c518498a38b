"""Who may draw up a migration over what."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404

from apps.tenancy.models import PlatformRole, Role, Tenant
from apps.tenancy.selectors import tenant_for, tenants_of


def tenant_to_move(user: Any, slug: str) -> Tenant:
    """The tenant whose deployments `user` may move: any for a platform admin, else as editor."""
    if user.has_platform_role(PlatformRole.ADMIN):
        return get_object_or_404(tenants_of(user), slug=slug)
    return tenant_for(user, slug, role=Role.EDITOR)


def scope_tenant(user: Any, scope: dict[str, Any] | None) -> Tenant | None:
    """The one tenant that a scope is of, if it is of one; raise for what `user` may not choose."""
    if not scope or scope.get("kind", "deployments") == "deployments":
        return None
    if scope["kind"] != "tenant":
        if not user.has_platform_role(PlatformRole.ADMIN):
            raise PermissionDenied("Resources and node pools are moved by a platform admin.")
        return None
    found = [tenant_to_move(user, slug) for slug in scope.get("names", ())]
    return found[0] if len(found) == 1 else None
