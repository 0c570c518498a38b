"""Pod, as far as it uses devices or serves them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from sys import intern
from typing import Any

from domain.accelerators import is_accelerator
from domain.devices import NOTHING, PodUse
from kube.client import Json
from kube.parse.fields import identity, named, owner, texts, whole

# The label values by which the drivers' own pods are known, and the path that each one serves.
_SERVES = {
    "nvidia-device-plugin-daemonset": "device-plugin",
    "nvidia-device-plugin": "device-plugin",
    "nvidia-device-plugin-ds": "device-plugin",
    "amdgpu-device-plugin": "device-plugin",
    "amdgpu-dp-ds": "device-plugin",
    "intel-gpu-plugin": "device-plugin",
    "hami-device-plugin": "device-plugin",
    "dra-driver-nvidia-gpu": "dra",
    "nvidia-dra-driver-gpu": "dra",
    "k8s-gpu-dra-driver": "dra",
    "dra-example-driver": "dra",
    "dra-driver-google-tpu": "dra",
    "intel-gpu-resource-driver-kubelet-plugin": "dra",
}
_NAMES = ("app.kubernetes.io/component", "app.kubernetes.io/name", "app", "name", "k8s-app")


def pod(raw: Json) -> PodUse:
    uid, namespace, name = identity(raw)
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    labels = texts(raw["metadata"].get("labels"))
    requests = _requests(spec, _by_claim(status))
    return PodUse(
        uid=uid,
        namespace=namespace,
        name=name,
        node_name=named(spec.get("nodeName")),
        phase=intern(str(status.get("phase") or "Pending")),
        requests=requests or NOTHING,
        claims=tuple(claim_names(raw)),
        serves=(serves := _serves(labels, raw["metadata"].get("ownerReferences"))),
        image=_image(spec) if serves else "",
        is_ready=_since(status, "Ready") != "",
        owner=owner(raw),
        created_at=str(raw["metadata"].get("creationTimestamp") or ""),
        scheduled_at=_since(status, "PodScheduled"),
        running_at=_running_at(status),
        ended_at=_ended_at(status),
    )


def claim_names(raw: Json) -> Iterator[str]:
    """The pod's claims that exist by name: its own, those made from templates, and one that the
    scheduler made for extended resources."""
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    made = {
        str(one.get("name")): one.get("resourceClaimName")
        for one in status.get("resourceClaimStatuses") or ()
    }
    for entry in spec.get("resourceClaims") or ():
        name = entry.get("resourceClaimName") or made.get(str(entry.get("name")))
        if name:
            yield str(name)
    extended = (status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName")
    if extended:
        yield str(extended)


def _by_claim(status: Json) -> set[tuple[str, str]]:
    """(container, resource) pairs that a scheduler-made claim covers (KEP-5004)."""
    extended = status.get("extendedResourceClaimStatus") or {}
    return {
        (str(one.get("containerName")), str(one.get("resourceName")))
        for one in extended.get("requestMappings") or ()
    }


def _requests(spec: Json, covered: set[tuple[str, str]]) -> dict[str, int]:
    """Accelerators that the pod takes from its node: containers and sidecars together, or the
    largest init container if that is more, as kube-scheduler reckons."""
    running: Counter[str] = Counter()
    for container in spec.get("containers") or ():
        running.update(_wanted(container, covered))
    largest: Counter[str] = Counter()
    for container in spec.get("initContainers") or ():
        wanted = _wanted(container, covered)
        if container.get("restartPolicy") == "Always":
            running.update(wanted)
        else:
            largest |= Counter(wanted)
    return {intern(name): amount for name, amount in (running | largest).items() if amount > 0}


def _wanted(container: Json, covered: set[tuple[str, str]]) -> dict[str, int]:
    resources = container.get("resources") or {}
    found = {}
    # Extended resources cannot be overcommitted: a limit alone stands for the request too.
    for resource, amount in {
        **(resources.get("limits") or {}),
        **(resources.get("requests") or {}),
    }.items():
        if is_accelerator(resource) and (str(container.get("name")), resource) not in covered:
            found[resource] = whole(str(amount))
    return found


def _serves(labels: dict[str, str], owners: Any) -> str:
    """Which path this driver's pod serves; only a DaemonSet's pods are taken for drivers."""
    if not any(one.get("kind") == "DaemonSet" for one in owners or ()):
        return ""
    return next((_SERVES[labels[name]] for name in _NAMES if labels.get(name) in _SERVES), "")


def _image(spec: Json) -> str:
    return next((str(one.get("image") or "") for one in spec.get("containers") or ()), "")


def _since(status: Json, condition: str) -> str:
    """Since when a condition is true; "" while it is not."""
    for one in status.get("conditions") or ():
        if one.get("type") == condition and one.get("status") == "True":
            return str(one.get("lastTransitionTime") or "?")
    return ""


def _running_at(status: Json) -> str:
    """When its first container began to run."""
    states = [one.get("state") or {} for one in status.get("containerStatuses") or ()]
    started = [
        str(at)
        for state in states
        if (at := (state.get("running") or state.get("terminated") or {}).get("startedAt"))
    ]
    if not started and status.get("phase") == "Running":
        return str(status.get("startTime") or "")
    return min(started, default="")


def _ended_at(status: Json) -> str:
    """When its last container ended, for a pod that is over."""
    if status.get("phase") not in ("Succeeded", "Failed"):
        return ""
    states = [one.get("state") or {} for one in status.get("containerStatuses") or ()]
    ended = [str((state.get("terminated") or {}).get("finishedAt") or "") for state in states]
    return max(ended, default="")
