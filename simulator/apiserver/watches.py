"""Watches: what changed since a revision, as it happens, with bookmarks."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

import orjson

from simulator.apiserver.kinds import Kind
from simulator.apiserver.lists import Selection, in_version
from simulator.apiserver.problems import Refused
from simulator.apiserver.store import Change, Entry, Store

BATCH = 500
BOOKMARK_SECONDS = 60.0
INITIAL_END = {"k8s.io/initial-events-end": "true"}

Shown = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """`revision` None means: start with what there is. `initial` marks its end by a bookmark."""

    chosen: Selection
    revision: int | None
    bookmarks: bool = False
    initial: bool = False
    seconds: float = 1800.0


def _line(what: bytes, body: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (what, body)


def error_line(failure: Refused) -> bytes:
    return _line(b"ERROR", orjson.dumps(failure.status()))


def bookmark(kind: Kind, revision: int, annotations: dict[str, str] | None = None) -> bytes:
    """The object of a bookmark: empty but for its revision."""
    meta: dict[str, object] = {"resourceVersion": str(revision), "creationTimestamp": None}
    if annotations:
        meta["annotations"] = annotations
    return orjson.dumps({"kind": kind.kind, "apiVersion": kind.group_version, "metadata": meta})


def event(chosen: Selection, change: Change) -> tuple[bytes, Entry] | None:
    """What one change looks like through a selection; None where it is not seen."""
    was = change.before is not None and chosen.matches(change.before)
    if change.gone:
        return (b"DELETED", change.after) if was else None
    now = chosen.matches(change.after)
    if now:
        return (b"MODIFIED" if was else b"ADDED", change.after)
    return (b"DELETED", change.after) if was else None


class Watch:
    """One client's watch: an iterator of chunks, each of one or more whole lines."""

    def __init__(self, store: Store, request: WatchRequest, shown: Shown) -> None:
        self._store = store
        self._request = request
        self._shelf = store.shelf(request.chosen.kind)
        self._shown = shown
        self._kind = request.chosen.kind
        self._seen = store.revision
        if request.revision is None:
            self._position = self._shelf.end()
        else:
            self._position = self._shelf.position(request.revision)

    async def chunks(self) -> AsyncIterator[bytes]:
        ends = time.monotonic() + self._request.seconds
        marked = time.monotonic()
        wake = asyncio.Event()
        self._shelf.watchers.add(wake)
        try:
            for chunk in self._initial():
                yield chunk
            while (left := ends - time.monotonic()) > 0:
                wake.clear()
                chunk = self._changes()
                if chunk:
                    yield chunk
                    continue
                if self._request.bookmarks and time.monotonic() - marked >= BOOKMARK_SECONDS:
                    marked = time.monotonic()
                    yield self._bookmark()
                await _woken(wake, min(left, BOOKMARK_SECONDS))
            if self._request.bookmarks:
                yield self._bookmark()
        finally:
            self._shelf.watchers.discard(wake)

    def _bookmark(self) -> bytes:
        return _line(b"BOOKMARK", self._shown(bookmark(self._kind, self._store.revision)))

    def _initial(self) -> Iterator[bytes]:
        if self._request.revision is not None and not self._request.initial:
            return
        chosen = self._request.chosen
        lines = [
            _line(b"ADDED", self._shown(in_version(self._kind, entry.data)))
            for key in list(self._shelf.keys(chosen.namespace))
            if chosen.matches(entry := self._shelf.entries[key])
        ]
        for start in range(0, len(lines), BATCH):
            yield b"".join(lines[start : start + BATCH])
        if self._request.initial and self._request.bookmarks:
            end = bookmark(self._kind, self._seen, INITIAL_END)
            yield _line(b"BOOKMARK", self._shown(end))

    def _changes(self) -> bytes:
        lines: list[bytes] = []
        while not lines:
            changes = self._shelf.since(self._position, BATCH)
            if not changes:
                return b""
            self._position += len(changes)
            for change in changes:
                if seen := event(self._request.chosen, change):
                    what, entry = seen
                    data = entry.data
                    if what == b"DELETED" and not change.gone:
                        data = _restamped(change)
                    lines.append(_line(what, self._shown(in_version(self._kind, data))))
        return b"".join(lines)


def _restamped(change: Change) -> bytes:
    """An object that left the selection: its old state with the revision of the change."""
    assert change.before is not None
    item = change.before.parsed()
    item["metadata"]["resourceVersion"] = str(change.revision)
    return orjson.dumps(item)


async def _woken(wake: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await wake.wait()
    except TimeoutError:
        return
