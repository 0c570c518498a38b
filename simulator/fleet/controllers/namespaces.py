"""Namespaces that go: everything in them goes first."""

from typing import Any

from simulator.fleet.api import NAMESPACES, Api, ApiError, Kind
from simulator.fleet.cache import Cluster, Key, Queue, key_of
from simulator.fleet.controllers.ownership import is_going

type Json = dict[str, Any]


class Namespaces:
    def __init__(self, cluster: Cluster) -> None:
        self._api: Api = cluster.api
        self._namespaces = cluster.store(NAMESPACES)
        self._queue = Queue("namespace", self._reconcile)
        self._namespaces.listen(lambda old, new: self._queue.add(key_of(new or old or {})))

    async def run(self) -> None:
        await self._namespaces.ready.wait()
        await self._queue.run(1)

    async def _reconcile(self, key: Key) -> None:
        namespace = self._namespaces.get(*key)
        if namespace is None or not is_going(namespace):
            return
        left = 0
        for kind in await self._kinds():
            left += await self._clear(kind, key[1])
        if left:
            self._queue.add_after(key, 0.5)
            return
        spec = (namespace.get("spec") or {}) | {"finalizers": []}
        try:
            await self._api.replace(NAMESPACES, namespace | {"spec": spec}, "finalize")
        except ApiError as error:
            if not (error.is_missing or error.is_conflict):
                raise

    async def _clear(self, kind: Kind, namespace: str) -> int:
        """How many objects were still there."""
        answer = await self._api.call("GET", kind.path(namespace))
        items = answer.get("items") or []
        for item in items:
            if not is_going(item):
                await self._api.delete(kind, namespace, item["metadata"]["name"])
        return len(items)

    async def _kinds(self) -> list[Kind]:
        """All namespaced kinds that can be listed and deleted, from discovery."""
        groups = await self._api.call("GET", "/apis")
        versions = ["v1"] + [
            group["preferredVersion"]["groupVersion"] for group in groups.get("groups") or []
        ]
        kinds = []
        for version in versions:
            path = "/api/v1" if version == "v1" else f"/apis/{version}"
            answer = await self._api.call("GET", path)
            kinds += [
                Kind(version, item["name"], item["kind"])
                for item in answer.get("resources") or []
                if item.get("namespaced")
                and "/" not in item["name"]
                and {"list", "delete"} <= set(item.get("verbs") or [])
            ]
        return kinds
