"""A whole fleet: 10,000 nodes, 80,000 devices, 20,000 claims. Prints one figure a line.

Times are processor time: there is one thread, and it waits for nothing.
"""

import itertools
import json
import time
from pathlib import Path
from typing import Any

from bench.figures import percentile
from bench.placement.clusters import ATTRIBUTES, Raw, claim, held, objects, whole_cards
from bench.placement.sequences import wanted
from domain.placement import Fleet, Upsert, apply, explain, fitting, place, warm
from domain.placement.undisturbed import undisturbed

NODES = 10_000
CLAIMS = 20_000


def case() -> Raw:
    """Half of the nodes are full, with four claims of two cards each."""
    found = whole_cards(NODES, 0.0)
    found["allocated_claims"] = [
        held(f"held-{node}-{pair}", f"node-{node:05d}", [f"gpu-{2 * pair}", f"gpu-{2 * pair + 1}"])
        for node in range(CLAIMS // 4)
        for pair in range(4)
    ]
    return found


def _say(name: str, unit: str, samples: list[float], value: float | None = None) -> None:
    found = {"name": f"placement.{name}", "unit": unit, "samples": samples, "value": value}
    print(json.dumps(found), flush=True)


def _main() -> None:
    everything = objects(case())
    before = _resident_mib()
    start = time.process_time()
    with undisturbed():  # as the placement worker does
        fleet = Fleet.build(everything)
        warm(fleet)
    _say("snapshot.build", "s", [time.process_time() - start])
    # The objects themselves belong to the snapshot: it keeps what selectors read of them.
    _say("snapshot.memory", "MB", [_resident_mib() - before + _size_mib(everything)])
    _explain(fleet)
    _refresh(fleet, everything)
    _shadow(fleet)


def _explain(fleet: Fleet) -> None:
    for name, known in (("known", True), ("new", False)):
        samples = []
        for i in range(24):
            mark = f'{ATTRIBUTES}.brand != "k{i % 4}"' if known else f'"n{i}" != "{i}"'
            asked = claim("asked", f'{ATTRIBUTES}.architecture == "Hopper" && {mark}', count=2)
            if known:
                explain(fleet, asked)
            start = time.process_time()
            explain(fleet, asked)
            samples.append((time.process_time() - start) * 1000)
        _say(f"explain.{name}", "ms", samples, percentile(samples, 0.95))


def _refresh(fleet: Fleet, everything: list[Raw]) -> None:
    """From a changed slice to the next answer."""
    slices = [one for one in everything if one["kind"] == "ResourceSlice"]
    asked, samples = [claim("asked", count=4)], []
    fitting(place(fleet, asked, mode="first"))
    for i in range(20):
        changed: dict[str, Any] = json.loads(json.dumps(slices[i * 7]))
        changed["spec"]["devices"].pop()
        start = time.process_time()
        fleet = apply(fleet, Upsert(changed))
        place(fleet, asked, mode="first")
        samples.append((time.process_time() - start) * 1000)
    _say("refresh", "ms", samples)


def _shadow(fleet: Fleet) -> None:
    """Every claim placed, and a funnel for each kind of request that found no room."""
    claims = wanted(CLAIMS)
    start = time.process_time()
    found = place(fleet, [[one] for one in claims], mode="sequence")
    missed: dict[str, Raw] = {}
    for one, decision in zip(claims, found, strict=True):
        if not decision.fits:
            missed.setdefault(json.dumps(one["spec"]), one)
    for one in itertools.islice(missed.values(), 50):
        explain(fleet, one)
    _say("shadow", "s", [time.process_time() - start])


def _resident_mib() -> float:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _size_mib(everything: list[Raw]) -> float:
    """The part of the decoded objects that the snapshot keeps alive: attributes and capacity."""
    start = _resident_mib()
    copy = json.loads(
        json.dumps(
            [
                (device["attributes"], device["capacity"])
                for one in everything
                if one["kind"] == "ResourceSlice"
                for device in one["spec"]["devices"]
            ]
        )
    )
    grown = _resident_mib() - start
    del copy
    return max(0.0, grown)


if __name__ == "__main__":
    _main()
