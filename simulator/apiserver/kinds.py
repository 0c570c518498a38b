"""The kinds that the server knows, and the kinds that a CustomResourceDefinition adds."""

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Kind:
    """One resource of one version; `selectable` are field selectors beside name and namespace."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    singular: str = ""
    short: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    status: bool = False
    scale: bool = False
    selectable: tuple[str, ...] = ()
    schema: str = ""
    custom: bool = field(default=False)

    @property
    def group_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """The name used in messages: plural, with the group unless it is core."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def list_kind(self) -> str:
        return f"{self.kind}List"

    @property
    def type_prefix(self) -> bytes:
        """How every stored object of this kind begins."""
        return f'{{"kind":"{self.kind}","apiVersion":"{self.group_version}",'.encode()


def _core(kind: str, plural: str, **more: object) -> Kind:
    return Kind("", "v1", kind, plural, schema=f"io.k8s.api.core.v1.{kind}", **more)  # type: ignore[arg-type]


def _of(group: str, package: str, kind: str, plural: str, **more: object) -> Kind:
    return Kind(group, "v1", kind, plural, schema=f"{package}.v1.{kind}", **more)  # type: ignore[arg-type]


_POD_FIELDS = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
)
_EVENT_FIELDS = (
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
)
_ALL = ("all",)
_APPS = "apps", "io.k8s.api.apps"
_BATCH = "batch", "io.k8s.api.batch"
_DRA = "resource.k8s.io", "io.k8s.api.resource"
_RBAC = "rbac.authorization.k8s.io", "io.k8s.api.rbac"
_ADMIT = "admissionregistration.k8s.io", "io.k8s.api.admissionregistration"
_EXT = "apiextensions.k8s.io", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions"

BUILT_IN: tuple[Kind, ...] = (
    _core("ConfigMap", "configmaps", short=("cm",)),
    _core("Endpoints", "endpoints", short=("ep",)),
    _core("Event", "events", short=("ev",), selectable=_EVENT_FIELDS),
    _core("LimitRange", "limitranges", short=("limits",)),
    _core(
        "Namespace",
        "namespaces",
        namespaced=False,
        short=("ns",),
        status=True,
        selectable=("status.phase",),
    ),
    _core(
        "Node",
        "nodes",
        namespaced=False,
        short=("no",),
        status=True,
        selectable=("spec.unschedulable",),
    ),
    _core("PersistentVolumeClaim", "persistentvolumeclaims", short=("pvc",), status=True),
    _core("PersistentVolume", "persistentvolumes", namespaced=False, short=("pv",), status=True),
    _core("Pod", "pods", short=("po",), categories=_ALL, status=True, selectable=_POD_FIELDS),
    _core(
        "ReplicationController",
        "replicationcontrollers",
        short=("rc",),
        categories=_ALL,
        status=True,
        scale=True,
        selectable=("status.replicas",),
    ),
    _core("ResourceQuota", "resourcequotas", short=("quota",), status=True),
    _core("Secret", "secrets", selectable=("type",)),
    _core("ServiceAccount", "serviceaccounts", short=("sa",)),
    _core(
        "Service",
        "services",
        short=("svc",),
        categories=_ALL,
        status=True,
        selectable=("spec.clusterIP", "spec.type"),
    ),
    _of(*_ADMIT, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", namespaced=False),
    _of(
        *_ADMIT,
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        namespaced=False,
        status=True,
    ),
    _of(
        *_ADMIT,
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        namespaced=False,
    ),
    _of(
        *_ADMIT,
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        namespaced=False,
    ),
    _of(
        *_EXT,
        "CustomResourceDefinition",
        "customresourcedefinitions",
        namespaced=False,
        short=("crd", "crds"),
        categories=("api-extensions",),
        status=True,
    ),
    _of(*_APPS, "ControllerRevision", "controllerrevisions"),
    _of(*_APPS, "DaemonSet", "daemonsets", short=("ds",), categories=_ALL, status=True),
    _of(
        *_APPS,
        "Deployment",
        "deployments",
        short=("deploy",),
        categories=_ALL,
        status=True,
        scale=True,
    ),
    _of(
        *_APPS,
        "ReplicaSet",
        "replicasets",
        short=("rs",),
        categories=_ALL,
        status=True,
        scale=True,
        selectable=("status.replicas",),
    ),
    _of(
        *_APPS,
        "StatefulSet",
        "statefulsets",
        short=("sts",),
        categories=_ALL,
        status=True,
        scale=True,
    ),
    _of(*_BATCH, "CronJob", "cronjobs", short=("cj",), categories=_ALL, status=True),
    _of(
        *_BATCH,
        "Job",
        "jobs",
        categories=_ALL,
        status=True,
        selectable=("status.successful",),
    ),
    _of("coordination.k8s.io", "io.k8s.api.coordination", "Lease", "leases"),
    _of("discovery.k8s.io", "io.k8s.api.discovery", "EndpointSlice", "endpointslices"),
    _of(
        "networking.k8s.io",
        "io.k8s.api.networking",
        "NetworkPolicy",
        "networkpolicies",
        short=("netpol",),
    ),
    _of(
        "policy",
        "io.k8s.api.policy",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        short=("pdb",),
        status=True,
    ),
    _of(*_RBAC, "ClusterRoleBinding", "clusterrolebindings", namespaced=False),
    _of(*_RBAC, "ClusterRole", "clusterroles", namespaced=False),
    _of(*_RBAC, "RoleBinding", "rolebindings"),
    _of(*_RBAC, "Role", "roles"),
    _of(*_DRA, "DeviceClass", "deviceclasses", namespaced=False),
    _of(*_DRA, "DeviceTaintRule", "devicetaintrules", namespaced=False, status=True),
    _of(*_DRA, "ResourceClaim", "resourceclaims", status=True),
    _of(*_DRA, "ResourceClaimTemplate", "resourceclaimtemplates"),
    _of(
        *_DRA,
        "ResourceSlice",
        "resourceslices",
        namespaced=False,
        selectable=("spec.nodeName", "spec.driver", "spec.pool.name"),
    ),
    _of(
        "scheduling.k8s.io",
        "io.k8s.api.scheduling",
        "PriorityClass",
        "priorityclasses",
        namespaced=False,
        short=("pc",),
    ),
)

CUSTOM_RESOURCES = ("apiextensions.k8s.io", "v1", "customresourcedefinitions")


class Kinds:
    """Served kinds by group, version and plural. Built-in ones can be withheld by resource name."""

    def __init__(self, without: frozenset[str] = frozenset()) -> None:
        self._kinds = {
            (kind.group, kind.version, kind.plural): kind
            for kind in BUILT_IN
            if kind.resource not in without
        }

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._kinds.values())

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._kinds.get((group, version, plural))

    def group_versions(self) -> dict[str, list[str]]:
        """Versions of each group in the order in which they were first served."""
        found: dict[str, list[str]] = {}
        for kind in self._kinds.values():
            versions = found.setdefault(kind.group, [])
            if kind.version not in versions:
                versions.append(kind.version)
        return found

    def add(self, kind: Kind) -> None:
        self._kinds[(kind.group, kind.version, kind.plural)] = kind

    def remove(self, group: str, plural: str) -> list[Kind]:
        """Withdraw all versions of a resource, and say which there were."""
        gone = [kind for kind in self if kind.group == group and kind.plural == plural]
        for kind in gone:
            del self._kinds[(kind.group, kind.version, kind.plural)]
        return gone
