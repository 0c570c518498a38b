"""How far a model pool has come, from its pods and claims as a cluster serves them.

The conditions of a pool, in order: Accepted (the portal's rules), Applied (the cluster took the
objects), Allocated (every replica has its devices and a node), Loaded (the model is up), Ready
(readiness probes pass). The first three say why with the scheduler's and the controllers' own
words; none of them is guessed from another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from domain.conditions import Condition

Raw = Mapping[str, Any]

ORDER = ("Accepted", "Applied", "Allocated", "Loaded", "Ready")
LONGEST_MESSAGE = 1000


@dataclass(frozen=True, slots=True)
class Seen:
    """What a mirror knows of one pool. `events` are the latest of its pods, newest first;
    `workload` is the Deployment that makes them."""

    pods: Sequence[Raw]
    claims: Sequence[Raw]
    events: Sequence[Raw] = ()
    workload: Raw | None = None


def progress(seen: Seen, *, replicas: int, needs_claims: bool, generation: int) -> list[Condition]:
    """Allocated, Loaded and Ready of a pool that wants `replicas`."""
    pods = [pod for pod in seen.pods if not _is_leaving(pod)]
    if replicas == 0:
        return [
            Condition(kind, "True", "ScaledToZero", "No replicas are wanted.", generation)
            for kind in ORDER[2:]
        ]
    return [
        _allocated(seen, pods, replicas, needs_claims, generation),
        _loaded(pods, replicas, generation),
        _ready(pods, replicas, generation),
    ]


def _allocated(
    seen: Seen, pods: Sequence[Raw], replicas: int, needs_claims: bool, generation: int
) -> Condition:
    placed = [pod for pod in pods if is_placed(pod)]
    if len(placed) >= replicas:
        what = "devices and a node" if needs_claims else "a node with its devices"
        text = f"{_all(replicas)} {'has' if replicas == 1 else 'have'} {what}."
        return Condition("Allocated", "True", "Allocated", text, generation)
    reason, message = why_waiting(seen, pods)
    count = f"{len(placed)} of {replicas} replicas have devices. "
    return Condition("Allocated", "False", reason, (count + message)[:LONGEST_MESSAGE], generation)


def _all(replicas: int) -> str:
    return "The replica" if replicas == 1 else f"All {replicas} replicas"


def why_waiting(seen: Seen, pods: Sequence[Raw]) -> tuple[str, str]:
    """The reason and the cluster's own message for the first pod that waits.

    A claim that a quota refuses leaves no condition on its pod, only an event; a pod that one
    refuses is not there at all, and its Deployment tells of it.
    """
    for pod in pods:
        if is_placed(pod):
            continue
        condition = condition_of(pod, "PodScheduled")
        if condition and condition.get("status") == "False" and condition.get("message"):
            return str(condition.get("reason") or "Unschedulable"), str(condition["message"])
    waiting = {name_of(pod) for pod in pods if not is_placed(pod)}
    for event in seen.events:
        if event.get("involvedObject", {}).get("name") in waiting and event.get("message"):
            return str(event.get("reason") or "Waiting"), str(event["message"])
    if waiting:
        return "WaitingForScheduler", "The scheduler has said nothing about the others yet."
    return pods_refused(seen.workload) or (
        "WaitingForPods",
        "The others have not been created yet.",
    )


def pods_refused(workload: Raw | None) -> tuple[str, str] | None:
    """Why the API server takes no more pods, as the Deployment controller passes it on."""
    for one in ((workload or {}).get("status") or {}).get("conditions") or ():
        if one.get("type") == "ReplicaFailure" and one.get("status") == "True":
            return str(one.get("reason") or "FailedCreate"), str(one.get("message") or "")
    return None


def _loaded(pods: Sequence[Raw], replicas: int, generation: int) -> Condition:
    started = [pod for pod in pods if is_started(pod)]
    if len(started) >= replicas:
        return Condition(
            "Loaded", "True", "Loaded", "The model is up in every replica.", generation
        )
    reason, message = why_not_started(pods)
    text = f"{len(started)} of {replicas} replicas have loaded the model. {message}"
    return Condition("Loaded", "False", reason, text[:LONGEST_MESSAGE], generation)


def why_not_started(pods: Sequence[Raw]) -> tuple[str, str]:
    """What the kubelet says of the first container that is not up."""
    for pod in pods:
        if not is_placed(pod) or is_started(pod):
            continue
        for status in _containers(pod):
            waiting = status.get("state", {}).get("waiting")
            if waiting:
                reason = str(waiting.get("reason") or "Waiting")
                return reason, str(waiting.get("message") or "")
            ended = status.get("state", {}).get("terminated")
            if ended:
                return str(ended.get("reason") or "Ended"), str(ended.get("message") or "")
        return "Loading", f"{name_of(pod)} is loading."
    return "WaitingForDevices", ""


def _ready(pods: Sequence[Raw], replicas: int, generation: int) -> Condition:
    ready = [pod for pod in pods if is_ready(pod)]
    if len(ready) >= replicas:
        return Condition("Ready", "True", "Serving", "Every replica answers.", generation)
    text = f"{len(ready)} of {replicas} replicas are ready."
    return Condition("Ready", "False", "NotReady", text, generation)


def condition_of(pod: Raw, kind: str) -> Raw | None:
    found = (pod.get("status") or {}).get("conditions") or ()
    return next((one for one in found if one.get("type") == kind), None)


def name_of(pod: Raw) -> str:
    return str(pod.get("metadata", {}).get("name", ""))


def is_placed(pod: Raw) -> bool:
    return bool((pod.get("spec") or {}).get("nodeName"))


def is_started(pod: Raw) -> bool:
    statuses = _containers(pod)
    return bool(statuses) and all(status.get("started") is True for status in statuses)


def is_ready(pod: Raw) -> bool:
    condition = condition_of(pod, "Ready")
    return condition is not None and condition.get("status") == "True"


def _is_leaving(pod: Raw) -> bool:
    phase = (pod.get("status") or {}).get("phase")
    return bool(pod.get("metadata", {}).get("deletionTimestamp")) or phase in (
        "Succeeded",
        "Failed",
    )


def _containers(pod: Raw) -> Sequence[Raw]:
    return (pod.get("status") or {}).get("containerStatuses") or ()


def pod_state(pod: Raw) -> tuple[str, str]:
    """A word for a pod's state and the message behind it, for lists of pods."""
    if pod.get("metadata", {}).get("deletionTimestamp"):
        return "Ending", ""
    if not is_placed(pod):
        condition = condition_of(pod, "PodScheduled") or {}
        return "Pending", str(condition.get("message") or "")
    if is_ready(pod):
        return "Ready", ""
    reason, message = why_not_started([pod])
    return ("Starting" if is_started(pod) else reason), message


def devices_of(claim: Raw) -> list[str]:
    """driver/pool/device of every device that the claim holds."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or ()
    return [f"{one.get('driver')}/{one.get('pool')}/{one.get('device')}" for one in results]
