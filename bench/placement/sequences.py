"""Claims one after the other, each keeping what it got; and one process's memory and refresh."""

import json
import os
import resource
import subprocess
import time
from collections.abc import Iterator
from typing import Any

from bench.figures import Figure, measures
from bench.placement.clusters import ATTRIBUTES, PCIE_ROOT, Raw, claim, objects, whole_cards
from domain.placement import Fleet, place, warm
from embedded import gobuild
from tests.oracle.oracle import SOURCE, features_of, in_go

NODES = 5000
CLAIMS = 5000
COMPARED = 300
"""Upstream needs minutes for all of them; the first are its quickest, since nodes are empty."""


def wanted(count: int) -> list[Raw]:
    root = {"matchAttribute": PCIE_ROOT}
    a100 = f'{ATTRIBUTES}.productName.startsWith("NVIDIA A100")'
    makes = (
        lambda name: claim(name),
        lambda name: claim(name, a100),
        lambda name: claim(name, count=4, constraint=root),
        lambda name: claim(name, count=8),
    )
    return [makes[i % len(makes)](f"claim-{i}") for i in range(count)]


@measures("placement.sequence")
def one_after_the_other() -> Iterator[Figure]:
    case = whole_cards(NODES, 0.0)
    some = wanted(COMPARED)
    theirs, placed = _upstream(case, some)
    fleet = Fleet.build(objects(case))
    warm(fleet)
    took, answers = _ours(fleet, some)
    if answers != placed:
        raise SystemExit("answers differ: the sequence went elsewhere")
    cell = f"{COMPARED} claims, {NODES} nodes"
    yield Figure("placement.sequence", "ms", [took], [theirs], cell=cell)
    took, answers = _ours(fleet, wanted(CLAIMS))
    notes = {"placed": sum(bool(node) for node in answers)}
    cell = f"{CLAIMS} claims, {NODES} nodes, upstream not run"
    yield Figure("placement.sequence", "ms", [took], cell=cell, notes=notes)


def _ours(fleet: Fleet, claims: list[Raw]) -> tuple[float, list[str]]:
    start = time.process_time()
    found = place(fleet, [[one] for one in claims], mode="sequence")
    took = (time.process_time() - start) * 1000
    return took, [one.node if one.fits else "" for one in found]


def _upstream(case: Raw, claims: list[Raw]) -> tuple[float, list[str]]:
    """The program with the claims, less the program with none: what reading the case takes."""
    reading = min(_run(case, [])[0] for _ in range(2))
    took, answer = _run(case, claims)
    placed = [
        one["node"] if one["outcome"] == "allocated" else "" for one in answer.get("results") or []
    ]
    return took - reading, placed


def _run(case: Raw, claims: list[Raw]) -> tuple[float, dict[str, Any]]:
    asked = {key: value for key, value in case.items() if key != "features"}
    asked |= {"claims": claims, "features": in_go(features_of(case)), "mode": "sequence"}
    text = json.dumps(asked).encode() + b"\n"
    start = _children()
    done = subprocess.run(
        [gobuild.binary(SOURCE)],
        input=text,
        stdout=subprocess.PIPE,
        env={**os.environ, "GOMAXPROCS": "1"},
        check=True,
    )
    return (_children() - start) * 1000, json.loads(done.stdout)


def _children() -> float:
    """Seconds of processor time of all processes that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
