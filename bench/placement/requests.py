"""One request over all nodes, or up to the first that fits: selector known, and never seen."""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bench.figures import Figure, measures
from bench.placement import upstream
from bench.placement.clusters import (
    ATTRIBUTES,
    CAPACITY,
    PCIE_ROOT,
    Raw,
    claim,
    held,
    objects,
    whole_cards,
)
from domain.placement import Delete, Fleet, Upsert, apply, fitting, place, warm

SIZES = (100, 1000, 5000)
FILLS = (0.0, 0.9)
VARIANTS = 4
ROUNDS = 5

PRODUCTS = ("NVIDIA A100", "NVIDIA H100", "NVIDIA L4", "Tesla T4")
MEMORIES = ("40Gi", "64Gi", "20Gi", "12Gi")


def kinds(mark: str = "") -> dict[str, list[Raw]]:
    """24 distinct requests in six kinds. `mark` makes every selector one never seen before."""
    seen = f' && {ATTRIBUTES}.brand != "{mark}"' if mark else ""
    root = {"matchAttribute": PCIE_ROOT}

    def by(kind: str, make: Callable[[int, str], Raw]) -> list[Raw]:
        return [make(i, f"{kind}-{i}{mark}") for i in range(VARIANTS)]

    def model(i: int) -> str:
        return (
            f'{ATTRIBUTES}.productName.startsWith("{PRODUCTS[i]}") && '
            f'{CAPACITY}.memory.compareTo(quantity("{MEMORIES[i]}")) >= 0{seen}'
        )

    def none(i: int) -> str:
        return f'{ATTRIBUTES}.productName == "NVIDIA H9{i}0"{seen}'

    def brand(i: int) -> list[str]:
        return [f"{ATTRIBUTES}.index < {8 + i}{seen}"]

    return {
        "one": by("one", lambda i, name: claim(name, *brand(i))),
        "cel": by("cel", lambda i, name: claim(name, model(i))),
        "match4": by("match4", lambda i, name: claim(name, *brand(i), count=4, constraint=root)),
        "no-device": by("no-device", lambda i, name: claim(name, none(i))),
        "too-many": by("too-many", lambda i, name: claim(name, *brand(i), count=9)),
        "no-group": by(
            "no-group", lambda i, name: claim(name, *brand(i), count=5, constraint=root)
        ),
    }


# A device that no case has in use, by how the case's name begins.
DEVICE_OF = {"MIG": "gpu-7-1g-10gb-6"}


class Scene:
    """A cluster that goes on changing: between two timings an allocation comes, another goes and a
    slice is published anew."""

    def __init__(self, case: Raw) -> None:
        self.case = case
        self.fleet = Fleet.build(objects(case))
        self._counter = itertools.count()
        self._last: Delete | None = None
        self.settle()

    def settle(self) -> None:
        """What the placement worker does between questions: be ready for the next one."""
        warm(self.fleet)

    def change(self) -> None:
        number = next(self._counter)
        nodes, slices = self.case["nodes"], self.case["slices"]
        name = nodes[-1 - number % max(1, len(nodes) // 20)]["metadata"]["name"]
        if self._last is not None:
            self.fleet = apply(self.fleet, self._last)
        made = held(f"bench-{number}", name, [DEVICE_OF.get(self.case["id"][:3], "gpu-7")])
        self.fleet = apply(self.fleet, Upsert(made))
        self._last = Delete("ResourceClaim", "held", f"bench-{number}")
        self.fleet = apply(self.fleet, Upsert(slices[-1 - number % len(slices)]))
        self.settle()

    def restore(self) -> None:
        if self._last is not None:
            self.fleet = apply(self.fleet, self._last)
            self._last = None
            self.settle()


def ask_all(scene: Scene, asked: Raw) -> tuple[float, int, str]:
    """Milliseconds to decide every node and name those that fit; how many, and the first."""
    start = time.perf_counter()
    found = fitting(place(scene.fleet, [asked], mode="all"))
    took = (time.perf_counter() - start) * 1000
    return took, len(found), found[0] if found else ""


def ask_first(scene: Scene, asked: Raw) -> tuple[float, int, str]:
    """Milliseconds to the first node that fits, its allocation written out."""
    start = time.perf_counter()
    last = place(scene.fleet, [asked], mode="first")[-1]
    took = (time.perf_counter() - start) * 1000
    return took, int(last.fits), last.node if last.fits else ""


ASK = {"all": ask_all, "first": ask_first}


@measures("placement.all.warm", "placement.all.new", "placement.first.warm", "placement.first.new")
def over_nodes() -> Iterator[Figure]:
    fresh = itertools.count()
    for size, full in itertools.product(SIZES, FILLS):
        case = whole_cards(size, full)
        by_kind = kinds()
        every = [one for some in by_kind.values() for one in some]
        theirs = upstream.times(case, every, repeat=3 if size < 5000 else 1)
        unseen = upstream.times(case, every, cold=True)
        scene = Scene(case)
        for mode in ("all", "first"):
            for kind, some in by_kind.items():
                base = [theirs[one["metadata"]["name"], mode].milliseconds for one in some]
                cell = f"{kind}, {case['id']}"
                warm = _warm(scene, mode, some, theirs)
                yield Figure(f"placement.{mode}.warm", "ms", warm, base, cell=cell)
                new = _new(scene, mode, kind, fresh, theirs)
                base = [unseen[one["metadata"]["name"], mode].milliseconds for one in some]
                yield Figure(f"placement.{mode}.new", "ms", new, base, cell=cell)


def _warm(
    scene: Scene, mode: str, some: Sequence[Raw], theirs: dict[tuple[str, str], Any]
) -> list[float]:
    found = []
    for one in some:
        ASK[mode](scene, one)  # the selector is known from here on
        compare(ASK[mode](scene, one), theirs[one["metadata"]["name"], mode], mode)
        for _ in range(ROUNDS):
            scene.change()
            found.append(ASK[mode](scene, one)[0])
        scene.restore()
    return found


def _new(
    scene: Scene,
    mode: str,
    kind: str,
    fresh: Iterator[int],
    theirs: dict[tuple[str, str], Any],
) -> list[float]:
    found = []
    for _ in range(2):
        mark = f"n{next(fresh)}"
        for i, one in enumerate(kinds(mark)[kind]):
            answer = ASK[mode](scene, one)
            compare(answer, theirs[f"{kind}-{i}", mode], mode)
            found.append(answer[0])
    return found


def compare(answer: tuple[float, int, str], timed: upstream.Timed, mode: str) -> None:
    """Stops the run when the answers differ: a wrong answer has no speed."""
    _, count, first = answer
    if (count, first) != (timed.fitting, timed.first):
        raise SystemExit(
            f"answers differ, mode {mode}: {timed.fitting} nodes, first {timed.first!r}; "
            f"here {count}, {first!r}"
        )
