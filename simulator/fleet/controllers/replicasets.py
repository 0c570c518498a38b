"""ReplicaSets: as many pods as asked for."""

import asyncio
from typing import Any

from simulator.fleet.api import PODS, REPLICA_SETS, ApiError
from simulator.fleet.cache import Cluster, Key, Queue, key_of
from simulator.fleet.controllers.ownership import (
    controller_of,
    is_done,
    is_going,
    is_ready,
    owned_by,
    owner_reference,
)
from simulator.fleet.events import Recorder

type Json = dict[str, Any]

_COMPONENT = "replicaset-controller"
_BURST = 50


class ReplicaSets:
    def __init__(self, cluster: Cluster, recorder: Recorder) -> None:
        self._cluster = cluster
        self._api = cluster.api
        self._recorder = recorder
        self._sets = cluster.store(REPLICA_SETS)
        self._pods = cluster.store(PODS)
        self._queue = Queue(_COMPONENT, self._reconcile)
        # Pods that were told to go and whose deletion the watch has not shown yet.
        self._doomed: set[str] = set()
        self._sets.listen(lambda before, after: self._queue.add(key_of(after or before or {})))
        self._pods.listen(self._pod_changed)

    async def run(self) -> None:
        await asyncio.gather(self._pods.ready.wait(), self._sets.ready.wait())
        await self._queue.run()

    def _pod_changed(self, before: Json | None, after: Json | None) -> None:
        pod = after or before or {}
        if after is None or is_going(pod):
            self._doomed.discard(pod["metadata"]["uid"])
        owner = controller_of(pod)
        if owner and owner["kind"] == REPLICA_SETS.kind:
            self._queue.add((pod["metadata"]["namespace"], owner["name"]))

    async def _reconcile(self, key: Key) -> None:
        rs = self._sets.get(*key)
        if rs is None:
            return
        pods = [
            pod
            for pod in owned_by(rs, self._pods)
            if not is_done(pod) and not is_going(pod) and pod["metadata"]["uid"] not in self._doomed
        ]
        failure = ""
        if not is_going(rs):
            missing = int(rs["spec"].get("replicas", 1)) - len(pods)
            failure = await self._create(rs, min(missing, _BURST)) if missing > 0 else ""
            if missing < 0:
                await self._remove(rs, pods, -missing)
        await self._write_status(rs, failure)
        if failure:
            self._queue.add_after(key, 1.0)

    async def _create(self, rs: Json, count: int) -> str:
        """'' or why the first refused pod was refused."""
        template = rs["spec"]["template"]
        meta = template.get("metadata") or {}
        body = {
            "metadata": {
                "generateName": f"{rs['metadata']['name']}-",
                "namespace": rs["metadata"]["namespace"],
                "labels": meta.get("labels") or {},
                "annotations": meta.get("annotations") or {},
                "ownerReferences": [owner_reference(rs, REPLICA_SETS)],
            },
            "spec": template["spec"],
        }
        for _ in range(count):
            try:
                pod = await self._api.create(PODS, body)
            except ApiError as error:
                if error.status in {0, 429} or error.status >= 500:
                    raise
                text = f"Error creating: {error.message}"
                self._event(rs, "FailedCreate", text, warning=True)
                return text
            self._event(rs, "SuccessfulCreate", f"Created pod: {pod['metadata']['name']}")
            self._pods.assume(pod)
        return ""

    async def _remove(self, rs: Json, pods: list[Json], count: int) -> None:
        for pod in sorted(pods, key=_dispensable)[:count]:
            meta = pod["metadata"]
            self._doomed.add(meta["uid"])
            try:
                await self._api.delete(PODS, meta["namespace"], meta["name"], uid=meta["uid"])
            except ApiError:
                self._doomed.discard(meta["uid"])
                raise
            self._event(rs, "SuccessfulDelete", f"Deleted pod: {meta['name']}")

    def _event(self, rs: Json, reason: str, message: str, *, warning: bool = False) -> None:
        self._recorder.record(rs, reason, message, component=_COMPONENT, warning=warning)

    async def _write_status(self, rs: Json, failure: str) -> None:
        pods = [pod for pod in owned_by(rs, self._pods) if not is_done(pod)]
        staying = [pod for pod in pods if not is_going(pod)]
        ready = sum(is_ready(pod) for pod in staying)
        meta = rs["metadata"]
        status: Json = {
            "replicas": len(staying),
            "fullyLabeledReplicas": len(staying),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "terminatingReplicas": len(pods) - len(staying),
            "observedGeneration": meta.get("generation", 1),
        }
        before = rs.get("status") or {}
        failed = (
            [
                {
                    "type": "ReplicaFailure",
                    "status": "True",
                    "reason": "FailedCreate",
                    "message": failure,
                }
            ]
            if failure
            else []
        )
        if all(before.get(key, 0) == value for key, value in status.items()) and (
            bool(before.get("conditions")) == bool(failed)
        ):
            return
        body = {"status": status | {"conditions": failed}}
        written = await self._api.merge(
            REPLICA_SETS, meta["namespace"], meta["name"], body, sub="status"
        )
        self._sets.assume(written)


def _dispensable(pod: Json) -> tuple[bool, bool, bool, float]:
    """First to go: without a node, not running, not ready, youngest."""
    status = pod.get("status") or {}
    since = str(pod["metadata"].get("creationTimestamp", ""))
    age = -float("".join(c for c in since if c.isdigit()) or 0)
    return (
        bool(pod["spec"].get("nodeName")),
        status.get("phase") == "Running",
        is_ready(pod),
        age,
    )
