"""The claims of a pod: which have to be allocated, which bind it to nodes, what is in the way.

Mirrors the PreFilter step of kube-scheduler's DynamicResources plugin, messages included.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from domain.placement.asked import read_claim
from domain.placement.claims import Claim, Held
from domain.placement.devices import Node
from domain.placement.faults import Malformed
from domain.placement.fleet import Fleet
from domain.placement.nodeselectors import NodeSelector
from domain.placement.pods.reading import ClaimReference, Pod
from domain.placement.published import read_node_selector

MOST_CONSUMERS = 256
"""The API's limit of status.reservedFor."""


@dataclass(frozen=True, slots=True)
class PodClaims:
    """`refusal` holds for all nodes. `assumed`: claims that only their template stands for."""

    to_allocate: tuple[Claim, ...] = ()
    bound: tuple[NodeSelector, ...] = ()
    broken: bool = False
    assumed: tuple[str, ...] = ()
    refusal: str = ""

    def reachable_from(self, node: Node) -> bool:
        """Whether every claim that is allocated already can be used from there. Raises Fatal."""
        if self.broken:
            return False
        return all(selector.matches(node.name, node.labels) for selector in self.bound)


class _Refused(Exception):
    pass


def claims_of(fleet: Fleet, pod: Pod) -> PodClaims:
    """A claim that a template has not made yet is read from the template, if that is known."""
    to_allocate: list[Claim] = []
    bound: list[NodeSelector] = []
    assumed: list[str] = []
    broken = False
    try:
        for reference in pod.claims:
            if reference.generated == "":
                continue  # the template turned out to need no claim
            if not reference.claim and reference.generated is None:
                to_allocate.append(_from_template(fleet, pod, reference))
                assumed.append(reference.name)
                continue
            held = _existing(fleet, pod, reference)
            if held.is_allocated:
                broken = broken or _has_failed(held)
                bound += _selector_of(held)
            else:
                to_allocate.append(_readable(held.raw))
        for claim in to_allocate:
            _check_classes(fleet, claim)
    except _Refused as refusal:
        return PodClaims(refusal=str(refusal))
    return PodClaims(tuple(to_allocate), tuple(bound), broken, tuple(assumed))


def _existing(fleet: Fleet, pod: Pod, reference: ClaimReference) -> Held:
    name = reference.claim or reference.generated or ""
    held = fleet.claims.get((pod.namespace, name))
    if held is None:
        raise _Refused(f'resourceclaim.resource.k8s.io "{name}" not found')
    meta = held.raw.get("metadata") or {}
    if meta.get("deletionTimestamp"):
        raise _Refused(f'resourceclaim "{name}" is being deleted')
    if reference.template and not _is_owner(pod, meta):
        raise _Refused(
            f"ResourceClaim {pod.namespace}/{name} was not created for Pod {pod} (Pod is not owner)"
        )
    if held.is_allocated and not _may_use(pod, held):
        raise _Refused("resourceclaim in use")
    return held


def _is_owner(pod: Pod, meta: Mapping[str, Any]) -> bool:
    owners = meta.get("ownerReferences") or ()
    return any(owner.get("controller") and owner.get("uid") == pod.uid for owner in owners)


def _may_use(pod: Pod, held: Held) -> bool:
    consumers = (held.raw.get("status") or {}).get("reservedFor") or ()
    return len(consumers) < MOST_CONSUMERS or any(one.get("uid") == pod.uid for one in consumers)


def _from_template(fleet: Fleet, pod: Pod, reference: ClaimReference) -> Claim:
    template = fleet.templates.get((pod.namespace, reference.template))
    if template is None:
        raise _Refused(f'pod "{pod}": ResourceClaim not created yet')
    spec = (template.get("spec") or {}).get("spec") or {}
    meta = {
        "namespace": pod.namespace,
        "name": f"{pod.name}-{reference.name}",
        "uid": f"{pod.uid or pod}/{reference.name}",
    }
    return _readable({"metadata": meta, "spec": spec})


def _readable(raw: Mapping[str, Any]) -> Claim:
    try:
        return read_claim(raw)
    except Malformed as problem:
        raise _Refused(f"claim cannot be read: {problem}") from problem


def _check_classes(fleet: Fleet, claim: Claim) -> None:
    for line in claim.lines:
        for request in line.alternatives:
            if request.class_name not in fleet.classes:
                raise _Refused(
                    f"request {request.full_name}: device class {request.class_name} does not exist"
                )


def _selector_of(held: Held) -> list[NodeSelector]:
    allocation = held.raw["status"]["allocation"]
    try:
        found = read_node_selector(allocation.get("nodeSelector"), "status.allocation.nodeSelector")
    except Malformed as problem:
        raise _Refused(f"claim {held.namespace}/{held.name}: {problem}") from problem
    return [] if found is None else [found]


def _has_failed(held: Held) -> bool:
    """A driver reported a binding failure condition (KEP-5007); timeouts need a clock."""
    status = held.raw["status"]
    failing = {
        (one.get("driver"), one.get("pool"), one.get("device")): one["bindingFailureConditions"]
        for one in (status["allocation"].get("devices") or {}).get("results") or ()
        if one.get("bindingFailureConditions")
    }
    return any(
        condition.get("status") == "True"
        and condition.get("type")
        in failing.get((one.get("driver"), one.get("pool"), one.get("device")), ())
        for one in status.get("devices") or ()
        for condition in one.get("conditions") or ()
    )
