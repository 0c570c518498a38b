"""The one table of what the portal may do in a cluster, and why.

The roles to install, the check of what is missing, and the page that shows both come from it. The
rights to look suffice for mode observe and propose; mode manage adds those to change. Nothing here
lets the portal read Secrets, run commands in pods, or give away rights it does not name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from kube.client import Access, Json, Verb

NAMESPACE = "claimyard"
ACCOUNT = "claimyard"
OBSERVE_ROLE = "claimyard-observe"
MANAGE_ROLE = "claimyard-manage"
METRICS_ROLE = "claimyard-metrics"
PICKER_ROLE = "claimyard-picker"
TENANT_ROLES = ("claimyard-tenant-view", "claimyard-tenant-edit")
TOKEN_HOURS = 24 * 90

LOOK: tuple[Verb, ...] = ("get", "list", "watch")
CHANGE: tuple[Verb, ...] = ("get", "create", "patch", "delete")
DRA = "resource.k8s.io"
GATEWAY = "gateway.networking.k8s.io"
INFERENCE = "inference.networking.k8s.io"
RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class Right:
    """One line of the table. `level` is the role that grants it."""

    feature: str
    why: str
    level: str  # observe | manage | metrics
    group: str
    resources: tuple[str, ...]
    verbs: tuple[Verb, ...]
    names: tuple[str, ...] = ()
    is_optional: bool = False  # served only by some clusters

    def accesses(self) -> Iterator[Access]:
        for resource in self.resources:
            name, _, subresource = resource.partition("/")
            for verb in self.verbs:
                for only in self.names or ("",):
                    yield Access(verb, self.group, name, name=only, subresource=subresource)


RIGHTS: tuple[Right, ...] = (
    Right(
        "Inventory",
        "Count cards and show who holds them",
        "observe",
        "",
        ("nodes", "pods", "namespaces"),
        LOOK,
    ),
    Right(
        "Inventory",
        "Read what drivers publish, classes and claims",
        "observe",
        DRA,
        ("resourceslices", "deviceclasses", "resourceclaims", "resourceclaimtemplates"),
        LOOK,
    ),
    Right(
        "Inventory",
        "See which devices were taken out of service",
        "observe",
        DRA,
        ("devicetaintrules",),
        LOOK,
        is_optional=True,
    ),
    Right(
        "Workloads",
        "Show which workloads use devices, and whether they are ready",
        "observe",
        "apps",
        ("deployments", "replicasets", "statefulsets", "daemonsets"),
        LOOK,
    ),
    Right("Workloads", "Show jobs that use devices", "observe", "batch", ("jobs",), LOOK),
    Right(
        "Why pending",
        "Show the scheduler's and the kubelet's own messages",
        "observe",
        "",
        ("events",),
        LOOK,
    ),
    Right(
        "Quotas",
        "Compare the quota in the cluster with the portal's",
        "observe",
        "",
        ("resourcequotas", "serviceaccounts", "services", "configmaps"),
        LOOK,
    ),
    Right(
        "Proposals",
        "Compare what is there with what the portal would apply",
        "observe",
        RBAC,
        ("rolebindings",),
        LOOK,
    ),
    Right(
        "Proposals",
        "Compare what is there with what the portal would apply",
        "observe",
        "policy",
        ("poddisruptionbudgets",),
        LOOK,
    ),
    Right(
        "Routing",
        "Show by which weights a gateway shares requests, and whether it took them",
        "observe",
        GATEWAY,
        ("gateways", "httproutes"),
        LOOK,
        is_optional=True,
    ),
    Right(
        "Routing",
        "Show whether a gateway took the pools of model servers",
        "observe",
        INFERENCE,
        ("inferencepools",),
        LOOK,
        is_optional=True,
    ),
    Right("Logs", "Show the log of a failing pod", "observe", "", ("pods/log",), ("get",)),
    Right(
        "Figures",
        "Read a model server's metrics through the API server, without Prometheus",
        "metrics",
        "",
        ("pods/proxy",),
        ("get",),
        is_optional=True,
    ),
    Right(
        "Device classes",
        "Apply approved classes",
        "manage",
        DRA,
        ("deviceclasses",),
        CHANGE,
    ),
    Right(
        "Deployments",
        "Apply claim templates of approved patterns",
        "manage",
        DRA,
        ("resourceclaimtemplates", "resourceclaims"),
        CHANGE,
    ),
    Right(
        "Deployments",
        "Apply the tenants' workloads and scale them",
        "manage",
        "apps",
        ("deployments", "deployments/scale", "statefulsets", "statefulsets/scale"),
        CHANGE,
    ),
    Right(
        "Deployments",
        "Apply the Services and settings of tenants' workloads",
        "manage",
        "",
        ("services", "configmaps"),
        CHANGE,
    ),
    Right(
        "Deployments",
        "Keep enough replicas up while nodes are drained",
        "manage",
        "policy",
        ("poddisruptionbudgets",),
        CHANGE,
    ),
    Right(
        "Routing",
        "Share a deployment's requests between its pools by weight",
        "manage",
        GATEWAY,
        ("httproutes",),
        CHANGE,
        is_optional=True,
    ),
    Right(
        "Routing",
        "Give each pool of model servers to the gateway",
        "manage",
        INFERENCE,
        ("inferencepools",),
        CHANGE,
        is_optional=True,
    ),
    Right(
        "Tenants",
        "Make and label the tenants' namespaces, and delete empty ones that it made",
        "manage",
        "",
        ("namespaces",),
        CHANGE,
    ),
    Right(
        "Tenants",
        "See that a namespace is empty before deleting it",
        "manage",
        "",
        ("persistentvolumeclaims",),
        ("list",),
    ),
    Right(
        "Tenants",
        "Apply quotas and the tenants' accounts",
        "manage",
        "",
        ("resourcequotas", "serviceaccounts"),
        CHANGE,
    ),
    Right(
        "Tenants",
        "Give tenants access to their own namespaces",
        "manage",
        RBAC,
        ("rolebindings",),
        CHANGE,
    ),
    Right(
        "Tenants",
        "Hand out these roles and no others: the tenants' two, and the endpoint pickers'",
        "manage",
        RBAC,
        ("clusterroles",),
        ("bind",),
        names=(*TENANT_ROLES, PICKER_ROLE),
    ),
    Right(
        "Admission policies",
        "Hold tenants to approved classes and selectors",
        "manage",
        "admissionregistration.k8s.io",
        ("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
        (*CHANGE, "list", "watch"),
    ),
)

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


def manifests(*, mode: str = "observe", metrics: bool = False) -> list[Json]:
    """Namespace, account, roles and bindings that give the portal exactly what `mode` needs."""
    levels = [*levels_of(mode), *(["metrics"] if metrics else [])]
    found: list[Json] = [
        _named("v1", "Namespace", NAMESPACE),
        _named("v1", "ServiceAccount", ACCOUNT, NAMESPACE),
    ]
    for level in levels:
        found += [cluster_role(level), _binding(f"claimyard-{level}")]
    if "manage" in levels:
        found += [*tenant_roles(), picker_role()]
    return found


def cluster_role(level: str) -> Json:
    """The ClusterRole of one level: observe, manage or metrics."""
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
