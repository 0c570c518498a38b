"""A cluster that goes on changing, asked again and again; each timed answer is compared.

Times are processor time, on both sides: one core each, whatever else the machine does.
"""

import itertools
import time
from collections.abc import Callable
from typing import NamedTuple

from bench.placement.clusters import Raw, held, objects
from bench.placement.upstream import Timed
from domain.placement import Delete, Fleet, Upsert, apply, fitting, place, warm
from domain.placement.undisturbed import undisturbed

# A device that no case has in use, by how the case's name begins.
DEVICE_OF = {"MIG": "gpu-7-1g-10gb-6"}


class Answer(NamedTuple):
    """How many nodes fit, and the first of them."""

    fitting: int
    first: str


class Scene:
    """Between two timings an allocation comes, another goes and a slice is published anew."""

    def __init__(self, case: Raw) -> None:
        self.case = case
        with undisturbed():  # as the placement worker does
            self.fleet = Fleet.build(objects(case))
            warm(self.fleet)
        self.before = self.fleet
        self.touched = ""
        self.made: Raw | None = None
        self.published: Raw = {}
        self._counter = itertools.count()
        self._last: Delete | None = None

    def change(self) -> None:
        number = next(self._counter)
        nodes, slices = self.case["nodes"], self.case["slices"]
        self.touched = nodes[-1 - number % max(1, len(nodes) // 20)]["metadata"]["name"]
        if self._last is not None:
            self.fleet = apply(self.fleet, self._last)
        device = DEVICE_OF.get(self.case["id"][:3], "gpu-7")
        self.made = held(f"bench-{number}", self.touched, [device])
        self.published = slices[-1 - number % len(slices)]
        self.fleet = apply(self.fleet, Upsert(self.made))
        self._last = Delete("ResourceClaim", "held", f"bench-{number}")
        self.fleet = apply(self.fleet, Upsert(self.published))
        warm(self.fleet)  # as the placement worker does between questions

    def timed(self, mode: str, asked: Raw, upstream: Timed) -> float:
        """Milliseconds of one question after a change. Stops the run when the answer is wrong."""
        self.change()
        took, answer = ASK[mode](self.fleet, asked)
        wanted = self._wanted(mode, asked, upstream)
        if answer != wanted:
            raise SystemExit(f"answers differ, mode {mode}, {self.case['id']}: {wanted}, {answer}")
        return took

    def _wanted(self, mode: str, asked: Raw, upstream: Timed) -> Answer:
        """Upstream's answer for the cluster before, with the one node that has changed since.

        That node is asked by the plain search, before and now; so are all in the rare case that it
        was the first.
        """
        here = self.touched
        had, has = self._plainly(self.before, asked), self._plainly(self.fleet, asked)
        first = upstream.first
        if first == here and not has:
            found = place(self.fleet, [asked], mode="first", plain=True)[-1]
            first = found.node if found.fits else ""
        elif has and (not first or here < first):
            first = here
        if mode == "first":
            return Answer(int(bool(first)), first)
        return Answer(upstream.fitting - had + has, first)

    def _plainly(self, fleet: Fleet, asked: Raw) -> bool:
        return place(fleet, [asked], [self.touched], "first", plain=True)[0].fits


def ask_all(fleet: Fleet, asked: Raw) -> tuple[float, Answer]:
    """Milliseconds to decide every node and name those that fit."""
    start = time.process_time()
    found = fitting(place(fleet, [asked], mode="all"))
    took = (time.process_time() - start) * 1000
    return took, Answer(len(found), found[0] if found else "")


def ask_first(fleet: Fleet, asked: Raw) -> tuple[float, Answer]:
    """Milliseconds to the first node that fits, its allocation written out."""
    start = time.process_time()
    last = place(fleet, [asked], mode="first")[-1]
    took = (time.process_time() - start) * 1000
    return took, Answer(int(last.fits), last.node if last.fits else "")


ASK: dict[str, Callable[[Fleet, Raw], tuple[float, Answer]]] = {
    "all": ask_all,
    "first": ask_first,
}
