"""The one table of what the portal may do in a cluster, and why; kube.rights makes roles of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kube.client import Access, Verb

NAMESPACE = "claimyard"
ACCOUNT = "claimyard"
OBSERVE_ROLE = "claimyard-observe"
MANAGE_ROLE = "claimyard-manage"
METRICS_ROLE = "claimyard-metrics"
MIGRATE_ROLE = "claimyard-migrate"
PICKER_ROLE = "claimyard-picker"
TENANT_ROLES = ("claimyard-tenant-view", "claimyard-tenant-edit")
# The account that each tenant's namespace has; see domain.policies.
TENANT_ACCOUNT = "claimyard-server"

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
    level: str  # observe | manage | metrics | migrate
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
    Right(
        "Migrations",
        "See how the GPU Operator has installed the drivers",
        "migrate",
        "nvidia.com",
        ("clusterpolicies", "gpuclusters"),
        ("get", "list"),
        is_optional=True,
    ),
    Right(
        "Migrations",
        "Cordon a node and change the labels that say which driver runs there",
        "migrate",
        "",
        ("nodes",),
        ("patch",),
    ),
    Right(
        "Migrations",
        "Drain a migration's own pods, within their disruption budgets",
        "migrate",
        "",
        ("pods/eviction",),
        ("create",),
    ),
    # KEP-5284: whom, and what for, apart. Older servers refuse, and shadow says so.
    Right(
        "Migrations",
        "Try claim and pod by dry run as a tenant's account",
        "migrate",
        "authentication.k8s.io",
        ("serviceaccounts",),
        ("impersonate:serviceaccount",),
        names=(TENANT_ACCOUNT,),
        is_optional=True,
    ),
    Right(
        "Migrations",
        "As that account, make claims and nothing else",
        "migrate",
        DRA,
        ("resourceclaims",),
        ("impersonate-on:serviceaccount:create",),
        is_optional=True,
    ),
    Right(
        "Migrations",
        "As that account, make pods and nothing else",
        "migrate",
        "",
        ("pods",),
        ("impersonate-on:serviceaccount:create",),
        is_optional=True,
    ),
)
