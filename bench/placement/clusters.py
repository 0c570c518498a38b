"""Clusters as the NVIDIA driver publishes them: 8 cards a node, several models, seeded."""

import random
from typing import Any

Raw = dict[str, Any]
DRIVER = "gpu.nvidia.com"
ATTRIBUTES = f'device.attributes["{DRIVER}"]'
CAPACITY = f'device.capacity["{DRIVER}"]'
PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
VERSION = "resource.k8s.io/v1"

# Product, memory, architecture, compute capability, share of the nodes.
MODELS = (
    ("NVIDIA H100 80GB HBM3", "81559Mi", "Hopper", "9.0.0", 4),
    ("NVIDIA A100-SXM4-40GB", "40Gi", "Ampere", "8.0.0", 3),
    ("NVIDIA L4", "23034Mi", "Ada Lovelace", "8.9.0", 2),
    ("Tesla T4", "15360Mi", "Turing", "7.5.0", 1),
)
CARDS = 8


def node(name: str) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
    }


def card(rng: random.Random, index: int, model: tuple[Any, ...], per_root: int, driver: str) -> Raw:
    product, memory, architecture, capability, _ = model
    return {
        "name": f"gpu-{index}",
        "attributes": {
            "type": {"string": "gpu"},
            "uuid": {"string": f"GPU-{rng.getrandbits(64):016x}"},
            "index": {"int": index},
            "minor": {"int": index},
            "productName": {"string": product},
            "brand": {"string": "Nvidia"},
            "architecture": {"string": architecture},
            "cudaComputeCapability": {"version": capability},
            "driverVersion": {"version": driver},
            "cudaDriverVersion": {"version": "13.0.0"},
            PCIE_ROOT: {"string": f"pci0000:{index // per_root:02x}"},
            "resource.kubernetes.io/pciBusID": {"string": f"0000:{16 * index + 1:02x}:00.0"},
        },
        "capacity": {"memory": {"value": memory}},
    }


def slice_of(name: str, devices: list[Raw], generation: int = 1) -> Raw:
    return {
        "apiVersion": VERSION,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{name}-gpu"},
        "spec": {
            "driver": DRIVER,
            "nodeName": name,
            "pool": {"name": name, "generation": generation, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


def held(name: str, pool: str, devices: list[str]) -> Raw:
    results = [
        {"request": "gpu", "driver": DRIVER, "pool": pool, "device": device} for device in devices
    ]
    return {
        "apiVersion": VERSION,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "held", "uid": name},
        "spec": {
            "devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": DRIVER}}]}
        },
        "status": {"allocation": {"devices": {"results": results}}},
    }


def whole_cards(nodes: int, full: float, seed: int = 1) -> Raw:
    """A case as the Go program reads it; the first `full` of the nodes are taken entirely."""
    rng = random.Random(seed)
    found: Raw = {"nodes": [], "slices": [], "allocated_claims": []}
    for number in range(nodes):
        name = f"node-{number:05d}"
        model = rng.choices(MODELS, [one[4] for one in MODELS])[0]
        per_root = rng.choices((4, 2, 1), (5, 4, 1))[0]
        driver = rng.choice(("580.65.6", "570.86.15"))
        cards = [card(rng, i, model, per_root, driver) for i in range(CARDS)]
        found["nodes"].append(node(name))
        found["slices"].append(slice_of(name, cards))
        if number < full * nodes:
            taken = [f"gpu-{i}" for i in range(CARDS)]
            found["allocated_claims"].append(held(f"held-{number}", name, taken))
    selector = f'device.driver == "{DRIVER}" && {ATTRIBUTES}.type == "gpu"'
    found["classes"] = [device_class(DRIVER, selector)]
    return found | {"id": f"{nodes} nodes, {full:.0%} full", "features": "1.37"}


def device_class(name: str, selector: str) -> Raw:
    return {
        "apiVersion": VERSION,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": selector}}]},
    }


def claim(
    name: str,
    *selectors: str,
    count: int = 1,
    constraint: Raw | None = None,
    device_class: str = DRIVER,
    **more: Any,
) -> Raw:
    exactly: Raw = {
        "deviceClassName": device_class,
        "allocationMode": "ExactCount",
        "count": count,
        **more,
    }
    if selectors:
        exactly["selectors"] = [{"cel": {"expression": one}} for one in selectors]
    devices: Raw = {"requests": [{"name": "gpu", "exactly": exactly}]}
    if constraint:
        devices["constraints"] = [{"requests": ["gpu"], **constraint}]
    return {
        "apiVersion": VERSION,
        "kind": "ResourceClaim",
        "metadata": {"namespace": "default", "name": name, "uid": f"uid-{name}"},
        "spec": {"devices": devices},
    }


def objects(case: Raw) -> list[Raw]:
    """Everything the cluster holds, as the engine reads it."""
    return [*case["nodes"], *case["slices"], *case["classes"], *case["allocated_claims"]]
