"""The kinds of object that we read or write, and where a server keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Kind:
    """One resource of the API: group "" is the core group."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def key(self) -> str:
        """As in `Cluster.resources()`: "group/version/plural", "/v1/pods" for the core group."""
        return f"{self.group}/{self.version}/{self.plural}"

    def path(self, namespace: str | None = None, name: str | None = None, sub: str = "") -> str:
        """The URL path; names are quoted, so that no name can reach another path."""
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if self.namespaced and namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        if name is not None:
            parts.append(quote(name, safe=""))
        if sub:
            parts.append(sub)
        return "/".join(parts)

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


def _core(plural: str, kind: str, *, namespaced: bool = True) -> Kind:
    return Kind("", "v1", plural, kind, namespaced)


def _dra(plural: str, kind: str, *, namespaced: bool = False) -> Kind:
    return Kind("resource.k8s.io", "v1", plural, kind, namespaced)


NODES = _core("nodes", "Node", namespaced=False)
NAMESPACES = _core("namespaces", "Namespace", namespaced=False)
PODS = _core("pods", "Pod")
SERVICES = _core("services", "Service")
EVENTS = _core("events", "Event")
SECRETS = _core("secrets", "Secret")
CONFIG_MAPS = _core("configmaps", "ConfigMap")
SERVICE_ACCOUNTS = _core("serviceaccounts", "ServiceAccount")
RESOURCE_QUOTAS = _core("resourcequotas", "ResourceQuota")
VOLUME_CLAIMS = _core("persistentvolumeclaims", "PersistentVolumeClaim")

SLICES = _dra("resourceslices", "ResourceSlice")
CLASSES = _dra("deviceclasses", "DeviceClass")
CLAIMS = _dra("resourceclaims", "ResourceClaim", namespaced=True)
TEMPLATES = _dra("resourceclaimtemplates", "ResourceClaimTemplate", namespaced=True)
TAINT_RULES = _dra("devicetaintrules", "DeviceTaintRule")

DEPLOYMENTS = Kind("apps", "v1", "deployments", "Deployment", True)
REPLICA_SETS = Kind("apps", "v1", "replicasets", "ReplicaSet", True)
STATEFUL_SETS = Kind("apps", "v1", "statefulsets", "StatefulSet", True)
DAEMON_SETS = Kind("apps", "v1", "daemonsets", "DaemonSet", True)
JOBS = Kind("batch", "v1", "jobs", "Job", True)
DISRUPTION_BUDGETS = Kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", True)

# Served only where the Gateway API and its Inference Extension are installed.
GATEWAYS = Kind("gateway.networking.k8s.io", "v1", "gateways", "Gateway", True)
HTTP_ROUTES = Kind("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute", True)
INFERENCE_POOLS = Kind("inference.networking.k8s.io", "v1", "inferencepools", "InferencePool", True)

_RBAC = "rbac.authorization.k8s.io"
ROLES = Kind(_RBAC, "v1", "roles", "Role", True)
ROLE_BINDINGS = Kind(_RBAC, "v1", "rolebindings", "RoleBinding", True)
CLUSTER_ROLES = Kind(_RBAC, "v1", "clusterroles", "ClusterRole", False)
CLUSTER_ROLE_BINDINGS = Kind(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", False)

_ADMISSION = "admissionregistration.k8s.io"
ADMISSION_POLICIES = Kind(
    _ADMISSION, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", False
)
ADMISSION_BINDINGS = Kind(
    _ADMISSION, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", False
)

ACCESS_REVIEWS = Kind(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False
)

KNOWN: tuple[Kind, ...] = (
    NODES,
    NAMESPACES,
    PODS,
    SERVICES,
    EVENTS,
    SECRETS,
    CONFIG_MAPS,
    SERVICE_ACCOUNTS,
    RESOURCE_QUOTAS,
    VOLUME_CLAIMS,
    SLICES,
    CLASSES,
    CLAIMS,
    TEMPLATES,
    TAINT_RULES,
    DEPLOYMENTS,
    REPLICA_SETS,
    STATEFUL_SETS,
    DAEMON_SETS,
    JOBS,
    DISRUPTION_BUDGETS,
    ROLES,
    ROLE_BINDINGS,
    CLUSTER_ROLES,
    CLUSTER_ROLE_BINDINGS,
    ADMISSION_POLICIES,
    ADMISSION_BINDINGS,
    ACCESS_REVIEWS,
)
_BY_NAME = {(kind.api_version, kind.kind): kind for kind in KNOWN}


def known(api_version: str, kind: str) -> Kind | None:
    """The kind of a manifest, when it is one of those that every cluster has."""
    return _BY_NAME.get((api_version, kind))
