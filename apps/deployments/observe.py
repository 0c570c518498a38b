"""What became of deployments in a cluster, from what the watch mirrored of it.

Rows are the truth: nothing here talks to a cluster. A cluster that is away changes nothing, since
its rows do not change; how old they are is the cluster's to tell.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.deployments import routing
from apps.deployments.models import AllocationPath, Deployment, ModelPool
from apps.deployments.selectors import live
from apps.inventory import selectors as inventory
from apps.inventory.models import Cluster, Event
from domain import conditions, serving
from domain.manifests.labels import DEPLOYMENT, MANAGED_BY, MANAGER, POOL

Raw = Mapping[str, Any]
Key = tuple[str, str, str]
KINDS = ("pods", "resourceclaims", "deployments")
MOST_EVENTS = 30


def observe_cluster(cluster: Cluster, namespaces: Collection[str] | None = None) -> int:
    """Note what the mirror holds of the deployments there, of those in `namespaces` if any are
    named; returns how many pools and routes changed. May be repeated.

    Before the cluster's pods were listed in full nothing is noted: what is not among the rows
    then is not known to be absent.
    """
    found = live().filter(cluster=cluster)
    if namespaces is not None:
        found = found.filter(namespace__in=namespaces)
    deployments = list(found.select_related("tenant").prefetch_related("pools"))
    if not deployments or not inventory.is_listed(cluster, "pods"):
        return 0
    held = _held(cluster, {deployment.namespace for deployment in deployments})
    events = _events(cluster, deployments, held)
    changed = sum(_observe(deployment, held, events) for deployment in deployments)
    return changed + routing.observe(cluster, deployments)


@dataclass(slots=True)
class _Held:
    """Objects with our labels, by namespace, deployment and pool."""

    pods: defaultdict[Key, list[Raw]] = field(default_factory=lambda: defaultdict(list))
    claims: defaultdict[Key, list[Raw]] = field(default_factory=lambda: defaultdict(list))
    workloads: dict[Key, Raw] = field(default_factory=dict)


def _held(cluster: Cluster, namespaces: Collection[str]) -> _Held:
    found = _Held()
    for kind, body in inventory.bodies_in(cluster, namespaces, KINDS):
        key = _key(body)
        if key is None:
            continue
        if kind == "deployments":
            found.workloads[key] = body
        else:
            (found.pods if kind == "pods" else found.claims)[key].append(body)
    return found


def _key(body: Raw) -> Key | None:
    """Whose it is; None for what is not ours."""
    metadata = body["metadata"]
    labels = metadata.get("labels") or {}
    if labels.get(MANAGED_BY) != MANAGER or POOL not in labels:
        return None
    return str(metadata.get("namespace", "")), labels.get(DEPLOYMENT, ""), labels[POOL]


def _keys(deployment: Deployment) -> Iterable[Key]:
    for pool in deployment.pools.all():
        yield deployment.namespace, deployment.name, pool.name


def _events(
    cluster: Cluster, deployments: list[Deployment], held: _Held
) -> defaultdict[str, list[Event]]:
    """Events of pods that are not ready, newest first, by the pod's uid."""
    uids = {
        str(pod["metadata"].get("uid"))
        for deployment in deployments
        for key in _keys(deployment)
        for pod in held.pods[key]
        if not serving.is_ready(pod)
    }
    found: defaultdict[str, list[Event]] = defaultdict(list)
    for event in inventory.events_about(cluster.pk, uids) if uids else ():
        found[event.about_uid].append(event)
    return found


def _observe(deployment: Deployment, held: _Held, events: defaultdict[str, list[Event]]) -> int:
    pods = [pod for key in _keys(deployment) for pod in held.pods[key]]
    theirs = [event for pod in pods for event in events[str(pod["metadata"].get("uid"))]]
    theirs.sort(key=lambda event: event.last_at, reverse=True)
    raw = [_raw(event) for event in theirs]
    changed = 0
    for pool, key in zip(deployment.pools.all(), _keys(deployment), strict=True):
        workload = held.workloads.get(key)
        changed += _note(pool, serving.Seen(held.pods[key], held.claims[key], raw, workload))
    shown = [_event(event) for event in theirs[:MOST_EVENTS]]
    if changed or deployment.events != shown or deployment.seen_at is None:
        rows = Deployment.objects.filter(pk=deployment.pk)
        rows.update(seen_at=timezone.now(), events=shown)
    return changed


def _raw(event: Event) -> Raw:
    """An event's row in the API's own shape, as far as a condition asks for it."""
    return {
        "reason": event.reason,
        "message": event.message,
        "involvedObject": {"kind": event.about_kind, "name": event.about_name},
    }


def _event(event: Event) -> Raw:
    return {
        "at": event.last_at.isoformat(),
        "type": event.type,
        "reason": event.reason,
        "message": event.message[:1000],
        "pod": event.about_name,
        "count": event.count,
    }


def _note(pool: ModelPool, seen: serving.Seen) -> int:
    """Write what was seen, if it differs; 1 when it did."""
    if _takes(pool, seen):
        with transaction.atomic():
            row = ModelPool.objects.select_for_update().filter(pk=pool.pk).first()
            if row is not None and _takes(row, seen):
                row.save(update_fields=["conditions", "pods", "claims", "updated_at"])
                return 1
    return 0


def _takes(pool: ModelPool, seen: serving.Seen) -> bool:
    """Put what was seen into the row; False when it said so already."""
    told = serving.progress(
        seen,
        replicas=pool.replicas,
        needs_claims=pool.path == AllocationPath.DRA,
        generation=pool.generation,
    )
    before = (pool.conditions, pool.pods, pool.claims)
    pool.conditions = conditions.merge(pool.conditions, told, now=timezone.now().isoformat())
    pool.pods = [_pod(one) for one in seen.pods]
    pool.claims = [_claim(one) for one in seen.claims]
    return before != (pool.conditions, pool.pods, pool.claims)


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
