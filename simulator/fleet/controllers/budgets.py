"""The status of PodDisruptionBudgets, which evictions ask."""

import asyncio
from typing import Any

from simulator.fleet.api import BUDGETS, PODS, REPLICA_SETS
from simulator.fleet.cache import Cluster, Key, Queue, key_of
from simulator.fleet.clock import Clock
from simulator.fleet.controllers.ownership import (
    controller_of,
    is_done,
    is_going,
    is_ready,
    matches,
    share_of,
)

type Json = dict[str, Any]


class Budgets:
    def __init__(self, cluster: Cluster) -> None:
        self._api = cluster.api
        self._budgets = cluster.store(BUDGETS)
        self._pods = cluster.store(PODS)
        self._sets = cluster.store(REPLICA_SETS)
        self._queue = Queue("disruption", self._reconcile)
        self._budgets.listen(lambda old, new: self._queue.add(key_of(new or old or {})))
        self._pods.listen(self._changed)
        self._sets.listen(self._changed)

    async def run(self) -> None:
        stores = (self._budgets, self._pods, self._sets)
        await asyncio.gather(*(store.ready.wait() for store in stores))
        await self._queue.run(1)

    def _changed(self, before: Json | None, after: Json | None) -> None:
        namespace = (after or before or {})["metadata"]["namespace"]
        for budget in self._budgets.within(namespace):
            self._queue.add(key_of(budget))

    async def _reconcile(self, key: Key) -> None:
        budget = self._budgets.get(*key)
        if budget is None or is_going(budget):
            return
        pods = [
            pod
            for pod in self._pods.within(key[0])
            if matches(budget["spec"].get("selector"), pod["metadata"].get("labels") or {})
            and not is_done(pod)
        ]
        expected = self._expected(pods)
        healthy = sum(is_ready(pod) and not is_going(pod) for pod in pods)
        needed = _needed(budget, expected)
        allowed = max(healthy - needed, 0) if expected else 0
        meta = budget["metadata"]
        counts = {
            "currentHealthy": healthy,
            "desiredHealthy": needed,
            "disruptionsAllowed": allowed,
            "expectedPods": expected,
            "observedGeneration": meta.get("generation", 1),
        }
        before = budget.get("status") or {}
        if before and all(before.get(name) == value for name, value in counts.items()):
            return
        conditions = [_condition(before, allowed, meta.get("generation", 1))]
        body = {"status": counts | {"conditions": conditions}}
        changed = await self._api.merge(BUDGETS, *key, body, sub="status")
        self._budgets.assume(changed)

    def _expected(self, pods: list[Json]) -> int:
        """What the pods' ReplicaSets want, or the number of pods without one."""
        total, seen = 0, set()
        for pod in pods:
            owner = controller_of(pod)
            if owner is None or owner["kind"] != REPLICA_SETS.kind:
                total += 1
            elif owner["uid"] not in seen:
                seen.add(owner["uid"])
                rs = self._sets.get(pod["metadata"]["namespace"], owner["name"])
                total += int(rs["spec"].get("replicas", 1)) if rs else 1
        return total


def _needed(budget: Json, expected: int) -> int:
    spec = budget["spec"]
    if "maxUnavailable" in spec:
        return max(expected - share_of(spec["maxUnavailable"], expected, up=True), 0)
    return share_of(spec.get("minAvailable", 1), expected, up=True)


def _condition(before: Json, allowed: int, generation: int) -> Json:
    status = "True" if allowed else "False"
    old = next((c for c in before.get("conditions") or [] if c["status"] == status), None)
    return {
        "type": "DisruptionAllowed",
        "status": status,
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
        "observedGeneration": generation,
        "lastTransitionTime": old["lastTransitionTime"] if old else Clock.stamp(),
    }
