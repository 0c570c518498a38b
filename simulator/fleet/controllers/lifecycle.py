"""Nodes that fall silent: NotReady, tainted, and emptied after their pods' patience."""

import asyncio
import logging
from typing import Any

from simulator.fleet.api import LEASES, NODES, PODS, ApiError
from simulator.fleet.cache import Cluster, key_of
from simulator.fleet.clock import Clock, parsed
from simulator.fleet.controllers.ownership import is_going
from simulator.fleet.events import Recorder

type Json = dict[str, Any]

log = logging.getLogger("fleet")

_PERIOD_SECONDS = 1.0
_UNREACHABLE = "node.kubernetes.io/unreachable"


class NodeLifecycle:
    """Silence counts in real seconds; the pods' toleration of it is shortened by the speed."""

    def __init__(
        self, cluster: Cluster, recorder: Recorder, clock: Clock, grace_seconds: float
    ) -> None:
        self._grace = grace_seconds
        self._api = cluster.api
        self._recorder = recorder
        self._clock = clock
        self._nodes = cluster.store(NODES)
        self._leases = cluster.store(LEASES)
        self._pods = cluster.store(PODS)
        self._lost: dict[str, float] = {}
        self._began = Clock.monotonic()

    async def run(self) -> None:
        stores = (self._nodes, self._leases, self._pods)
        await asyncio.gather(*(store.ready.wait() for store in stores))
        while True:
            for node in self._nodes:
                try:
                    await self._look(node)
                except ApiError as error:
                    log.debug("node lifecycle: %s", error)
            await asyncio.sleep(_PERIOD_SECONDS)

    async def _look(self, node: Json) -> None:
        name = node["metadata"]["name"]
        if self._is_silent(name):
            if name not in self._lost:
                self._lost[name] = Clock.monotonic()
                await self._lose(node)
            await self._empty(name)
        elif name in self._lost or any(t["key"] == _UNREACHABLE for t in _taints(node)):
            self._lost.pop(name, None)
            await self._taint(node, lost=False)

    def _is_silent(self, name: str) -> bool:
        """After a start of the whole cluster every lease is old: nodes get their time again."""
        if Clock.monotonic() - self._began < self._grace:
            return False
        lease = self._leases.get("kube-node-lease", name)
        renewed = ((lease or {}).get("spec") or {}).get("renewTime")
        return renewed is not None and Clock.wall() - parsed(renewed) > self._grace

    async def _lose(self, node: Json) -> None:
        name = node["metadata"]["name"]
        conditions = [
            item
            | {
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting node status.",
                "lastTransitionTime": Clock.stamp(),
            }
            for item in (node.get("status") or {}).get("conditions") or []
        ]
        body = {"status": {"conditions": conditions}}
        changed = await self._api.merge(NODES, "", name, body, sub="status")
        await self._taint(changed, lost=True)
        self._recorder.record(
            node,
            "NodeNotReady",
            f"Node {name} status is now: NodeNotReady",
            component="node-controller",
        )
        for pod in self._pods:
            if pod["spec"].get("nodeName") == name:
                await self._unready(pod)

    async def _unready(self, pod: Json) -> None:
        conditions = [
            item | {"status": "False", "lastTransitionTime": Clock.stamp()}
            if item["type"] == "Ready"
            else item
            for item in (pod.get("status") or {}).get("conditions") or []
        ]
        body = {"status": {"conditions": conditions}}
        self._pods.assume(await self._api.merge(PODS, *key_of(pod), body, sub="status"))

    async def _taint(self, node: Json, *, lost: bool) -> None:
        kept = [taint for taint in _taints(node) if taint["key"] != _UNREACHABLE]
        if lost:
            kept += [
                {"key": _UNREACHABLE, "effect": effect, "timeAdded": Clock.stamp()}
                for effect in ("NoSchedule", "NoExecute")
            ]
        body = {"spec": {"taints": kept or None}}
        self._nodes.assume(await self._api.merge(NODES, "", node["metadata"]["name"], body))

    async def _empty(self, name: str) -> None:
        since = Clock.monotonic() - self._lost[name]
        for pod in self._pods:
            if pod["spec"].get("nodeName") != name or is_going(pod):
                continue
            patience = _patience(pod)
            if patience is not None and since > self._clock.shortened(patience):
                await self._api.delete(PODS, *key_of(pod), uid=pod["metadata"]["uid"])


def _taints(node: Json) -> list[Json]:
    return list(node["spec"].get("taints") or [])


def _patience(pod: Json) -> float | None:
    """Seconds that the pod tolerates; None for ever."""
    for toleration in pod["spec"].get("tolerations") or []:
        if toleration.get("effect") not in {None, "", "NoExecute"}:
            continue
        if toleration.get("key") in {None, "", _UNREACHABLE}:
            seconds = toleration.get("tolerationSeconds")
            return None if seconds is None else float(seconds)
    return 0.0
