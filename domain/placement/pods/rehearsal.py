"""Pods one after the other, state carried along: what if this scales, drains, or breaks?

Every step makes a new fleet and leaves the older ones alone, so going back is keeping one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from domain.placement.features import DEFAULT, Features
from domain.placement.fleet import Change, Delete, Fleet, Upsert, apply, apply_all
from domain.placement.pods.placing import PodPlacement, place_pod
from domain.placement.pods.reading import Pod, read_pod
from domain.placement.pods.scoring import Strategy

Raw = Mapping[str, Any]
_DRA = "resource.k8s.io/v1"


@dataclass(slots=True)
class Rehearsal:
    """`fleet` is the state after all steps so far; set it to go back to an earlier one."""

    fleet: Fleet
    features: Features = DEFAULT
    strategy: Strategy = "least-allocated"
    steps: list[PodPlacement] = field(default_factory=list)

    def add(self, pod: Raw) -> PodPlacement:
        """Places the pod, and binds it with its claims if there is a node."""
        placed = place_pod(self.fleet, pod, self.features, strategy=self.strategy)
        self.steps.append(placed)
        if placed.node is not None:
            self.fleet = apply_all(self.fleet, _bound(self.fleet, read_pod(pod), placed))
        return placed

    def remove(self, namespace: str, name: str) -> Pod | None:
        """The pod ends: its claims are free again unless another pod uses them."""
        pod = self.fleet.pods.get((namespace, name))
        if pod is not None:
            self.fleet = apply_all(self.fleet, _ended(self.fleet, pod))
        return pod

    def change(self, change: Change) -> None:
        """Anything else that happens: another class version, a taint, a new slice."""
        self.fleet = apply(self.fleet, change)

    def drain(self, node_name: str) -> tuple[PodPlacement, ...]:
        """Cordons the node and places its pods anew, in the order in which they came."""
        node = self.fleet.nodes[node_name].raw
        cordoned = {**node, "spec": {**(node.get("spec") or {}), "unschedulable": True}}
        self.change(Upsert({**cordoned, "kind": "Node"}))
        return self._again(self.fleet.pods.on_node(node_name))

    def lose(self, node_name: str) -> tuple[PodPlacement, ...]:
        """The node is gone with what only it could reach; its pods are placed anew."""
        displaced = self.fleet.pods.on_node(node_name)
        gone: list[Change] = [
            Delete("ResourceSlice", "", one.name) for one in self.fleet.slices.on_node(node_name)
        ]
        self.fleet = apply_all(self.fleet, [Delete("Node", "", node_name), *gone])
        return self._again(displaced)

    def _again(self, pods: Iterable[Pod]) -> tuple[PodPlacement, ...]:
        """All leave before the first is placed, as when a workload makes new pods."""
        displaced = list(pods)
        for pod in displaced:
            self.remove(pod.namespace, pod.name)
        return tuple(self.add(_unbound(pod.raw)) for pod in displaced)


def _unbound(raw: Raw) -> dict[str, Any]:
    spec = {key: value for key, value in raw["spec"].items() if key != "nodeName"}
    return {**raw, "spec": spec, "status": {**(raw.get("status") or {}), "phase": "Pending"}}


def _bound(fleet: Fleet, pod: Pod, placed: PodPlacement) -> Iterable[Change]:
    raw = pod.raw
    spec = {**raw["spec"], "nodeName": placed.node}
    yield Upsert({**raw, "apiVersion": "v1", "kind": "Pod", "spec": spec})
    user = {"resource": "pods", "name": pod.name, "uid": pod.uid}
    for name, allocation in placed.allocations.items():
        held = fleet.claims.get((pod.namespace, name))
        claim = dict(held.raw) if held is not None else _made(pod, name)
        status = {"allocation": allocation, "reservedFor": [user]}
        yield _claim(claim, status)
    for reference in pod.claims:
        name = reference.claim or reference.generated or ""
        held = fleet.claims.get((pod.namespace, name))
        if held is not None and held.is_allocated:
            known = held.raw["status"]
            status = {**known, "reservedFor": [*(known.get("reservedFor") or ()), user]}
            yield _claim(held.raw, status)


def _claim(raw: Raw, status: Raw) -> Upsert:
    return Upsert({**raw, "apiVersion": _DRA, "kind": "ResourceClaim", "status": status})


def _made(pod: Pod, name: str) -> dict[str, Any]:
    """A claim that did not exist before: of a template, or of extended resources."""
    owner = {"kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    meta = {"namespace": pod.namespace, "name": _unique(pod, name), "ownerReferences": [owner]}
    return {"metadata": meta, "spec": {}}


def _unique(pod: Pod, name: str) -> str:
    return f"{pod.name}{name}" if name.startswith("<") else name


def _ended(fleet: Fleet, pod: Pod) -> Iterable[Change]:
    yield Delete("Pod", pod.namespace, pod.name)
    for (namespace, name), held in fleet.claims.items():
        if namespace != pod.namespace or not held.is_allocated:
            continue
        users = (held.raw.get("status") or {}).get("reservedFor") or ()
        others = [one for one in users if one.get("uid") != pod.uid]
        if len(others) == len(users):
            continue
        if not others and _is_owned(pod, held.raw):
            yield Delete("ResourceClaim", namespace, name)
            continue
        status = {**held.raw["status"], "reservedFor": others}
        if not others:
            status.pop("allocation")
        yield _claim(held.raw, status)


def _is_owned(pod: Pod, raw: Raw) -> bool:
    owners = (raw.get("metadata") or {}).get("ownerReferences") or ()
    return any(one.get("controller") and one.get("uid") == pod.uid for one in owners)
