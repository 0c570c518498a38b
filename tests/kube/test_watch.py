"""Following a kind: what each failure leads to. The cluster is scripted; time does not pass."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

from kube import errors, kinds, watch
from kube.client import Event, Item, Page
from kube.watch import Bookmark, Broken, Changed, Deleted, Listed, Step, follow


def item(version: int, name: str = "n") -> Item:
    return Item(f"uid-{name}", str(version), "", name, b"{}")


class Scripted:
    """Answers lists and watches from a script, and notes what was asked."""

    def __init__(self, *script: Any) -> None:
        self.script = list(script)
        self.asked: list[str] = []

    def list_pages(self, kind: Any, *, limit: int) -> Iterator[Page]:
        self.asked.append("list")
        yield from self._next()

    def watch(self, kind: Any, version: str, *, timeout: int) -> Iterator[Event]:
        self.asked.append(f"watch {version}")
        yield from self._next()

    def _next(self) -> Iterator[Any]:
        for step in self.script.pop(0) if self.script else []:
            if isinstance(step, Exception):
                raise step
            yield step


class Pauses(threading.Event):
    """A stop signal that is set after so many waits, and notes how long each would have been."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after
        self.waits: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout or 0.0)
        if len(self.waits) >= self.after:
            self.set()
        return self.is_set()


def steps(
    cluster: Scripted, pauses: int = 1, until: Callable[[Step], bool] | None = None
) -> list[Step]:
    stop, found = Pauses(pauses), []
    for step in follow(cluster, kinds.NODES, stop=stop, chance=lambda: 1.0):  # type: ignore[arg-type]
        found.append(step)
        if until is not None and until(step):
            stop.set()
    cluster.waits = stop.waits  # type: ignore[attr-defined]
    return found


def test_a_list_then_a_watch_from_its_version() -> None:
    cluster = Scripted(
        [Page([item(3)], "9", "more"), Page([item(4, "m")], "9", "")],
        [Event("ADDED", item(10)), Event("DELETED", item(11)), Event("BOOKMARK", item(12))],
    )
    first, second, *rest = steps(cluster)
    assert isinstance(first, Listed) and (first.is_first, first.is_last) == (True, False)
    assert isinstance(second, Listed) and (second.is_first, second.is_last) == (False, True)
    assert [type(step) for step in rest] == [Changed, Deleted, Bookmark]
    assert cluster.asked == ["list", "watch 9"]


def test_a_broken_watch_goes_on_from_the_last_version_seen() -> None:
    cluster = Scripted(
        [Page([], "9", "")],
        [Event("ADDED", item(10)), errors.Cut("cut")],
        [Event("ADDED", item(11))],
    )
    found = steps(cluster, pauses=2)
    assert cluster.asked[:3] == ["list", "watch 9", "watch 10"]
    assert [type(step) for step in found] == [Listed, Changed, Broken, Changed]


def test_a_version_that_is_gone_leads_to_a_new_list_at_once() -> None:
    cluster = Scripted(
        [Page([], "9", "")],
        [errors.Gone("too old")],
        [Page([], "20", "")],
        [Event("ADDED", item(21))],
    )
    found = steps(cluster, pauses=2)
    assert cluster.asked == ["list", "watch 9", "list", "watch 20"]
    broken = next(step for step in found if isinstance(step, Broken))
    assert broken.pause == 0.0


def test_a_list_that_breaks_half_way_begins_anew() -> None:
    cluster = Scripted(
        [Page([item(1)], "9", "more"), errors.Gone("continue token too old")],
        [Page([item(2)], "10", "")],
        [],
    )
    found = [step for step in steps(cluster, pauses=2) if isinstance(step, Listed)]
    assert [(page.is_first, page.is_last) for page in found] == [(True, False), (True, True)]


def test_a_server_that_lost_its_state_is_listed_anew() -> None:
    ahead = errors.ServerFault(
        "too large resource version", causes=(errors.Cause("", "ResourceVersionTooLarge", ""),)
    )
    cluster = Scripted([Page([], "900", "")], [ahead], [Page([], "3", "")], [])
    steps(cluster, pauses=2)
    assert cluster.asked == ["list", "watch 900", "list", "watch 3"]


def test_pauses_grow_and_mind_what_the_server_asks() -> None:
    away = errors.Unreachable("away")
    busy = errors.Busy("busy", retry_after=120.0)
    cluster = Scripted([away], [away], [away], [busy], *[[away] for _ in range(20)])
    steps(cluster, pauses=12)
    waits = cluster.waits  # type: ignore[attr-defined]
    assert waits[:3] == [0.5, 1.0, 2.0] and waits[3] == 120.0
    assert max(waits[4:]) == watch.LONGEST_PAUSE


def test_success_makes_the_pauses_short_again() -> None:
    away = errors.Unreachable("away")
    cluster = Scripted(
        [away], [away], [Page([], "9", "")], [Event("BOOKMARK", item(9)), away], [away]
    )
    steps(cluster, pauses=3)
    assert cluster.waits == [0.5, 1.0, 0.5]  # type: ignore[attr-defined]


def test_a_revoked_token_is_tried_again_for_it_may_be_replaced() -> None:
    cluster = Scripted([errors.Unauthorized("no")], [Page([], "9", "")], [Event("ADDED", item(10))])
    found = steps(cluster, pauses=2)
    assert [type(step) for step in found] == [Broken, Listed, Changed]


def test_it_stops_when_told_even_in_the_middle_of_a_list() -> None:
    cluster = Scripted([Page([item(1)], "9", "more"), Page([item(2)], "9", "")])
    assert len(steps(cluster, until=lambda step: True)) == 1
