"""What more than counting is needed for, and selectors that no content can answer."""

import itertools
import random
from collections.abc import Iterator
from typing import Any

from bench.figures import Figure, measures
from bench.placement import upstream
from bench.placement.clusters import (
    ATTRIBUTES,
    DRIVER,
    PCIE_ROOT,
    VERSION,
    Raw,
    claim,
    device_class,
    held,
    node,
    whole_cards,
)
from bench.placement.scene import Scene

NODES = 1000
ROUNDS = 5
SLICES_OF_A_MIG_NODE = 3
PROFILES = (("1g.10gb", 1, 7), ("2g.20gb", 2, 3), ("3g.40gb", 4, 2), ("7g.80gb", 8, 1))


def partitioned(nodes: int) -> Raw:
    """A100s in MIG mode: every partition that could be made, and counters that say which can."""
    found: Raw = {"nodes": [], "slices": [], "allocated_claims": []}
    for number in range(nodes):
        name = f"node-{number:05d}"
        found["nodes"].append(node(name))
        cards = range(8)
        counters = [
            {
                "name": f"gpu-{i}",
                "counters": {f"memory-slice-{k}": {"value": "1"} for k in range(8)},
            }
            for i in cards
        ]
        found["slices"].append(_slice(name, "counters", {"sharedCounters": counters}))
        for half, part in (("low", cards[:4]), ("high", cards[4:])):
            devices = [one for card in part for one in _partitions(card)]
            found["slices"].append(_slice(name, half, {"devices": devices}))
        if number % 3:
            taken = [f"gpu-{i}-1g-10gb-0" for i in range(number % 8)]
            if taken:
                found["allocated_claims"].append(held(f"held-{number}", name, taken))
    selector = f'device.driver == "{DRIVER}" && {ATTRIBUTES}.type == "mig"'
    found["classes"] = [device_class(DRIVER, selector)]
    return found | {"id": f"MIG, {nodes} nodes", "features": "1.37"}


def _partitions(card: int) -> Iterator[Raw]:
    for profile, width, places in PROFILES:
        for place in range(places):
            start = place * width
            used = {f"memory-slice-{k}": {"value": "1"} for k in range(start, start + width)}
            yield {
                "name": f"gpu-{card}-{profile.replace('.', '-')}-{place}",
                "attributes": {
                    "type": {"string": "mig"},
                    "profile": {"string": profile},
                    "parentIndex": {"int": card},
                },
                "capacity": {"memory": {"value": f"{width * 10}Gi"}},
                "consumesCounters": [{"counterSet": f"gpu-{card}", "counters": used}],
            }


def _slice(name: str, part: str, content: Raw) -> Raw:
    pool = {"name": name, "generation": 1, "resourceSliceCount": SLICES_OF_A_MIG_NODE}
    return {
        "apiVersion": VERSION,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{name}-{part}"},
        "spec": {"driver": DRIVER, "nodeName": name, "pool": pool, **content},
    }


def shared(nodes: int) -> Raw:
    """Cards that several claims share by memory, a tenth of them in part used."""
    found = whole_cards(nodes, 0.0)
    rng = random.Random(3)
    for one in found["slices"]:
        for device in one["spec"]["devices"]:
            device["allowMultipleAllocations"] = True
            policy = {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}}
            device["capacity"]["memory"] |= {"value": "80Gi", "requestPolicy": policy}
        if rng.random() < 0.1:
            found["allocated_claims"].append(_share(one["spec"]["pool"]["name"], rng))
    return found | {"id": f"shares, {nodes} nodes"}


def _share(pool: str, rng: random.Random) -> Raw:
    made = held(f"share-{pool}", pool, ["gpu-0"])
    result = made["status"]["allocation"]["devices"]["results"][0]
    result["shareID"] = f"00000000-0000-4000-8000-{rng.getrandbits(48):012x}"
    result["consumedCapacity"] = {"memory": rng.choice(["10Gi", "40Gi", "70Gi"])}
    return made


def tainted(nodes: int) -> Raw:
    found = whole_cards(nodes, 0.5)
    for number, one in enumerate(found["slices"]):
        if number % 10 == 0:
            for device in one["spec"]["devices"]:
                device["taints"] = [{"key": "example.com/sick", "effect": "NoSchedule"}]
    return found | {"id": f"taints, {nodes} nodes"}


def alternatives(name: str, variant: int) -> Raw:
    made = claim(name)
    wanted = [
        {"name": "large", "deviceClassName": DRIVER, "count": 8 - variant},
        {"name": "small", "deviceClassName": DRIVER, "count": 2},
    ]
    for one, product in zip(wanted, ("NVIDIA H100", "NVIDIA L4"), strict=True):
        expression = f'{ATTRIBUTES}.productName.startsWith("{product}")'
        one["selectors"] = [{"cel": {"expression": expression}}]
        one["allocationMode"] = "ExactCount"
    made["spec"]["devices"]["requests"] = [{"name": "gpu", "firstAvailable": wanted}]
    return made


def cells() -> Iterator[tuple[str, Raw, list[Raw]]]:
    mig = [
        claim(f"mig-{profile}-{count}", f'{ATTRIBUTES}.profile == "{profile}"', count=count)
        for (profile, _, _), count in itertools.product(PROFILES, (1, 2))
    ]
    yield "MIG counters", partitioned(NODES // 2), mig
    asked = [
        claim(f"share-{i}", capacity={"requests": {"memory": f"{5 + 15 * i}Gi"}}) for i in range(5)
    ]
    yield "consumable capacity", shared(NODES), asked
    whole = whole_cards(NODES, 0.5)
    yield "first available", whole, [alternatives(f"first-{i}", i) for i in range(4)]
    distinct = {"distinctAttribute": PCIE_ROOT}
    asked = [claim(f"distinct-{n}", count=n, constraint=distinct) for n in (2, 3, 4, 8)]
    yield "distinct", whole, asked
    tolerations: list[Any] = [{"key": "example.com/sick", "operator": "Exists"}]
    asked = [claim(f"taint-{n}", count=n) for n in (1, 4)]
    asked += [claim(f"tolerates-{n}", count=n, tolerations=tolerations) for n in (1, 4)]
    yield "taints", tainted(NODES), asked


@measures("placement.features")
def features() -> Iterator[Figure]:
    for name, case, asked in cells():
        yield from _cell("placement.features", name, case, asked)


@measures("placement.hard")
def hard() -> Iterator[Figure]:
    case = whole_cards(NODES, 0.5)
    uuids = [
        one["spec"]["devices"][3]["attributes"]["uuid"]["string"] for one in case["slices"][-7:]
    ]
    kinds = {
        "uuid": [f'{ATTRIBUTES}.uuid == "{uuid}"' for uuid in uuids],
        "every attribute": [
            f'{ATTRIBUTES}.exists(name, name == "productName") && {i} < 9' for i in range(7)
        ],
        "bind": [
            f'cel.bind(a, {ATTRIBUTES}, a.productName == "Tesla T4" && a.index < {9 + i})'
            for i in range(7)
        ],
    }
    for name, texts in kinds.items():
        asked = [claim(f"{name.replace(' ', '-')}-{i}", text) for i, text in enumerate(texts)]
        yield from _cell("placement.hard", name, case, asked)


def _cell(figure: str, name: str, case: Raw, asked: list[Raw]) -> Iterator[Figure]:
    theirs = upstream.times(case, asked, "all")
    scene = Scene(case)
    samples = []
    for one in asked:
        timed = theirs[one["metadata"]["name"]]
        scene.timed("all", one, timed)  # the selector is known from here on
        samples += [scene.timed("all", one, timed) for _ in range(ROUNDS)]
    base = [theirs[one["metadata"]["name"]].milliseconds for one in asked]
    yield Figure(figure, "ms", samples, base, cell=f"{name}, {case['id']}")
