"""kube-scheduler's default filters that look at one node, each with its own words.

The order is the scheduler's; it stops at the first filter that refuses, so only that one's
reasons are reported.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from domain.placement.devices import Node, Taint
from domain.placement.faults import Fatal
from domain.placement.pods.reading import Pod
from domain.placement.reading import amount

NANO = 10**9
NOT_MATCHING_NAME = "node(s) didn't match the requested node name"
UNSCHEDULABLE = "node(s) were unschedulable"
UNTOLERATED = "node(s) had untolerated taint(s)"
AFFINITY = "node(s) didn't match Pod's node affinity/selector"
AFFINITY_NAMES = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
AFFINITY_CONFLICT = "pod affinity terms conflict"
PORTS = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY_PODS = "Too many pods"

_CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


@dataclass(frozen=True, slots=True)
class Room:
    """A node with the pods on it; `by_classes`: extended resources that classes serve there."""

    node: Node
    pods: Sequence[Pod]
    by_classes: Collection[str] = ()

    @property
    def spec(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.node.raw.get("spec") or {}
        return found

    def allocatable(self, resource: str) -> int:
        """In nanos; 0 if the node does not have it."""
        raw = ((self.node.raw.get("status") or {}).get("allocatable") or {}).get(resource)
        return 0 if raw is None else amount(raw, f"status.allocatable.{resource}").nanos

    def requested(self, resource: str) -> int:
        return sum(pod.requests.get(resource, 0) for pod in self.pods)


Filter = Callable[[Pod, Room], list[str]]


def refusals(pod: Pod, room: Room) -> list[str]:
    """The reasons of the first filter that refuses the node; empty if none does."""
    for one in FILTERS:
        if reasons := one(pod, room):
            return reasons
    return []


def name_affinity(pod: Pod) -> tuple[frozenset[str] | None, str]:
    """Node names that the pod's affinity leaves (None: all), or why it contradicts itself."""
    terms = pod.affinity.terms if pod.affinity is not None else ()
    names: frozenset[str] = frozenset()
    for term in terms:
        wanted = [
            frozenset(one.values)
            for one in term.fields
            if one.key == "metadata.name" and one.operator == "In"
        ]
        if not wanted:
            return None, ""
        names |= frozenset.intersection(*wanted)
    if not terms:
        return None, ""
    return names, "" if names else AFFINITY_CONFLICT


def tolerates(pod: Pod, taint: Taint) -> bool:
    return any(one.tolerates(taint) for one in pod.tolerations)


def taints_of(room: Room) -> list[Taint]:
    return [
        Taint(str(raw.get("key") or ""), str(raw.get("value") or ""), str(raw.get("effect") or ""))
        for raw in room.spec.get("taints") or ()
    ]


def _node_name(pod: Pod, room: Room) -> list[str]:
    wrong = pod.node_name and pod.node_name != room.node.name
    return [NOT_MATCHING_NAME] if wrong else []


def _cordoned(pod: Pod, room: Room) -> list[str]:
    if not room.spec.get("unschedulable") or tolerates(pod, _CORDON):
        return []
    return [UNSCHEDULABLE]


def _tainted(pod: Pod, room: Room) -> list[str]:
    bad = any(taint.prevents_scheduling and not tolerates(pod, taint) for taint in taints_of(room))
    return [UNTOLERATED] if bad else []


def _affinity(pod: Pod, room: Room) -> list[str]:
    node = room.node
    if any(node.labels.get(key) != value for key, value in pod.node_labels.items()):
        return [AFFINITY]
    try:
        if pod.affinity is None or pod.affinity.matches_lazily(node.name, node.labels):
            return []
    except Fatal:
        pass  # the scheduler too treats a term that it cannot read as one that does not match
    return [AFFINITY]


def _ports(pod: Pod, room: Room) -> list[str]:
    taken = [port for other in room.pods for port in other.host_ports]
    collides = any(want.collides_with(have) for want in pod.host_ports for have in taken)
    return [PORTS] if collides else []


def _resources(pod: Pod, room: Room) -> list[str]:
    reasons = []
    if len(room.pods) + 1 > room.allocatable("pods") // NANO:
        reasons.append(TOO_MANY_PODS)
    for resource, nanos in pod.requests.items():
        if nanos == 0 or _is_served_elsewhere(resource, room):
            continue
        if nanos > room.allocatable(resource) - room.requested(resource):
            reasons.append(f"Insufficient {resource}")
    return reasons


def _is_served_elsewhere(resource: str, room: Room) -> bool:
    """By a device class, unless the node's device plugin has any of it."""
    return resource in room.by_classes and room.allocatable(resource) == 0


FILTERS: tuple[Filter, ...] = (_node_name, _cordoned, _tainted, _affinity, _ports, _resources)
