"""Changes by which a pod would find a node: other nodes, a toleration, less cpu or memory."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from domain.placement.amounts import NANO, Amount, NotAnAmount, parse
from domain.placement.devices import Taint
from domain.placement.faults import Malformed
from domain.placement.fix import MOST_VALUES, Fix, distinct, shown, toleration
from domain.placement.fleet import Upsert, apply
from domain.placement.pods.filters import Room
from domain.placement.pods.reading import read_pod
from domain.placement.trials import Raw, Trials, Wanted

STEPS = {"cpu": NANO // 1000, "memory": NANO * 2**20}
"""To which a smaller request is rounded down: millicores, mebibytes."""


def other_nodes(trials: Trials, wanted: Wanted) -> Iterator[Fix]:
    """What keeps a pod off nodes: its selector, their taints, a cordon. Raises OutOfTries."""
    if wanted.pod is None:
        return
    yield from _elsewhere(trials, wanted, wanted.pod)
    yield from _tolerating(trials, wanted, wanted.pod)
    cordoned = sorted(
        name
        for name, node in trials.fleet.nodes.items()
        if (node.raw.get("spec") or {}).get("unschedulable")
    )
    for name in cordoned[:MOST_VALUES]:
        open_again = dict(trials.fleet.nodes[name].raw)
        open_again["spec"] = {**(open_again.get("spec") or {}), "unschedulable": False}
        fleet = apply(trials.fleet, Upsert({**open_again, "kind": "Node"}))
        if nodes := trials.where(wanted, fleet, [name]):
            yield Fix("nodes", f"Let pods onto {name} again, which is cordoned", nodes)


def _elsewhere(trials: Trials, wanted: Wanted, pod: Raw) -> Iterator[Fix]:
    spec = pod.get("spec") or {}
    chosen = spec.get("nodeSelector") or {}
    if not chosen and not (spec.get("affinity") or {}).get("nodeAffinity"):
        return
    anywhere = {**spec, "nodeSelector": {}}
    anywhere.pop("affinity", None)
    changed = {**pod, "spec": anywhere}
    if nodes := trials.where(replace(wanted, pod=changed)):
        said = ", ".join(f"{key}={value}" for key, value in chosen.items()) or "its affinity"
        there = _labels_there(trials, chosen, nodes)
        text = f"Let it run on other nodes than those with {said}{there}"
        yield Fix("nodes", text, nodes, pod=changed)


def _labels_there(trials: Trials, chosen: Mapping[str, str], nodes: Iterable[str]) -> str:
    """What the labels that the pod chooses by are on nodes where it would fit."""
    found: dict[str, None] = {}
    for name in nodes:
        labels = trials.fleet.nodes[name].labels
        others = [key for key in chosen if key in labels and labels[key] != chosen[key]]
        found.update(dict.fromkeys(f"{key}={labels[key]}" for key in others))
    return f", such as {', '.join(list(found)[:MOST_VALUES])}" if found else ""


def _tolerating(trials: Trials, wanted: Wanted, pod: Raw) -> Iterator[Fix]:
    spec = pod.get("spec") or {}
    raws = [node.raw.get("spec") or {} for node in trials.fleet.nodes.values()]
    for taint in distinct(
        Taint(str(one.get("key")), str(one.get("value") or ""), str(one.get("effect")))
        for raw in raws
        for one in raw.get("taints") or ()
    ):
        tolerations = [*(spec.get("tolerations") or ()), toleration(taint)]
        changed = {**pod, "spec": {**spec, "tolerations": tolerations}}
        if nodes := trials.where(replace(wanted, pod=changed)):
            yield Fix("tolerate", f"Tolerate the node taint {shown(taint)}", nodes, pod=changed)


# --- Less cpu and memory
def less_of_node(trials: Trials, wanted: Wanted) -> Iterator[Fix]:
    """The most cpu and memory that a node with the devices has left. Raises OutOfTries."""
    if wanted.pod is None:
        return
    try:
        asked = read_pod(wanted.pod).requests
    except Malformed:
        return
    if not any(asked.get(name) for name in STEPS):
        return
    modest = _with_less(wanted.pod, {name: 0 for name in STEPS if asked.get(name)})
    if modest is None:
        return
    places = trials.where(replace(wanted, pod=modest[0]))
    best: tuple[float, dict[str, int]] | None = None
    for node in places:
        left = _left(trials, wanted.pod, node)
        kept = [min(1.0, left[name] / asked[name]) for name in STEPS if asked.get(name)]
        if min(left.values()) > 0 and (best is None or min(kept) > best[0]):
            best = (min(kept), left)
    if best is None or best[0] >= 1:
        return
    short = {name: left for name, left in best[1].items() if left < asked.get(name, 0)}
    changed = _with_less(wanted.pod, short)
    if changed and (nodes := trials.where(replace(wanted, pod=changed[0]))):
        yield Fix("resources", f"Ask for {' and '.join(changed[1])}", nodes, pod=changed[0])


def _left(trials: Trials, pod: Raw, node: str) -> dict[str, int]:
    """In nanos, rounded down to a step; without the pod itself."""
    meta = pod.get("metadata") or {}
    own = (str(meta.get("namespace") or ""), str(meta.get("name") or ""))
    others = [one for one in trials.fleet.pods.on_node(node) if (one.namespace, one.name) != own]
    room = Room(trials.fleet.nodes[node], others)
    return {
        name: max(0, (room.allocatable(name) - room.requested(name)) // step * step)
        for name, step in STEPS.items()
    }


def _with_less(pod: Raw, totals: Mapping[str, int]) -> tuple[dict[str, Any], list[str]] | None:
    """The pod with these sums, taken from its largest container; None if that has too little.

    Pods with sums of their own or sidecars that dominate are left alone: the engine would refuse
    what comes out, and then it is not a fix.
    """
    spec = dict(pod.get("spec") or {})
    containers = [dict(one) for one in spec.get("containers") or ()]
    said: list[str] = []
    for name, total in totals.items():
        sizes = [_request(one, name) for one in containers]
        if not sizes or not any(sizes):
            return None
        at = sizes.index(max(sizes))
        smaller = max(0, total - (sum(sizes) - sizes[at]))
        resources = dict(containers[at].get("resources") or {})
        new, old = _written(name, smaller), _written(name, sizes[at])
        for part in ("requests", "limits"):
            held = resources.get(part) or {}
            if name in held or part == "requests":
                resources[part] = {**held, name: new}
        containers[at] = {**containers[at], "resources": resources}
        said.append(f"{new} of {name} instead of {old} in container {containers[at].get('name')}")
    return {**pod, "spec": {**spec, "containers": containers}}, said


def _request(container: Raw, name: str) -> int:
    resources = container.get("resources") or {}
    held = (resources.get("requests") or {}).get(name, (resources.get("limits") or {}).get(name))
    try:
        return 0 if held is None else parse(str(held)).nanos
    except NotAnAmount:
        return 0


def _written(name: str, nanos: int) -> str:
    return str(Amount(nanos, "BinarySI" if name == "memory" else "DecimalSI"))
