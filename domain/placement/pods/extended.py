"""Extended resources that device classes serve (KEP-5004): a claim made up per pod and node."""

from collections.abc import Iterable, Mapping
from typing import Any

from domain.placement.claims import DeviceClass
from domain.placement.pods.reading import Container, Pod

IMPLICIT = "deviceclass.resource.kubernetes.io/"
CLAIM_NAME = "<extended-resources>"
"""kube-scheduler's own placeholder; the real claim gets a generated name when it is bound."""

NANO = 10**9
Request = dict[str, Any]


def classes_by_resource(classes: Iterable[DeviceClass]) -> dict[str, DeviceClass]:
    """Explicit and implicit names; of two classes with one name the newer wins, then by name."""
    found: dict[str, DeviceClass] = {}
    newest_last = sorted(sorted(classes, key=lambda one: one.name, reverse=True), key=_age)
    for one in newest_last:
        found[IMPLICIT + one.name] = one
        if one.extended_resource:
            found[one.extended_resource] = one
    return found


def _age(one: DeviceClass) -> str:
    return one.created


def special_claim(
    pod: Pod, resources: Iterable[str], served: Mapping[str, DeviceClass]
) -> dict[str, Any]:
    """The claim that covers these resources; request names tell container and resource."""
    requests: list[Request] = []
    for resource in sorted(resources):
        requests += _requests(pod, resource, served[resource].name)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "namespace": pod.namespace,
            "name": CLAIM_NAME,
            "uid": f"{pod.uid or pod}-extended-resources",
        },
        "spec": {"devices": {"requests": sorted(requests, key=lambda one: str(one["name"]))}},
    }


def _requests(pod: Pod, resource: str, class_name: str) -> list[Request]:
    """Containers that run for long ask each for their own; init containers reuse theirs."""
    lasting: dict[int, Request] = {}
    largest: Request | None = None
    for i, one in enumerate(pod.containers):
        if (not one.is_init or one.is_sidecar) and (count := _count(one, resource)):
            lasting[i] = _request(i, one, resource, class_name, count)
    for i, one in enumerate(pod.containers):
        if not one.is_init or one.is_sidecar:
            continue
        later = sum(_asked(request) for j, request in lasting.items() if j >= i)
        missing = _count(one, resource) - later
        if missing > 0 and (largest is None or _asked(largest) < missing):
            largest = _request(i, one, resource, class_name, missing)
    return ([largest] if largest else []) + list(lasting.values())


def _count(one: Container, resource: str) -> int:
    nanos = one.requests.get(resource, 0)
    return nanos // NANO if nanos % NANO == 0 else 0


def _asked(request: Request) -> int:
    return int(request["exactly"]["count"])


def _request(i: int, one: Container, resource: str, class_name: str, count: int) -> Request:
    position = sorted(one.requests).index(resource)
    return {
        "name": f"container-{i}-request-{position}",
        "exactly": {
            "deviceClassName": class_name,
            "allocationMode": "ExactCount",
            "count": count,
        },
    }
