"""What would become of workloads of the device plugin if they asked by claims instead.

Nothing is changed: pods that hold units of an extended resource are put one after the other as
claims of a class, by the rules of the scheduler, onto a copy of the fleet.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from domain.placement.amounts import NANO
from domain.placement.cards import accepts
from domain.placement.devices import Device
from domain.placement.features import Features
from domain.placement.fleet import Fleet, Upsert, apply_all
from domain.placement.pods.filters import Room
from domain.placement.pods.reading import Pod
from domain.placement.sequence import Sequencer

SHARES = "nvidia.com/gpu.replicas"
OWN = re.compile(r"(uuid|pcibusid|pcieroot|numanode|clique\w*|minor|index)$", re.IGNORECASE)
"""Attributes that differ from card to card, so that a copy must not have them."""

CONSIDERED_NOT = (
    "node selectors, taints, cpu and memory of the pods",
    "that today's nodes of the pods may have links that their software counts on",
)


class NoSuchClass(ValueError):
    """The class is not in the fleet, or accepts no device that could stand for the cards."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A pod that asks a device plugin for `units` of a resource."""

    namespace: str
    name: str
    units: int
    node: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Shadow:
    """fits: where each would go; misfits: those for which nothing is left, in order.

    `looked_at` of `of` were tried before the time was over. after: the fleet with all of `fits`.
    """

    of: int
    fits: Mapping[Workload, str]
    misfits: tuple[Workload, ...]
    before: Fleet
    after: Fleet

    @property
    def looked_at(self) -> int:
        return len(self.fits) + len(self.misfits)


def workloads(
    fleet: Fleet,
    resource: str,
    *,
    namespaces: Iterable[str] | None = None,
    node_labels: Mapping[str, str] | None = None,
) -> list[Workload]:
    """Pods that hold or want the resource, by name; of these namespaces or nodes only, if given."""
    wanted = None if namespaces is None else frozenset(namespaces)
    found = [
        Workload(pod.namespace, pod.name, units, pod.node_name)
        for pod in fleet.pods.by_name.values()
        if not pod.is_over
        and not _is_served_by_class(pod)
        and (units := units_of(pod, resource))
        and (wanted is None or pod.namespace in wanted)
        and _is_in(fleet, pod.node_name, node_labels or {})
    ]
    return sorted(found, key=lambda one: (one.namespace, one.name))


def _is_served_by_class(pod: Pod) -> bool:
    """Whether the scheduler gave it devices already, by a claim of its own making (KEP-5004)."""
    return bool((pod.raw.get("status") or {}).get("extendedResourceClaimStatus"))


def units_of(pod: Pod, resource: str) -> int:
    return pod.requests.get(resource, 0) // NANO


def _is_in(fleet: Fleet, node_name: str, labels: Mapping[str, str]) -> bool:
    if not labels:
        return True
    node = fleet.nodes.get(node_name)
    return node is not None and labels.items() <= node.labels.items()


def as_claim(workload: Workload, class_name: str) -> dict[str, Any]:
    request = {"name": "r", "exactly": {"deviceClassName": class_name, "count": workload.units}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"namespace": workload.namespace, "name": f"{workload.name}-shadow"},
        "spec": {"devices": {"requests": [request]}},
    }


def published_too(
    fleet: Fleet, class_name: str, resource: str, leaving: Sequence[Workload]
) -> tuple[Fleet, tuple[str, ...]]:
    """The fleet as it would be if the nodes that hold these workloads published their cards.

    Each gets as many copies of a device that the class accepts as the plugin hands out there, less
    what other pods hold. Nodes that publish devices already stay as they are. Raises NoSuchClass.
    """
    model = _model(fleet, class_name)
    mine = {(one.namespace, one.name) for one in leaving}
    slices, names = [], []
    for name in sorted({one.node for one in leaving} & fleet.nodes.keys()):
        if fleet.slices.on_node(name):
            continue
        others = [pod for pod in fleet.pods.on_node(name) if (pod.namespace, pod.name) not in mine]
        room = Room(fleet.nodes[name], others)
        units = (room.allocatable(resource) - room.requested(resource)) // NANO
        cards = units // _shares(fleet.nodes[name].labels)
        if cards > 0:
            slices.append(Upsert(_slice(name, model, cards)))
            names.append(name)
    return apply_all(fleet, slices), tuple(names)


def _shares(labels: Mapping[str, str]) -> int:
    """How many units of the plugin are one card, as GPU feature discovery labels the node."""
    text = labels.get(SHARES, "")
    return max(1, int(text)) if text.isdecimal() else 1


def _model(fleet: Fleet, class_name: str) -> Device:
    owner = fleet.classes.get(class_name)
    if owner is None:
        raise NoSuchClass(f"There is no device class {class_name}.")
    for one in fleet.slices.by_name.values():
        for device in one.devices:
            if not device.consumes and accepts(owner, device):
                return device
    raise NoSuchClass(f"No published device of class {class_name} could stand for the cards.")


def _slice(node_name: str, model: Device, cards: int) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node_name}-shadow"},
        "spec": {
            "driver": model.id.driver,
            "nodeName": node_name,
            "pool": {"name": f"{node_name}-shadow", "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {
                    "name": f"card-{i}",
                    "attributes": {
                        key: value
                        for key, value in model.view.attributes.items()
                        if not OWN.search(key)
                    },
                    "capacity": dict(model.view.capacity),
                }
                for i in range(cards)
            ],
        },
    }


def shadow(
    fleet: Fleet,
    class_name: str,
    moving: Sequence[Workload],
    features: Features,
    *,
    is_over: Callable[[], bool] = lambda: False,
) -> Shadow:
    """Largest first, as a person who packs would. Raises NoSuchClass."""
    if class_name not in fleet.classes:
        raise NoSuchClass(f"There is no device class {class_name}.")
    run = Sequencer(fleet, features, [fleet.nodes[name] for name in sorted(fleet.nodes)])
    fits: dict[Workload, str] = {}
    misfits: list[Workload] = []
    changes = []
    for one in sorted(moving, key=lambda one: -one.units):
        if is_over():
            break
        claim = as_claim(one, class_name)
        decision = run.add([claim])
        if decision.fits:
            fits[one] = decision.node
            status = {"allocation": decision.allocations[0]}
            changes.append(Upsert({**claim, "status": status}))
        else:
            misfits.append(one)
    return Shadow(len(moving), fits, tuple(misfits), fleet, apply_all(fleet, changes))


def resources(fleet: Fleet) -> list[str]:
    """Extended resources that pods hold or want now, the most used first."""
    found: Counter[str] = Counter()
    for pod in fleet.pods.by_name.values():
        if not pod.is_over:
            found.update({name: units_of(pod, name) for name in pod.requests if "/" in name})
    return [name for name, units in found.most_common() if units]
