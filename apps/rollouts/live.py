"""What rows do not hold and the cluster itself must be asked: served APIs, operators' objects, and
disruption budgets. Called by the worker only; an answer that cannot be had is None."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from apps.inventory import connections
from apps.inventory.models import Cluster
from domain.rollout.preflight import Install
from kube import client, kinds
from kube.errors import ClusterError, NotFound
from kube.kinds import Kind

_OPERATOR = (
    (Install.CLUSTER_POLICY, Kind("nvidia.com", "v1", "clusterpolicies", "ClusterPolicy", False)),
    (Install.GPU_CLUSTER, Kind("nvidia.com", "v1alpha1", "gpuclusters", "GPUCluster", False)),
)


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget; `allowed` is how many of its pods may be away now."""

    namespace: str
    name: str
    labels: dict[str, str]
    allowed: int


@dataclass(frozen=True, slots=True)
class Live:
    """`installs` are only those of the operator; None when they could not be read. `problem` is set
    when the cluster did not answer at all."""

    served: frozenset[str] | None = None
    installs: frozenset[Install] | None = None
    budgets: tuple[Budget, ...] | None = None
    problem: str = ""


def look(cluster: Cluster, namespaces: Iterable[str]) -> Live:
    """Never raises a ClusterError: what is missing is None."""
    try:
        with connections.opened(cluster) as connection:
            served = connection.resources()
            return Live(
                frozenset(served), _installs(connection, served), _budgets(connection, namespaces)
            )
    except ClusterError as error:
        return Live(problem=error.message)


def _installs(connection: client.Cluster, served: Collection[str]) -> frozenset[Install] | None:
    found = set()
    for install, kind in _OPERATOR:
        if kind.key not in served:
            continue
        try:
            if connection.list_all(kind):
                found.add(install)
        except NotFound:
            continue
        except ClusterError:
            return None
    return frozenset(found)


def _budgets(connection: client.Cluster, namespaces: Iterable[str]) -> tuple[Budget, ...] | None:
    found = []
    for namespace in sorted(set(namespaces)):
        try:
            items = connection.list_all(kinds.DISRUPTION_BUDGETS, namespace=namespace)
        except ClusterError:
            return None
        found += [_budget(namespace, one) for one in items]
    return tuple(found)


def _budget(namespace: str, raw: dict[str, Any]) -> Budget:
    selector = (raw.get("spec") or {}).get("selector") or {}
    return Budget(
        namespace,
        str(raw["metadata"]["name"]),
        dict(selector.get("matchLabels") or {}),
        int((raw.get("status") or {}).get("disruptionsAllowed") or 0),
    )
