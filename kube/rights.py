"""The one table of what the portal may do in a cluster, and why.

The roles to install, the check of what is missing, and the page that shows both come from it. The
rights to look suffice for mode observe and propose; mode manage adds those to change. Nothing here
lets the portal read Secrets, run commands in pods, or give away rights it does not name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from kube.client import Access, Json
from kube.rights_table import (
    ACCOUNT,
    DRA,
    GATEWAY,
    INFERENCE,
    LOOK,
    MANAGE_ROLE,
    METRICS_ROLE,
    MIGRATE_ROLE,
    NAMESPACE,
    OBSERVE_ROLE,
    PICKER_ROLE,
    RBAC,
    RIGHTS,
    TENANT_ROLES,
    Right,
)

__all__ = [
    "MANAGE_ROLE",
    "METRICS_ROLE",
    "MIGRATE_ROLE",
    "OBSERVE_ROLE",
    "RIGHTS",
    "Missing",
    "Right",
]

TOKEN_HOURS = 24 * 90

_TENANT_VIEW: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("", ("pods", "pods/log", "services", "configmaps", "events", "resourcequotas")),
    ("apps", ("deployments", "replicasets", "statefulsets")),
    (DRA, ("resourceclaims", "resourceclaimtemplates")),
    (GATEWAY, ("httproutes",)),
    (INFERENCE, ("inferencepools",)),
)
_TENANT_EDIT: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("", ("pods", "services", "configmaps")),
    ("apps", ("deployments", "deployments/scale", "statefulsets", "statefulsets/scale")),
    (DRA, ("resourceclaims", "resourceclaimtemplates")),
)


def levels_of(mode: str) -> tuple[str, ...]:
    """The roles that a mode needs: observe and propose only look."""
    return ("observe", "manage") if mode == "manage" else ("observe",)


def rights_of(levels: Iterable[str]) -> list[Right]:
    wanted = set(levels)
    return [right for right in RIGHTS if right.level in wanted]


@dataclass(frozen=True, slots=True)
class Missing:
    """A right that the cluster does not grant, and the feature that goes without it."""

    feature: str
    why: str
    access: str
    level: str


def missing(
    allowed: dict[Access, bool], levels: Iterable[str], served: Iterable[str]
) -> list[Missing]:
    """Compare what was asked (`to_ask`) with the table. Rights on what the cluster does not serve
    are not missing."""
    there = _resources(served)
    return [
        Missing(right.feature, right.why, str(access), right.level)
        for right in rights_of(levels)
        for access in right.accesses()
        if (access.group, access.resource) in there and not allowed.get(access, False)
    ]


def to_ask(levels: Iterable[str]) -> list[Access]:
    """Every access of these levels, once."""
    return list(dict.fromkeys(a for right in rights_of(levels) for a in right.accesses()))


def manifests(*, mode: str = "observe", metrics: bool = False, migrate: bool = False) -> list[Json]:
    """Namespace, account, roles and bindings that give the portal exactly what `mode` needs."""
    levels = [*levels_of(mode), *(["metrics"] if metrics else [])]
    levels += ["migrate"] if migrate else []
    found: list[Json] = [
        _named("v1", "Namespace", NAMESPACE),
        _named("v1", "ServiceAccount", ACCOUNT, NAMESPACE),
    ]
    for level in levels:
        found += role_and_binding(level)
    if "manage" in levels:
        found += [*tenant_roles(), picker_role()]
    return found


def role_and_binding(level: str) -> list[Json]:
    """What one level adds."""
    return [cluster_role(level), _binding(f"claimyard-{level}")]


def cluster_role(level: str) -> Json:
    """The ClusterRole of one level: observe, manage, metrics or migrate."""
    rules: dict[tuple[Any, ...], list[str]] = {}
    for right in rights_of([level]):
        key = (right.group, right.verbs, right.names)
        resources = rules.setdefault(key, [])
        resources += [one for one in right.resources if one not in resources]
    role = _named(f"{RBAC}/v1", "ClusterRole", f"claimyard-{level}")
    role["rules"] = [
        {
            "apiGroups": [group],
            "resources": resources,
            **({"resourceNames": list(names)} if names else {}),
            "verbs": list(verbs),
        }
        for (group, verbs, names), resources in rules.items()
    ]
    return role


def tenant_roles() -> list[Json]:
    """What a tenant's people and accounts may get in their namespaces, by RoleBinding."""
    view, edit = (_named(f"{RBAC}/v1", "ClusterRole", name) for name in TENANT_ROLES)
    view["rules"] = [
        {"apiGroups": [group], "resources": list(resources), "verbs": list(LOOK)}
        for group, resources in _TENANT_VIEW
    ]
    edit["rules"] = view["rules"] + [
        {
            "apiGroups": [group],
            "resources": list(resources),
            "verbs": ["create", "update", "patch", "delete"],
        }
        for group, resources in _TENANT_EDIT
    ]
    return [view, edit]


def picker_role() -> Json:
    """What an endpoint picker reads in its namespace; it writes nothing."""
    role = _named(f"{RBAC}/v1", "ClusterRole", PICKER_ROLE)
    # Objectives and rewrites moved to a group of their own when the picker did.
    older, newer = "inference.networking.x-k8s.io", "llm-d.ai"
    role["rules"] = [
        {"apiGroups": [group], "resources": list(resources), "verbs": list(LOOK)}
        for group, resources in (
            ("", ("pods",)),
            (INFERENCE, ("inferencepools",)),
            (older, ("inferenceobjectives", "inferencemodelrewrites")),
            (newer, ("inferenceobjectives", "inferencemodelrewrites")),
        )
    ]
    return role


def as_yaml(objects: Iterable[Json]) -> str:
    return yaml.safe_dump_all(objects, sort_keys=False, default_flow_style=False)


def token_command(*, hours: int = TOKEN_HOURS) -> str:
    """Prints a token that ends by itself; some clusters allow less than is asked for."""
    return f"kubectl create token {ACCOUNT} --namespace {NAMESPACE} --duration {hours}h"


def ca_command() -> str:
    """Prints the CA certificate and the address that go with the token."""
    return "kubectl config view --raw --flatten --minify"


def _named(api_version: str, kind: str, name: str, namespace: str = "") -> Json:
    metadata: Json = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata["labels"] = {"app.kubernetes.io/part-of": "claimyard"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _binding(role: str) -> Json:
    binding = _named(f"{RBAC}/v1", "ClusterRoleBinding", role)
    binding["roleRef"] = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
    binding["subjects"] = [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}]
    return binding


def _resources(served: Iterable[str]) -> set[tuple[str, str]]:
    found = set()
    for key in served:
        group, _, plural = key.split("/", 2)
        found.add((group, plural))
    return found
