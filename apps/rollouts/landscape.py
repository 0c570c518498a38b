"""What a cluster's rows say that a plan of a migration needs: how nodes hand out devices, and which
workloads use them without the portal."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from apps.deployments.models import Deployment
from apps.inventory.models import Cluster, Mirrored, Node, Pod
from domain.accelerators import is_accelerator
from domain.rollout.mapping import Bridge, Offer, offers_of

Json = dict[str, Any]
_TEMPLATED = {"deployments": "Deployment", "statefulsets": "StatefulSet", "jobs": "Job"}


@dataclass(frozen=True, slots=True)
class Home:
    """A node with cards: its labels, and what its device plugin has to give."""

    name: str
    labels: dict[str, str]
    units: dict[str, int]
    row: Node

    @property
    def offers(self) -> list[Offer]:
        return offers_of(self.name, self.labels, self.units)


@dataclass(slots=True)
class Foreign:
    """A workload of somebody else; `spec` is that of its pods."""

    kind: str
    namespace: str
    name: str
    spec: Json
    manifest: Json | None = None
    pods: list[str] = field(default_factory=list)
    nodes: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def homes(cluster: Cluster) -> dict[str, Home]:
    """Every node that has cards, by name."""
    rows = {node.name: node for node in Node.objects.filter(cluster=cluster, has_cards=True)}
    found = {}
    mirrored = Mirrored.objects.filter(cluster=cluster, kind="nodes", name__in=rows)
    for name, body in mirrored.values_list("name", "body"):
        labels = (body.get("metadata") or {}).get("labels") or {}
        allocatable = (body.get("status") or {}).get("allocatable") or {}
        units = {
            resource: int(amount)
            for resource, amount in allocatable.items()
            if is_accelerator(resource) and str(amount).isdecimal() and int(amount)
        }
        found[name] = Home(name, dict(labels), units, rows[name])
    return found


def bridges(cluster: Cluster) -> list[Bridge]:
    """Classes of the cluster that serve an extended resource; of several, the one that wins: the
    newest, then the one that sorts first (KEP-5004)."""
    bodies = Mirrored.objects.filter(cluster=cluster, kind="deviceclasses").values_list(
        "body", flat=True
    )
    named = [one for one in bodies if (one.get("spec") or {}).get("extendedResourceName")]
    named.sort(key=lambda one: str(one["metadata"]["name"]))
    named.sort(key=lambda one: str(one["metadata"].get("creationTimestamp") or ""), reverse=True)
    won: dict[str, str] = {}
    for one in named:
        won.setdefault(str(one["spec"]["extendedResourceName"]), str(one["metadata"]["name"]))
    return [Bridge(name, resource) for resource, name in sorted(won.items())]


def known_deployments(cluster: Cluster) -> set[tuple[str, str]]:
    """(tenant, name) of what the portal serves there."""
    rows = Deployment.objects.filter(cluster=cluster, retired_at=None)
    return set(rows.values_list("tenant__slug", "name"))


def foreign(
    cluster: Cluster, *, nodes: Collection[str] = (), resources: Collection[str] = ()
) -> list[Foreign]:
    """Workloads that use devices of these nodes, or ask for these resources, and are not ours."""
    ours = known_deployments(cluster)
    rows = [
        pod
        for pod in Pod.objects.filter(cluster=cluster).exclude(phase__in=["Succeeded", "Failed"])
        if (pod.tenant, pod.deployment) not in ours
        and (pod.requests or pod.claims)
        and (pod.node_name in nodes or not pod.requests.keys().isdisjoint(resources))
    ]
    bodies = dict(
        Mirrored.objects.filter(
            cluster=cluster, kind="pods", uid__in=[pod.uid for pod in rows]
        ).values_list("uid", "body")
    )
    found: dict[tuple[str, str, str], Foreign] = {}
    for pod in rows:
        body = bodies.get(pod.uid)
        if body is None:
            continue
        kind, name = owner_of(body)
        key = (kind, pod.namespace, name)
        one = found.setdefault(key, Foreign(kind, pod.namespace, name, body.get("spec") or {}))
        one.pods.append(pod.name)
        if pod.node_name:
            one.nodes.add(pod.node_name)
    _add_manifests(cluster, found.values())
    return [found[key] for key in sorted(found)]


def owner_of(pod: Json) -> tuple[str, str]:
    """Kind and name of what made the pod; a ReplicaSet of a Deployment stands for that one."""
    metadata = pod["metadata"]
    owners = [one for one in metadata.get("ownerReferences") or () if one.get("controller")]
    if not owners:
        return "Pod", str(metadata["name"])
    kind, name = str(owners[0].get("kind")), str(owners[0].get("name"))
    hashed = (metadata.get("labels") or {}).get("pod-template-hash", "")
    if kind == "ReplicaSet" and hashed and name.endswith(f"-{hashed}"):
        return "Deployment", name.removesuffix(f"-{hashed}")
    return kind, name


def _add_manifests(cluster: Cluster, found: Iterable[Foreign]) -> None:
    """The whole manifest where it is mirrored: its pod template is what people would change."""
    wanted = {(one.kind, one.namespace, one.name): one for one in found}
    rows = Mirrored.objects.filter(
        cluster=cluster,
        kind__in=_TEMPLATED,
        name__in={name for _, _, name in wanted},
    )
    for kind, namespace, name, body in rows.values_list("kind", "namespace", "name", "body"):
        one = wanted.get((_TEMPLATED[kind], namespace, name))
        if one is not None:
            one.manifest = body
            one.spec = ((body.get("spec") or {}).get("template") or {}).get("spec") or one.spec
