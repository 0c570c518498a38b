"""What became of deployments in a cluster: their pods, claims, events and conditions."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.deployments.models import AllocationPath, Deployment, ModelPool
from apps.deployments.selectors import live
from apps.inventory import connections
from apps.inventory.models import Cluster
from domain import conditions, serving
from domain.manifests.labels import DEPLOYMENT, MANAGED_BY, MANAGER, POOL
from kube import client, kinds
from kube.errors import ClusterError, Permanent

Raw = Mapping[str, Any]
Key = tuple[str, str, str]
OURS = f"{MANAGED_BY}={MANAGER},{POOL}"
MOST_EVENTS = 30


def observe_cluster(cluster: Cluster) -> int:
    """Read everything that carries our labels and note it; returns how many pools changed.

    Cluster errors pass through: what was seen last stays, with its age.
    """
    deployments = list(live().filter(cluster=cluster).prefetch_related("pools"))
    if not deployments:
        return 0
    with connections.opened(cluster) as connection:
        return _observe(connection, deployments)


def _observe(connection: client.Cluster, deployments: list[Deployment]) -> int:
    pods = _by_pool(connection.list_all(kinds.PODS, label_selector=OURS))
    claims = _by_pool(_claims(connection))
    changed = 0
    for deployment in deployments:
        events = _events(connection, deployment, pods)
        for pool in deployment.pools.all():
            key = (deployment.namespace, deployment.name, pool.name)
            seen = serving.Seen(pods[key], claims[key], events)
            changed += _note(pool, seen)
        Deployment.objects.filter(pk=deployment.pk).update(
            seen_at=timezone.now(), events=[_event(one) for one in events[:MOST_EVENTS]]
        )
    return changed


def _claims(connection: client.Cluster) -> Sequence[Raw]:
    """None, where the cluster has no resource.k8s.io/v1 or we may not read it."""
    try:
        return connection.list_all(kinds.CLAIMS, label_selector=OURS)
    except Permanent:
        return []


def _by_pool(objects: Iterable[Raw]) -> defaultdict[Key, list[Raw]]:
    found: defaultdict[Key, list[Raw]] = defaultdict(list)
    for one in sorted(objects, key=lambda one: str(one["metadata"].get("name"))):
        metadata = one["metadata"]
        labels = metadata.get("labels") or {}
        key = (metadata.get("namespace", ""), labels.get(DEPLOYMENT, ""), labels.get(POOL, ""))
        found[key].append(one)
    return found


def _events(
    connection: client.Cluster, deployment: Deployment, pods: defaultdict[Key, list[Raw]]
) -> list[Raw]:
    """Events of its pods that are not ready, newest first; a healthy deployment costs no call."""
    names = {
        serving.name_of(pod)
        for pool in deployment.pools.all()
        for pod in pods[(deployment.namespace, deployment.name, pool.name)]
        if not serving.is_ready(pod)
    }
    if not names:
        return []
    try:
        found = connection.list_all(
            kinds.EVENTS,
            namespace=deployment.namespace,
            field_selector="involvedObject.kind=Pod",
        )
    except ClusterError:
        return []
    theirs = [one for one in found if one.get("involvedObject", {}).get("name") in names]
    return sorted(theirs, key=_last_time, reverse=True)


def _last_time(event: Raw) -> str:
    metadata = event.get("metadata") or {}
    return str(
        event.get("lastTimestamp")
        or event.get("eventTime")
        or metadata.get("creationTimestamp")
        or ""
    )


def _event(event: Raw) -> Raw:
    return {
        "at": _last_time(event),
        "type": event.get("type", ""),
        "reason": event.get("reason", ""),
        "message": str(event.get("message", ""))[:1000],
        "pod": event.get("involvedObject", {}).get("name", ""),
        "count": event.get("count") or 1,
    }


def _note(pool: ModelPool, seen: serving.Seen) -> int:
    """Write what was seen, if it differs; 1 when it did."""
    found = serving.progress(
        seen,
        replicas=pool.replicas,
        needs_claims=pool.path == AllocationPath.DRA,
        generation=pool.generation,
    )
    pods = [_pod(one) for one in seen.pods]
    claims = [_claim(one) for one in seen.claims]
    with transaction.atomic():
        row = ModelPool.objects.select_for_update().filter(pk=pool.pk).first()
        if row is None:
            return 0
        merged = conditions.merge(row.conditions, found, now=timezone.now().isoformat())
        if (row.conditions, row.pods, row.claims) == (merged, pods, claims):
            return 0
        row.conditions, row.pods, row.claims = merged, pods, claims
        row.save(update_fields=["conditions", "pods", "claims", "updated_at"])
    return 1


def _pod(pod: Raw) -> Raw:
    state, message = serving.pod_state(pod)
    status = pod.get("status") or {}
    containers = status.get("containerStatuses") or ()
    return {
        "name": serving.name_of(pod),
        "state": state,
        "message": message[:1000],
        "node": (pod.get("spec") or {}).get("nodeName", ""),
        "ip": status.get("podIP", ""),
        "restarts": sum(int(one.get("restartCount") or 0) for one in containers),
        "created_at": pod["metadata"].get("creationTimestamp", ""),
        "claims": [
            one.get("resourceClaimName", "") for one in status.get("resourceClaimStatuses") or ()
        ],
    }


def _claim(claim: Raw) -> Raw:
    status = claim.get("status") or {}
    devices = serving.devices_of(claim)
    state = "In use" if status.get("reservedFor") else "Allocated" if devices else "Pending"
    return {
        "name": claim["metadata"]["name"],
        "state": state,
        "devices": devices,
        "created_at": claim["metadata"].get("creationTimestamp", ""),
        "pods": [one.get("name", "") for one in status.get("reservedFor") or ()],
    }
