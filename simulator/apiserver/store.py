"""All objects, as the bytes that are served, with one revision counter and a bounded history."""

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from simulator.apiserver.journal import PUT, REMOVED, REVISION, Journal, Line
from simulator.apiserver.kinds import Kind
from simulator.apiserver.problems import Refused, too_old
from simulator.apiserver.selectors import field_values

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """One version of one object. `fields` are the values of the kind's selectable fields."""

    namespace: str
    name: str
    revision: int
    data: bytes
    labels: Mapping[str, str]
    fields: tuple[str, ...]

    @property
    def key(self) -> Key:
        return self.namespace, self.name

    def parsed(self) -> dict[str, Any]:
        loaded: dict[str, Any] = orjson.loads(self.data)
        return loaded


@dataclass(frozen=True, slots=True)
class Change:
    """`before` is None for an addition; a removal has `gone` set and the last state as `after`."""

    revision: int
    before: Entry | None
    after: Entry
    gone: bool = False


class Shelf:
    """The objects of one resource in key order, and their recent changes."""

    def __init__(self, history: int, revision: int) -> None:
        self.entries: dict[Key, Entry] = {}
        self.order: list[Key] = []
        self.watchers: set[asyncio.Event] = set()
        self._history = history
        self._changes: list[Change] = []
        self._base = 0
        self.oldest = revision

    def set(self, entry: Entry) -> Entry | None:
        before = self.entries.get(entry.key)
        if before is None:
            insort(self.order, entry.key)
        self.entries[entry.key] = entry
        return before

    def drop(self, key: Key) -> None:
        del self.entries[key]
        del self.order[bisect_left(self.order, key)]

    def publish(self, change: Change) -> None:
        self._changes.append(change)
        if len(self._changes) > 2 * self._history:
            self.forget(self._history)
        for watcher in self.watchers:
            watcher.set()

    def forget(self, keep: int) -> None:
        """Drop all but the last `keep` changes; who stands before them gets 410."""
        surplus = len(self._changes) - keep
        if surplus > 0:
            self.oldest = self._changes[surplus - 1].revision
            del self._changes[:surplus]
            self._base += surplus

    def position(self, revision: int) -> int:
        """Where the changes after `revision` begin. Raises 410 when they are forgotten."""
        if revision < self.oldest:
            raise too_old(revision, self.oldest)
        return self._base + bisect_right(self._changes, revision, key=lambda c: c.revision)

    def end(self) -> int:
        return self._base + len(self._changes)

    def since(self, position: int, limit: int) -> list[Change]:
        """At most `limit` changes from there on. Raises 410 when they are forgotten."""
        if position < self._base:
            raise too_old(self.oldest - 1, self.oldest)
        start = position - self._base
        return self._changes[start : start + limit]

    def ordered(self) -> list[Entry]:
        return [self.entries[key] for key in self.order]

    def keys(self, namespace: str) -> list[Key]:
        if not namespace:
            return self.order
        start = bisect_left(self.order, (namespace, ""))
        end = bisect_left(self.order, (namespace + "\0", ""))
        return self.order[start:end]


class Store:
    """Reads and writes objects; the only place that assigns a resourceVersion."""

    def __init__(
        self, directory: Path, *, history: int = 4096, compact_bytes: int = 64 << 20
    ) -> None:
        self.revision = 1
        self._history = history
        self._shelves: dict[str, Shelf] = {}
        self._journal = Journal(directory, compact_bytes)
        self._unread: dict[str, dict[Key, Line]] = {}
        for line in self._journal.load():
            self._replay(line)
        self._loaded = self.revision

    def _replay(self, line: Line) -> None:
        self.revision = max(self.revision, line.revision)
        if line.what == REVISION:
            return
        objects = self._unread.setdefault(line.resource, {})
        namespace, _, name = line.key.partition("/")
        if line.what == REMOVED:
            objects.pop((namespace, name), None)
        else:
            objects[(namespace, name)] = line

    def shelf(self, kind: Kind) -> Shelf:
        found = self._shelves.get(kind.resource)
        if found is None:
            found = self._shelves[kind.resource] = Shelf(self._history, self._loaded)
            for key, line in sorted(self._unread.pop(kind.resource, {}).items()):
                found.order.append(key)
                found.entries[key] = _entry(kind, orjson.loads(line.body), line.body, line.revision)
        return found

    def get(self, kind: Kind, namespace: str, name: str) -> Entry | None:
        return self.shelf(kind).entries.get((namespace, name))

    def put(self, kind: Kind, item: dict[str, Any]) -> Entry:
        """Store `item` under a new revision, which it is given."""
        shelf = self.shelf(kind)
        self.revision += 1
        entry = self._stored(kind, item)
        self._journal.append(_line(kind.resource, entry))
        before = shelf.set(entry)
        shelf.publish(Change(entry.revision, before, entry))
        self._compact()
        return entry

    def remove(self, kind: Kind, item: dict[str, Any]) -> Entry:
        """Take an object away; its last state carries the revision of the removal."""
        shelf = self.shelf(kind)
        self.revision += 1
        last = self._stored(kind, item)
        place = f"{last.namespace}/{last.name}"
        self._journal.append(Line(REMOVED, kind.resource, last.revision, place, b""))
        before = shelf.entries.get(last.key)
        shelf.drop(last.key)
        shelf.publish(Change(last.revision, before, last, gone=True))
        self._compact()
        return last

    def _stored(self, kind: Kind, item: dict[str, Any]) -> Entry:
        item["metadata"]["resourceVersion"] = str(self.revision)
        ordered = {
            "kind": kind.kind,
            "apiVersion": kind.group_version,
            "metadata": item["metadata"],
        }
        ordered.update((name, value) for name, value in item.items() if name not in ordered)
        return _entry(kind, item, orjson.dumps(ordered), self.revision)

    def _compact(self) -> None:
        if self._journal.wants_snapshot:
            self._journal.snapshot(self._everything())

    def _everything(self) -> Iterator[Line]:
        for resource, shelf in self._shelves.items():
            for entry in shelf.entries.values():
                yield _line(resource, entry)
        for lines in self._unread.values():
            yield from lines.values()
        yield Line(REVISION, "-", self.revision, "-", b"")

    def forget_history(self) -> None:
        for shelf in self._shelves.values():
            shelf.forget(0)

    def drop_resource(self, kind: Kind) -> None:
        """Forget the shelf of a kind that is no longer served; its objects are gone already."""
        self._shelves.pop(kind.resource, None)

    def close(self) -> None:
        self._journal.close()


def _line(resource: str, entry: Entry) -> Line:
    return Line(PUT, resource, entry.revision, f"{entry.namespace}/{entry.name}", entry.data)


def _entry(kind: Kind, item: Mapping[str, Any], data: bytes, revision: int) -> Entry:
    meta = item["metadata"]
    return Entry(
        namespace=meta.get("namespace", ""),
        name=meta["name"],
        revision=revision,
        data=data,
        labels=meta.get("labels") or {},
        fields=field_values(kind, item),
    )


def parse_revision(text: str) -> int:
    if not text.isdigit():
        raise Refused(
            400,
            f'invalid resource version: resourceVersion: Invalid value: "{text}": '
            f'strconv.ParseUint: parsing "{text}": invalid syntax',
        )
    return int(text)
