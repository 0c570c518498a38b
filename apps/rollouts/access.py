"""Who may draw up a migration over what."""

from collections.abc import Iterable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404

from apps.deployments.models import Deployment
from apps.inventory.models import Cluster
from apps.tenancy.models import PlatformRole, Role, Tenant
from apps.tenancy.selectors import tenant_for, tenants_of
from domain.errors import InvalidValue
from domain.gates import PROMQL, confined
from domain.rollout.settings import settings_from

SEVERAL = "Several tenants at once are moved by a platform admin."


def tenant_to_move(user: Any, slug: str) -> Tenant:
    """The tenant whose deployments `user` may move: any for a platform admin, else as editor."""
    if user.has_platform_role(PlatformRole.ADMIN):
        return get_object_or_404(tenants_of(user), slug=slug)
    return tenant_for(user, slug, role=Role.EDITOR)


def scope_tenant(user: Any, scope: dict[str, Any] | None) -> Tenant | None:
    """The one tenant that a scope is of, if it is of one; raise for what `user` may not choose."""
    if not scope or scope.get("kind", "deployments") == "deployments":
        return None
    is_admin = user.has_platform_role(PlatformRole.ADMIN)
    if not is_admin and scope["kind"] != "tenant":
        raise PermissionDenied("Resources and node pools are moved by a platform admin.")
    if not is_admin and scope.get("convert_nodes"):
        raise PermissionDenied("Nodes are converted by a platform admin.")
    if scope["kind"] != "tenant":
        return None
    found = [tenant_to_move(user, slug) for slug in dict.fromkeys(scope.get("names", ()))]
    if len(found) > 1 and not is_admin:
        raise PermissionDenied(SEVERAL)
    return found[0] if len(found) == 1 else None


def require_own(user: Any, deployments: Iterable[Deployment], content: dict[str, Any]) -> None:
    """Raise for what reaches beyond one tenant and is not drawn up by a platform admin.

    A query of its own would read any series of the cluster's Prometheus, so it has to keep to the
    pool's namespace.
    """
    if user.has_platform_role(PlatformRole.ADMIN):
        return
    if len({one.tenant_id for one in deployments}) > 1:
        raise PermissionDenied(SEVERAL)
    for number, gate in enumerate(settings_from(content).gates):
        if gate.metric == PROMQL and (why_not := confined.why_not(gate.query)):
            text = f"{why_not} Only a platform admin may read other namespaces."
            raise InvalidValue(text, field=f"gates[{number}].query")


def clusters_to_choose(user: Any) -> QuerySet[Cluster]:
    """Where `user` may draw up a migration: everywhere as platform admin, else where their tenants
    have a namespace.
    """
    found = Cluster.objects.filter(retired_at=None)
    if user.has_platform_role(PlatformRole.ADMIN):
        return found
    own = Cluster.objects.filter(tenant_namespaces__tenant__in=tenants_of(user))
    return found.filter(pk__in=own.values("pk"))
