"""One request over all nodes, or up to the first that fits: selector known, and never seen."""

import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence

from bench.figures import Figure, measures
from bench.placement import upstream
from bench.placement.clusters import ATTRIBUTES, CAPACITY, PCIE_ROOT, Raw, claim, whole_cards
from bench.placement.scene import Scene

SIZES = (100, 1000, 5000)
FILLS = (0.0, 0.9)
VARIANTS = 4
ROUNDS = 5
NEVER_SEEN = 2
"""Times that each request is asked with selectors that nobody has asked before."""

PRODUCTS = ("NVIDIA A100", "NVIDIA H100", "NVIDIA L4", "Tesla T4")
MEMORIES = ("40Gi", "64Gi", "20Gi", "12Gi")
_marks = itertools.count()


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


@measures(
    "placement.all.warm",
    "placement.all.new",
    "placement.all.warm.median",
    "placement.all.new.median",
)
def all_nodes() -> Iterator[Figure]:
    yield from _mode("all")


@measures("placement.first.warm", "placement.first.new")
def first_node() -> Iterator[Figure]:
    yield from _mode("first")


def _mode(mode: str) -> Iterator[Figure]:
    """Every cell, and the medians of the cells."""
    ratios: dict[str, list[float]] = {}
    for size, full in itertools.product(SIZES, FILLS):
        for figure in _cluster(mode, whole_cards(size, full)):
            ratio = statistics.median(figure.baseline) / statistics.median(figure.samples)
            ratios.setdefault(figure.name, []).append(ratio)
            yield figure
    for name, found in ratios.items():
        yield Figure(f"{name}.median", "times as fast", found, cell=f"{len(found)} cells")


def _cluster(mode: str, case: Raw) -> Iterator[Figure]:
    """Upstream is asked once where it takes seconds; `n` of each side stands in the figure."""
    large = len(case["nodes"]) > 1000
    every = [one for some in kinds().values() for one in some]
    known = upstream.times(
        case, every, mode, repeat=1 if large else 3, warm_nodes=50 if large else 0
    )
    unseen = upstream.times(case, every, mode, cold=True)
    scene = Scene(case)
    for kind, some in kinds().items():
        theirs = [known[one["metadata"]["name"]] for one in some]
        samples = list(_warm(scene, mode, some, theirs))
        yield _figure(f"placement.{mode}.warm", f"{kind}, {case['id']}", samples, theirs)
        cold = [unseen[one["metadata"]["name"]] for one in some]
        samples = list(_new(scene, mode, kind, cold))
        yield _figure(f"placement.{mode}.new", f"{kind}, {case['id']}", samples, cold)


def _figure(name: str, cell: str, samples: list[float], theirs: Sequence[upstream.Timed]) -> Figure:
    notes = {"upstream_n": sum(one.runs for one in theirs)}
    return Figure(name, "ms", samples, [one.milliseconds for one in theirs], cell=cell, notes=notes)


def _warm(
    scene: Scene, mode: str, some: Sequence[Raw], theirs: Sequence[upstream.Timed]
) -> Iterator[float]:
    for one, timed in zip(some, theirs, strict=True):
        scene.timed(mode, one, timed)  # the selector is known from here on
        for _ in range(ROUNDS):
            yield scene.timed(mode, one, timed)


def _new(scene: Scene, mode: str, kind: str, theirs: Sequence[upstream.Timed]) -> Iterator[float]:
    for _ in range(NEVER_SEEN):
        mark = f"n{next(_marks)}"
        for one, timed in zip(kinds(mark)[kind], theirs, strict=True):
            yield scene.timed(mode, one, timed)
