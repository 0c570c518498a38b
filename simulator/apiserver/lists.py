"""Lists: whole, selected, and in pages of one consistent state."""

import base64
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from simulator.apiserver.kinds import Kind
from simulator.apiserver.problems import bad_request, expired_page
from simulator.apiserver.selectors import FieldClause, field_clauses, label_test
from simulator.apiserver.store import Entry, Key, Store

REMEMBERED = 16


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a kind a request is about."""

    kind: Kind
    namespace: str = ""
    labels: Callable[[Any], bool] | None = None
    fields: tuple[FieldClause, ...] = ()

    def matches(self, entry: Entry) -> bool:
        if self.namespace and entry.namespace != self.namespace:
            return False
        if self.labels is not None and not self.labels(entry.labels):
            return False
        return all(self._clause(entry, clause) for clause in self.fields)

    def _clause(self, entry: Entry, clause: FieldClause) -> bool:
        if clause.field == "metadata.name":
            value = entry.name
        elif clause.field == "metadata.namespace":
            value = entry.namespace
        else:
            value = entry.fields[self.kind.selectable.index(clause.field)]
        return (value == clause.value) == clause.equal

    @property
    def everything(self) -> bool:
        return not self.namespace and self.labels is None and not self.fields


def selection(kind: Kind, namespace: str, labels: str, fields: str, name: str = "") -> Selection:
    clauses = field_clauses(kind, fields)
    if name:
        clauses = (*clauses, FieldClause("metadata.name", equal=True, value=name))
    return Selection(kind, namespace, label_test(labels), clauses)


@dataclass(frozen=True, slots=True)
class Page:
    entries: list[Entry]
    revision: int
    continues: str = ""
    remaining: int = 0  # 0 also where a selector hides how many


class Lister:
    """Answers lists, and remembers the states behind unfinished ones."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._states: OrderedDict[tuple[str, int], list[Entry]] = OrderedDict()

    def forget(self) -> None:
        """Let every continue token expire."""
        self._states.clear()

    def page(self, chosen: Selection, limit: int, token: str) -> Page:
        """Raises Refused: 400 for a token that is none, 410 for one whose state is forgotten."""
        revision, after = _read_token(token) if token else (-1, None)
        if revision >= 0 and after is not None:
            state = self._state(chosen.kind, revision, after)
        else:
            revision, state = self._store.revision, self._store.shelf(chosen.kind).ordered()
        start = bisect_right(state, after, key=_key) if after is not None else 0
        found: list[Entry] = []
        for place in range(start, len(state)):
            entry = state[place]
            if not (chosen.everything or chosen.matches(entry)):
                continue
            if limit and len(found) == limit:
                return self._unfinished(chosen, revision, state, found)
            found.append(entry)
        return Page(found, revision)

    def _unfinished(
        self, chosen: Selection, revision: int, state: list[Entry], found: list[Entry]
    ) -> Page:
        key = chosen.kind.resource, revision
        self._states[key] = state
        self._states.move_to_end(key)
        while len(self._states) > REMEMBERED:
            self._states.popitem(last=False)
        last = found[-1].key
        remaining = 0
        if chosen.labels is None and not chosen.fields:
            end = len(state)
            if chosen.namespace:
                end = bisect_left(state, (chosen.namespace + "\0", ""), key=_key)
            remaining = end - bisect_right(state, last, key=_key)
        return Page(found, revision, _token(revision, last), remaining)

    def _state(self, kind: Kind, revision: int, after: Key) -> list[Entry]:
        found = self._states.get((kind.resource, revision))
        if found is None:
            raise expired_page(_token(-1, after))
        return found


def _key(entry: Entry) -> Key:
    return entry.key


def _token(revision: int, after: Key) -> str:
    text = orjson.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": "/".join(after)})
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def _read_token(token: str) -> tuple[int, Key]:
    try:
        content = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        namespace, _, name = content["start"].partition("/")
        return int(content["rv"]), (namespace, name)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise bad_request(
            "invalid continue token: continue key is not valid: encoding/json: invalid token"
        ) from None


def served(kind: Kind, entry: Entry) -> bytes:
    """The stored bytes in the version that was asked for."""
    return in_version(kind, entry.data)


def in_version(kind: Kind, data: bytes) -> bytes:
    if not kind.custom or data.startswith(kind.type_prefix):
        return data
    return kind.type_prefix + data[data.index(b'"metadata"') :]


def list_body(kind: Kind, page: Page) -> Iterator[bytes]:
    """The body of a list, in pieces. Items of built-in kinds carry no kind and apiVersion."""
    meta: dict[str, Any] = {"continue": ""} if kind.custom else {}
    meta["resourceVersion"] = str(page.revision)
    if page.continues:
        meta["continue"] = page.continues
        if page.remaining:
            meta["remainingItemCount"] = page.remaining
    head = {"kind": kind.list_kind, "apiVersion": kind.group_version, "metadata": meta}
    yield orjson.dumps(head)[:-1] + b',"items":['
    skipped = len(kind.type_prefix)
    first = True
    for entry in page.entries:
        if not first:
            yield b","
        first = False
        if kind.custom:
            yield served(kind, entry)
        else:
            yield b"{" + entry.data[skipped:]
    yield b"]}\n"
