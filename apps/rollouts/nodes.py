"""Looking at one node as it is now, for a step of its conversion."""

from collections.abc import Callable
from typing import Any

from apps.claims.models import Claim
from apps.inventory.models import Cluster
from domain.accelerators import is_accelerator
from domain.manifests.labels import DEPLOYMENT, POOL, TENANT
from domain.rollout.conversion import NodeNow, Recipe, User
from kube import client, kinds, parse
from kube.errors import NotFound

#: (tenant, deployment, pool) -> whether it can be spared; None: not of this migration.
Mine = Callable[[str, str, str], bool | None]
Json = dict[str, Any]
_ENDED = ("Succeeded", "Failed")


def look(
    connection: client.Cluster, cluster: Cluster, name: str, recipe: Recipe, mine: Mine
) -> NodeNow | None:
    """The node, its driver's slices and who holds its devices; None when there is no such node.

    Raises ClusterError.
    """
    try:
        node = connection.get(kinds.NODES, None, name)
    except NotFound:
        return None
    pods = connection.list_all(kinds.PODS, field_selector=f"spec.nodeName={name}")
    slices = connection.list_all(kinds.SLICES, field_selector=f"spec.nodeName={name}")
    status = node.get("status") or {}
    return NodeNow(
        name=name,
        labels=dict(node["metadata"].get("labels") or {}),
        is_cordoned=bool((node.get("spec") or {}).get("unschedulable")),
        is_ready=any(
            one.get("type") == "Ready" and one.get("status") == "True"
            for one in status.get("conditions") or ()
        ),
        capacity=_capacity(status, recipe),
        slices=whole([one for one in slices if one["spec"].get("driver") == recipe.driver]),
        users=tuple(
            user for pod in pods if (user := _user(cluster, pod, recipe, mine)) is not None
        ),
    )


def _capacity(status: Json, recipe: Recipe) -> dict[str, int]:
    """What the device plugin still has to give; a plugin that left leaves zeros behind."""
    found = {}
    for resource, amount in (status.get("allocatable") or {}).items():
        if resource.startswith(recipe.prefix) and is_accelerator(resource) and str(amount) != "0":
            found[resource] = int(amount) if str(amount).isdecimal() else 1
    return found


def whole(slices: list[Json]) -> bool | None:
    """Whether every pool of the driver is complete; None while there is none."""
    pools: dict[str, list[Json]] = {}
    for one in slices:
        pools.setdefault(str(one["spec"]["pool"]["name"]), []).append(one["spec"]["pool"])
    if not pools:
        return None
    return all(
        sum(1 for one in found if one["generation"] == newest) == wanted
        for found in pools.values()
        for newest in [max(one["generation"] for one in found)]
        for wanted in [
            next(one["resourceSliceCount"] for one in found if one["generation"] == newest)
        ]
    )


def _user(cluster: Cluster, pod: Json, recipe: Recipe, mine: Mine) -> User | None:
    """A pod that holds devices of the node, by units or by a claim of the driver."""
    if (pod.get("status") or {}).get("phase") in _ENDED:
        return None
    seen = parse.pod(pod)
    if not seen.requests and not _holds(cluster, seen.namespace, list(seen.claims), recipe.driver):
        return None
    labels = pod["metadata"].get("labels") or {}
    spare = mine(labels.get(TENANT, ""), labels.get(DEPLOYMENT, ""), labels.get(POOL, ""))
    return User(seen.namespace, seen.name, spare is not None, bool(spare))


def _holds(cluster: Cluster, namespace: str, claims: list[str], driver: str) -> bool:
    rows = Claim.objects.filter(cluster=cluster, namespace=namespace, name__in=claims)
    known = dict(rows.values_list("name", "results"))
    # A claim that is not mirrored yet may hold anything: the node waits for it.
    return any(
        name not in known or any(one.get("driver") == driver for one in known[name])
        for name in claims
    )
