"""Device taints with NoExecute: pods that use such a device are deleted."""

import asyncio
from collections.abc import Iterator
from typing import Any

from simulator.fleet.api import CLAIMS, PODS, SLICES, TAINT_RULES, ApiError
from simulator.fleet.cache import Cluster, Key, Queue, key_of
from simulator.fleet.clock import Clock, parsed
from simulator.fleet.controllers.ownership import is_done, is_going
from simulator.fleet.events import Recorder

type Json = dict[str, Any]

_COMPONENT = "device-taint-eviction-controller"


class DeviceEvictions:
    def __init__(self, cluster: Cluster, recorder: Recorder) -> None:
        self._api = cluster.api
        self._recorder = recorder
        self._claims = cluster.store(CLAIMS)
        self._pods = cluster.store(PODS)
        self._slices = cluster.store(SLICES)
        self._rules = cluster.store(TAINT_RULES)
        self._queue = Queue(_COMPONENT, self._reconcile)
        self._claims.listen(lambda old, new: self._queue.add(key_of(new or old or {})))
        for store in (self._slices, self._rules):
            store.listen(lambda _old, _new: self._all())

    async def run(self) -> None:
        """Clusters before 1.37 do not serve rules, so those are not waited for."""
        stores = (self._claims, self._pods, self._slices)
        await asyncio.gather(*(store.ready.wait() for store in stores))
        await self._queue.run(1)

    def _all(self) -> None:
        for claim in self._claims:
            self._queue.add(key_of(claim))

    async def _reconcile(self, key: Key) -> None:
        claim = self._claims.get(*key)
        allocation = ((claim or {}).get("status") or {}).get("allocation")
        if claim is None or allocation is None:
            return
        due = None
        for result in (allocation.get("devices") or {}).get("results") or []:
            for taint in self._taints(result):
                wait = _wait(result, taint)
                if wait is not None:
                    due = wait if due is None else min(due, wait)
        if due is None:
            return
        if due > 0:
            self._queue.add_after(key, due + 0.1)
            return
        for user in claim["status"].get("reservedFor") or []:
            await self._evict(key[0], user)

    async def _evict(self, namespace: str, user: Json) -> None:
        pod = self._pods.get(namespace, user["name"])
        if pod is None or pod["metadata"]["uid"] != user["uid"] or is_going(pod) or is_done(pod):
            return
        self._recorder.record(
            pod, "DeviceTaintManagerEviction", "Marking for deletion", component=_COMPONENT
        )
        try:
            await self._api.delete(PODS, namespace, user["name"], uid=user["uid"])
        except ApiError as error:
            if not error.is_conflict:
                raise

    def _taints(self, result: Json) -> Iterator[Json]:
        """NoExecute ones, of the newest slices and of rules."""
        slices = [item for item in self._slices if _is_of(item["spec"], result)]
        newest = max((s["spec"]["pool"]["generation"] for s in slices), default=0)
        for item in slices:
            if item["spec"]["pool"]["generation"] == newest:
                for device in item["spec"].get("devices") or []:
                    if device["name"] == result["device"]:
                        yield from (t for t in device.get("taints") or [] if _executes(t))
        for rule in self._rules:
            spec = rule["spec"]
            if _executes(spec["taint"]) and _selects(spec.get("deviceSelector"), result):
                yield spec["taint"]


def _is_of(spec: Json, result: Json) -> bool:
    return bool(spec["driver"] == result["driver"] and spec["pool"]["name"] == result["pool"])


def _executes(taint: Json) -> bool:
    return bool(taint["effect"] == "NoExecute")


def _selects(selector: Json | None, result: Json) -> bool:
    return selector is not None and all(
        selector.get(key) in {None, result[key]} for key in ("driver", "pool", "device")
    )


def _wait(result: Json, taint: Json) -> float | None:
    """Seconds until the taint evicts; None when it is tolerated for ever."""
    for toleration in result.get("tolerations") or []:
        if toleration.get("effect") not in {None, "", "NoExecute"}:
            continue
        if toleration.get("key") not in {None, "", taint["key"]}:
            continue
        equal = toleration.get("operator", "Equal") == "Equal" and toleration.get("key")
        if equal and toleration.get("value", "") != taint.get("value", ""):
            continue
        seconds = toleration.get("tolerationSeconds")
        if seconds is None:
            return None
        added = parsed(taint["timeAdded"]) if taint.get("timeAdded") else Clock.wall()
        return added + float(seconds) - Clock.wall()
    return 0.0
