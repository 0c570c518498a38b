"""Watched kinds in memory, and work queues fed by their changes."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from simulator.fleet.api import Api, ApiError, Kind

type Json = dict[str, Any]
type Key = tuple[str, str]
type Listener = Callable[[Json | None, Json | None], None]

log = logging.getLogger("fleet")


def key_of(item: Json) -> Key:
    meta = item["metadata"]
    return meta.get("namespace", ""), meta["name"]


class Store:
    """One kind, kept current by list and watch; listeners get (before, after)."""

    def __init__(self, api: Api, kind: Kind) -> None:
        self.kind = kind
        self.items: dict[Key, Json] = {}
        self.ready = asyncio.Event()
        self._api = api
        self._listeners: list[Listener] = []
        self._buried: deque[str] = deque(maxlen=500)

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def get(self, namespace: str, name: str) -> Json | None:
        return self.items.get((namespace, name))

    def within(self, namespace: str) -> Iterator[Json]:
        return (item for key, item in self.items.items() if key[0] == namespace)

    def assume(self, item: Json) -> None:
        """Take in the answer to one's own write, ahead of the watch, unless that was faster."""
        have = self.items.get(key_of(item))
        if item["metadata"]["uid"] in self._buried or (have and _version(have) >= _version(item)):
            return
        self._put(item, key_of(item))

    def __iter__(self) -> Iterator[Json]:
        return iter(list(self.items.values()))

    async def run(self) -> None:
        """List and watch for ever; a broken watch resumes, an expired one lists again."""
        pause = 0.1
        version = ""
        while True:
            try:
                if not version:
                    version = await self._list()
                async for event, item in self._api.watch(self.kind, version):
                    pause = 0.1
                    version = item["metadata"]["resourceVersion"]
                    if event != "BOOKMARK":
                        self._put(None if event == "DELETED" else item, key_of(item))
            except ApiError as error:
                if error.status:
                    version = ""
                if error.is_missing:
                    # An older cluster does not serve this kind, so there are none of it.
                    self.ready.set()
                log.debug("watch of %s: %s", self.kind.plural, error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, 5.0)

    async def _list(self) -> str:
        items, version = await self._api.list(self.kind)
        found = {key_of(item): item for item in items}
        for key in [key for key in self.items if key not in found]:
            self._put(None, key)
        for key, item in found.items():
            self._put(item, key)
        self.ready.set()
        return version

    def _put(self, item: Json | None, key: Key) -> None:
        before = self.items.get(key)
        if item is None:
            if before is None:
                return
            self.items.pop(key)
            self._buried.append(before["metadata"]["uid"])
        elif before and _version(before) >= _version(item) and _same_object(before, item):
            return
        else:
            # Field ownership is half of an object's bytes and nothing here reads it.
            item["metadata"].pop("managedFields", None)
            item.setdefault("apiVersion", self.kind.version)
            item.setdefault("kind", self.kind.kind)
            self.items[key] = item
        for listener in self._listeners:
            try:
                listener(before, item)
            except Exception:  # one odd object must not end the watch of all others
                log.exception("%s %s/%s", self.kind.kind, *key)


def _version(item: Json) -> int:
    """Versions count up within a cluster; assumed writes may be ahead of the watch."""
    text = str(item["metadata"].get("resourceVersion", ""))
    return int(text) if text.isdigit() else 0


def _same_object(before: Json, item: Json) -> bool:
    return bool(before["metadata"].get("uid") == item["metadata"].get("uid"))


class Index:
    """A store's objects by a key of one's own, so that thousands need not be looked through."""

    def __init__(self, store: Store, key: Callable[[Json], object]) -> None:
        self._key = key
        self._groups: dict[object, dict[Key, Json]] = {}
        store.listen(self._changed)

    def of(self, key: object) -> list[Json]:
        return list(self._groups.get(key, {}).values())

    def _changed(self, before: Json | None, after: Json | None) -> None:
        if before is not None:
            group = self._groups.get(self._key(before), {})
            group.pop(key_of(before), None)
        if after is not None:
            self._groups.setdefault(self._key(after), {})[key_of(after)] = after


class Cluster:
    """All stores of one client; a kind is watched from the first time somebody asks for it."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self._stores: dict[Kind, Store] = {}

    def store(self, kind: Kind) -> Store:
        if kind not in self._stores:
            self._stores[kind] = Store(self.api, kind)
        return self._stores[kind]

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for store in self._stores.values():
                group.create_task(store.run())

    async def synced(self) -> None:
        for store in list(self._stores.values()):
            await store.ready.wait()


class Queue:
    """Keys to reconcile: each at most once in line and never twice at a time, errors retried."""

    def __init__(self, name: str, reconcile: Callable[[Key], Awaitable[None]]) -> None:
        self._name = name
        self._reconcile = reconcile
        self._line: asyncio.Queue[Key] = asyncio.Queue()
        self._waiting: set[Key] = set()
        self._running: set[Key] = set()
        self._failures: dict[Key, int] = {}

    def add(self, key: Key) -> None:
        if key not in self._waiting:
            self._waiting.add(key)
            self._line.put_nowait(key)

    def add_after(self, key: Key, delay: float) -> None:
        asyncio.get_running_loop().call_later(delay, self.add, key)

    async def run(self, workers: int = 2) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key = await self._line.get()
            self._waiting.discard(key)
            if key in self._running:
                self.add_after(key, 0.02)
                continue
            self._running.add(key)
            try:
                await self._reconcile(key)
                self._failures.pop(key, None)
            except ApiError as error:
                self._again(key, error)
            except Exception:  # one odd object must not keep the others from their turn
                log.exception("%s %s/%s", self._name, *key)
            finally:
                self._running.discard(key)

    def _again(self, key: Key, error: ApiError) -> None:
        if error.is_missing:
            return
        count = self._failures[key] = self._failures.get(key, 0) + 1
        level = logging.DEBUG if error.is_conflict or not error.status else logging.WARNING
        log.log(level, "%s %s/%s: %s", self._name, *key, error)
        self.add_after(key, min(0.05 * 2**count, 10.0))
