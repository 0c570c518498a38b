"""What a tenant has in a cluster: its namespace, its account, its rights, its limits.

Rights are read-only until admission policies are in force there, so that whatever runs has passed
the portal's own quota and approval.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from domain.manifests.labels import MANAGED_BY, MANAGER, TENANT

Manifest = dict[str, Any]
SERVICE_ACCOUNT = "claimyard-server"
# A ClusterRole that is installed together with the portal's own account: whoever may create roles
# may give away what they do not name, so the portal binds this one and creates none.
VIEWER = "claimyard-tenant-view"
QUOTA = "claimyard"
# What the portal puts onto a namespace, and takes off again.
SPACE_LABELS = (MANAGED_BY, TENANT)


@dataclass(frozen=True, slots=True)
class TenantSpace:
    """`limits` are devices per class, 0 for a class that is refused.

    `resources` are the extended resources through which a class is handed out on the device-plugin
    path. `groups` are those of the tenant's people in the login that cluster and portal share.
    """

    tenant: str
    namespace: str
    limits: Mapping[str, int]
    resources: Mapping[str, Iterable[str]]
    groups: tuple[str, ...] = ()


def render(space: TenantSpace) -> list[Manifest]:
    """The objects of the tenant in one cluster, in apply order."""
    return [
        _namespace(space),
        _object(space, "v1", "ServiceAccount", SERVICE_ACCOUNT)
        | {"automountServiceAccountToken": False},
        _binding(space),
        _object(space, "v1", "ResourceQuota", QUOTA) | {"spec": {"hard": hard_limits(space)}},
    ]


def _labels(space: TenantSpace) -> dict[str, str]:
    return {MANAGED_BY: MANAGER, TENANT: space.tenant}


def _namespace(space: TenantSpace) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": space.namespace, "labels": _labels(space)},
    }


def _object(space: TenantSpace, version: str, kind: str, name: str) -> Manifest:
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "namespace": space.namespace, "labels": _labels(space)},
    }


def _binding(space: TenantSpace) -> Manifest:
    subjects: list[dict[str, str]] = [
        {"kind": "ServiceAccount", "name": SERVICE_ACCOUNT, "namespace": space.namespace}
    ]
    subjects += [
        {"kind": "Group", "name": group, "apiGroup": "rbac.authorization.k8s.io"}
        for group in space.groups
    ]
    return _object(space, "rbac.authorization.k8s.io/v1", "RoleBinding", VIEWER) | {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": VIEWER},
        "subjects": subjects,
    }


def hard_limits(space: TenantSpace) -> dict[str, str]:
    """The keys of a ResourceQuota (k8s.io/kubernetes pkg/quota/v1/evaluator/core).

    A claim takes at least one device, so the sum of the limits bounds the number of claims. An
    extended resource that hands out several classes gets the sum of theirs.
    """
    hard: dict[str, int] = {}
    for name, limit in sorted(space.limits.items()):
        hard[f"{name}.deviceclass.resource.k8s.io/devices"] = limit
        for resource in space.resources.get(name, ()):
            key = f"requests.{resource}"
            hard[key] = hard.get(key, 0) + limit
    hard["count/resourceclaims.resource.k8s.io"] = sum(space.limits.values())
    return {key: str(amount) for key, amount in hard.items()}
