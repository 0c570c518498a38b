"""Garbage: dependents of what is gone, foreground and orphan deletion, pods of vanished nodes."""

import asyncio
import logging
from typing import Any

from simulator.fleet.api import (
    CLAIMS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    NODES,
    PODS,
    REPLICA_SETS,
    SERVICES,
    SLICES,
    ApiError,
    Kind,
)
from simulator.fleet.cache import Cluster, Queue, Store, key_of
from simulator.fleet.controllers.ownership import is_going

type Json = dict[str, Any]

log = logging.getLogger("fleet")

_OWNERS = (DEPLOYMENTS, REPLICA_SETS, DAEMON_SETS, PODS, NODES, SERVICES)
_DEPENDENTS = (REPLICA_SETS, PODS, CLAIMS, ENDPOINT_SLICES, SLICES)
_SWEEP_SECONDS = 20.0
_FOREGROUND, _ORPHAN = "foregroundDeletion", "orphan"


class Garbage:
    def __init__(self, cluster: Cluster) -> None:
        self._api = cluster.api
        self._owners: dict[str, Store] = {kind.kind: cluster.store(kind) for kind in _OWNERS}
        self._dependents = [cluster.store(kind) for kind in _DEPENDENTS]
        self._queues = {
            store.kind: Queue(f"garbage {store.kind.plural}", self._reconciler(store))
            for store in self._dependents
        }
        self._finishing = {
            kind: Queue(f"finalizers {kind.plural}", self._finisher(self._owners[kind.kind]))
            for kind in _OWNERS
        }
        for kind in _OWNERS:
            self._owners[kind.kind].listen(self._owner_listener(kind))
        for store in self._dependents:
            store.listen(self._dependent_listener(store))

    async def run(self) -> None:
        stores = [*self._owners.values(), *self._dependents]
        await asyncio.gather(*(store.ready.wait() for store in stores))
        async with asyncio.TaskGroup() as group:
            for queue in (*self._queues.values(), *self._finishing.values()):
                group.create_task(queue.run(1))
            group.create_task(self._sweep())

    async def _sweep(self) -> None:
        """What happened while this process was not there, and events that came out of order."""
        while True:
            for store in self._dependents:
                for item in store:
                    if item["metadata"].get("ownerReferences"):
                        self._queues[store.kind].add(key_of(item))
            for pod in self._owners["Pod"]:
                self._queues[PODS].add(key_of(pod))
            await asyncio.sleep(_SWEEP_SECONDS)

    def _owner_listener(self, kind: Kind) -> Any:
        def listen(before: Json | None, after: Json | None) -> None:
            item = after or before or {}
            if after is None:
                self._look_at_dependents(item)
            elif is_going(after) and {_FOREGROUND, _ORPHAN} & set(_finalizers(after)):
                self._look_at_dependents(after)
                self._finishing[kind].add(key_of(after))

        return listen

    def _dependent_listener(self, store: Store) -> Any:
        def listen(before: Json | None, after: Json | None) -> None:
            item = after or before or {}
            for reference in item["metadata"].get("ownerReferences") or []:
                kind = next((k for k in _OWNERS if k.kind == reference["kind"]), None)
                if kind and after is None:
                    namespace = item["metadata"].get("namespace", "") if kind.namespaced else ""
                    self._finishing[kind].add((namespace, reference["name"]))
            if before is None and item["metadata"].get("ownerReferences"):
                self._queues[store.kind].add(key_of(item))

        return listen

    def _look_at_dependents(self, owner: Json) -> None:
        for store in self._dependents:
            for item in self._of(owner, store):
                self._queues[store.kind].add(key_of(item))
        if owner["kind"] == "Node":
            for pod in self._owners["Pod"]:
                if pod["spec"].get("nodeName") == owner["metadata"]["name"]:
                    self._queues[PODS].add_after(key_of(pod), 1.0)

    @staticmethod
    def _of(owner: Json, store: Store) -> list[Json]:
        uid = owner["metadata"]["uid"]
        return [
            item
            for item in store
            if any(r["uid"] == uid for r in item["metadata"].get("ownerReferences") or [])
        ]

    def _reconciler(self, store: Store) -> Any:
        async def reconcile(key: tuple[str, str]) -> None:
            item = store.get(*key)
            if item is None:
                return
            if store.kind is PODS and await self._homeless(item):
                return
            if is_going(item) or not self._seems_garbage(item) or await self._has_owner(item):
                return
            try:
                await self._api.delete(store.kind, *key, uid=item["metadata"]["uid"])
            except ApiError as error:
                if not error.is_conflict:
                    raise

        return reconcile

    async def _has_owner(self, item: Json) -> bool:
        """Asked of the server itself: a store may not have seen a young owner yet."""
        for reference in item["metadata"].get("ownerReferences") or []:
            store = self._owners[reference["kind"]]
            namespace = item["metadata"].get("namespace", "") if store.kind.namespaced else ""
            try:
                owner = await self._api.get(store.kind, namespace, reference["name"])
            except ApiError as error:
                if not error.is_missing:
                    raise
                continue
            if owner["metadata"]["uid"] == reference["uid"] and not (
                is_going(owner) and _FOREGROUND in _finalizers(owner)
            ):
                return True
        return False

    def _seems_garbage(self, item: Json) -> bool:
        """Every owner is gone, or goes in the foreground; one of unknown kind counts as there."""
        references = item["metadata"].get("ownerReferences") or []
        return bool(references) and all(self._is_gone(item, r) for r in references)

    def _is_gone(self, item: Json, reference: Json) -> bool:
        store = self._owners.get(reference["kind"])
        if store is None:
            return False
        namespace = item["metadata"].get("namespace", "") if store.kind.namespaced else ""
        owner = store.get(namespace, reference["name"])
        if owner is None or owner["metadata"]["uid"] != reference["uid"]:
            return True
        return is_going(owner) and _FOREGROUND in _finalizers(owner)

    async def _homeless(self, pod: Json) -> bool:
        node = pod["spec"].get("nodeName")
        if not node or self._owners["Node"].get("", node) is not None:
            return False
        meta = pod["metadata"]
        await self._api.delete(PODS, meta["namespace"], meta["name"], uid=meta["uid"], grace=0)
        return True

    def _finisher(self, store: Store) -> Any:
        async def finish(key: tuple[str, str]) -> None:
            owner = store.get(*key)
            if owner is None or not is_going(owner):
                return
            finalizers = _finalizers(owner)
            if _ORPHAN in finalizers:
                await self._orphan(owner)
                await self._drop(store, owner, _ORPHAN)
            elif _FOREGROUND in finalizers and not any(
                self._of(owner, other) for other in self._dependents
            ):
                await self._drop(store, owner, _FOREGROUND)

        return finish

    async def _orphan(self, owner: Json) -> None:
        uid = owner["metadata"]["uid"]
        for store in self._dependents:
            for item in self._of(owner, store):
                kept = [r for r in item["metadata"]["ownerReferences"] if r["uid"] != uid]
                body = {"metadata": {"ownerReferences": kept}}
                store.assume(await self._api.merge(store.kind, *key_of(item), body))

    async def _drop(self, store: Store, owner: Json, finalizer: str) -> None:
        kept = [item for item in _finalizers(owner) if item != finalizer]
        await self._api.replace(
            store.kind, owner | {"metadata": owner["metadata"] | {"finalizers": kept}}
        )


def _finalizers(item: Json) -> list[str]:
    return list(item["metadata"].get("finalizers") or [])
