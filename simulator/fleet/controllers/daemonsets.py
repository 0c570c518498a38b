"""DaemonSets: a pod on every node that its template may run on."""

import asyncio
from typing import Any

from simulator.fleet.api import DAEMON_SETS, NODES, PODS
from simulator.fleet.cache import Cluster, Key, Queue, key_of
from simulator.fleet.controllers.ownership import (
    controller_of,
    is_going,
    is_ready,
    meets,
    owned_by,
    owner_reference,
    template_hash,
)
from simulator.fleet.events import Recorder

type Json = dict[str, Any]

_COMPONENT = "daemonset-controller"
_HASH = "controller-revision-hash"


class DaemonSets:
    def __init__(self, cluster: Cluster, recorder: Recorder) -> None:
        self._api = cluster.api
        self._recorder = recorder
        self._sets = cluster.store(DAEMON_SETS)
        self._pods = cluster.store(PODS)
        self._nodes = cluster.store(NODES)
        self._queue = Queue(_COMPONENT, self._reconcile)
        self._sets.listen(lambda old, new: self._queue.add(key_of(new or old or {})))
        self._pods.listen(self._pod_changed)
        self._nodes.listen(self._node_changed)

    async def run(self) -> None:
        stores = (self._sets, self._pods, self._nodes)
        await asyncio.gather(*(store.ready.wait() for store in stores))
        await self._queue.run(1)

    def _pod_changed(self, before: Json | None, after: Json | None) -> None:
        pod = after or before or {}
        owner = controller_of(pod)
        if owner and owner["kind"] == DAEMON_SETS.kind:
            self._queue.add((pod["metadata"]["namespace"], owner["name"]))

    def _node_changed(self, before: Json | None, after: Json | None) -> None:
        labels = [(node or {}).get("metadata", {}).get("labels") for node in (before, after)]
        if before is None or after is None or labels[0] != labels[1]:
            for daemon in self._sets:
                self._queue.add(key_of(daemon))

    async def _reconcile(self, key: Key) -> None:
        daemon = self._sets.get(*key)
        if daemon is None or is_going(daemon):
            return
        mark = template_hash(daemon["spec"]["template"])
        wanted = {n["metadata"]["name"] for n in self._nodes if _may_run(daemon, n)}
        pods: dict[str, list[Json]] = {}
        for pod in owned_by(daemon, self._pods):
            pods.setdefault(_node_of(pod), []).append(pod)
        for node in sorted(wanted - set(pods)):
            await self._create(daemon, node, mark)
        for node, here in pods.items():
            extra = here if node not in wanted else here[1:]
            old = [p for p in here[:1] if (p["metadata"].get("labels") or {}).get(_HASH) != mark]
            for pod in extra + (old if node in wanted else []):
                if not is_going(pod):
                    meta = pod["metadata"]
                    await self._api.delete(PODS, *key_of(pod), uid=meta["uid"])
        await self._write_status(daemon, wanted, mark)

    async def _create(self, daemon: Json, node: str, mark: str) -> None:
        template = daemon["spec"]["template"]
        meta = template.get("metadata") or {}
        body = {
            "metadata": {
                "generateName": f"{daemon['metadata']['name']}-",
                "namespace": daemon["metadata"]["namespace"],
                "labels": (meta.get("labels") or {}) | {_HASH: mark},
                "ownerReferences": [owner_reference(daemon, DAEMON_SETS)],
            },
            "spec": template["spec"] | {"affinity": _pinned(node)},
        }
        pod = await self._api.create(PODS, body)
        self._pods.assume(pod)
        self._recorder.record(
            daemon,
            "SuccessfulCreate",
            f"Created pod: {pod['metadata']['name']}",
            component=_COMPONENT,
        )

    async def _write_status(self, daemon: Json, wanted: set[str], mark: str) -> None:
        pods = [pod for pod in owned_by(daemon, self._pods) if not is_going(pod)]
        ready = sum(is_ready(pod) for pod in pods)
        status = {
            "desiredNumberScheduled": len(wanted),
            "currentNumberScheduled": len(pods),
            "numberMisscheduled": 0,
            "numberReady": ready,
            "numberAvailable": ready,
            "numberUnavailable": len(wanted) - ready,
            "updatedNumberScheduled": sum(
                (pod["metadata"].get("labels") or {}).get(_HASH) == mark for pod in pods
            ),
            "observedGeneration": daemon["metadata"].get("generation", 1),
        }
        before = daemon.get("status") or {}
        if any((before.get(key) or 0) != value for key, value in status.items()):
            body = {"status": status}
            changed = await self._api.merge(DAEMON_SETS, *key_of(daemon), body, sub="status")
            self._sets.assume(changed)


def _pinned(node: str) -> Json:
    """Bound to the node by name, as the real controller does; the scheduler still decides."""
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchFields": [field]}]
            }
        }
    }


def _node_of(pod: Json) -> str:
    if pod["spec"].get("nodeName"):
        return str(pod["spec"]["nodeName"])
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or []:
        for field in term.get("matchFields") or []:
            return str(field["values"][0])
    return ""


def _may_run(daemon: Json, node: Json) -> bool:
    spec = daemon["spec"]["template"]["spec"]
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(
        all(meets(rule, labels) for rule in term.get("matchExpressions") or [])
        for term in required["nodeSelectorTerms"]
    )
