"""Following one kind of object in one cluster, through everything that goes wrong on the way.

List page by page, watch from the list's version, take bookmarks, and when the connection breaks go
on from the last version seen; when the server no longer knows that version, list again. Each step
yields, so that the reader alone decides what to do with it and when to stop.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kube.client import Cluster, Item
from kube.errors import ClusterError, Gone
from kube.kinds import Kind

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
SHORTEST_WATCH = 1.0
PAGE_SIZE = 500


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of a list. From the page that `is_first` on, the state is told anew: only after the
    page that `is_last` may what was not on any page be taken for gone."""

    items: list[Item]
    is_first: bool
    is_last: bool
    resource_version: str


@dataclass(frozen=True, slots=True)
class Changed:
    """An object was made or changed; it may be one that is known already."""

    item: Item


@dataclass(frozen=True, slots=True)
class Deleted:
    """An object is gone; `item` is its last state."""

    item: Item


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Nothing happened up to this version: the connection is alive and the state is current."""

    resource_version: str


@dataclass(frozen=True, slots=True)
class Broken:
    """Something went wrong; the next try is after `pause` seconds."""

    error: ClusterError
    pause: float


Step = Listed | Changed | Deleted | Bookmark | Broken


@dataclass(slots=True)
class _Place:
    """Where we are: the version to watch from ("" to list), and how often it failed in a row."""

    version: str = ""
    listed_at: float = 0.0
    failures: int = 0

    def forget(self) -> None:
        self.version = ""


def follow(
    cluster: Cluster,
    kind: Kind,
    *,
    stop: threading.Event,
    page_size: int = PAGE_SIZE,
    watch_seconds: int = 300,
    relist_seconds: float = 3600.0,
    chance: Callable[[], float] = random.random,
) -> Iterator[Step]:
    """Yield every step until `stop` is set. Raises nothing that a cluster can cause.

    The list is repeated after `relist_seconds` even when nothing broke: a server that was restored
    from a backup keeps a watch open from a version that it has yet to reach. `chance` gives the
    jitter of the pauses, 0 to 1.
    """
    place = _Place()
    while not stop.is_set():
        try:
            yield from _round(cluster, kind, place, stop, page_size, watch_seconds)
        except ClusterError as error:
            place.failures += 1
            pause = _pause(place.failures, error, chance())
            if isinstance(error, Gone) or _is_ahead(error):
                place.forget()
                pause = 0.0 if place.failures == 1 else pause
            yield Broken(error, pause)
            stop.wait(pause)
        if time.monotonic() - place.listed_at > relist_seconds:
            place.forget()


def _round(
    cluster: Cluster,
    kind: Kind,
    place: _Place,
    stop: threading.Event,
    page_size: int,
    watch_seconds: int,
) -> Iterator[Step]:
    """List if need be, then watch until the watch ends."""
    if not place.version:
        for page in _listed(cluster, kind, page_size):
            yield page
            if stop.is_set():
                return
            if page.is_last:
                place.version = page.resource_version
        place.listed_at = time.monotonic()
    started = time.monotonic()
    for step in _watched(cluster, kind, place.version, watch_seconds):
        place.version = _version(step) or place.version
        place.failures = 0
        yield step
        if stop.is_set():
            return
    if time.monotonic() - started < SHORTEST_WATCH:
        stop.wait(SHORTEST_WATCH)  # a proxy that ends every watch at once must not be hammered


def _listed(cluster: Cluster, kind: Kind, page_size: int) -> Iterator[Listed]:
    is_first = True
    for page in cluster.list_pages(kind, limit=page_size):
        yield Listed(page.items, is_first, not page.more, page.resource_version)
        is_first = False


def _watched(
    cluster: Cluster, kind: Kind, version: str, seconds: int
) -> Iterator[Changed | Deleted | Bookmark]:
    for event in cluster.watch(kind, version, timeout=seconds):
        if event.type == "BOOKMARK":
            yield Bookmark(event.item.resource_version)
        elif event.type == "DELETED":
            yield Deleted(event.item)
        else:
            yield Changed(event.item)


def _version(step: Changed | Deleted | Bookmark) -> str:
    return step.resource_version if isinstance(step, Bookmark) else step.item.resource_version


def _is_ahead(error: ClusterError) -> bool:
    """The server has yet to reach our version: it lost its state, so ours is not the truth."""
    return any(cause.reason == "ResourceVersionTooLarge" for cause in error.causes)


def _pause(failures: int, error: ClusterError, chance: float) -> float:
    """Double each time, half of it random, and at least what the server asked for."""
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (min(failures, 10) - 1))
    pause = longest * (0.5 + 0.5 * chance)
    return max(pause, error.retry_after or 0.0)
