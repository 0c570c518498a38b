"""Small fleets to count: devices, slices, nodes as drivers and plugins really publish them."""

from __future__ import annotations

from collections.abc import Mapping

from domain.devices import (
    ClaimUse,
    CounterSet,
    CounterUse,
    Device,
    Node,
    PodUse,
    Result,
    Slice,
)

NVIDIA = "gpu.nvidia.com"
# Profile, GI profile id, placements "start:size" in memory slices, multiprocessors: H100 80GB.
H100_PROFILES = (
    ("1g.10gb", 19, range(7), 1, 16),
    ("1g.10gb+me", 20, range(7), 1, 16),
    ("1g.20gb", 15, range(0, 8, 2), 2, 26),
    ("2g.20gb", 14, range(0, 6, 2), 2, 32),
    ("3g.40gb", 9, range(0, 8, 4), 4, 60),
    ("4g.40gb", 5, range(1), 4, 64),
    ("7g.80gb", 0, range(1), 8, 132),
)


def gpu(number: int = 0, **changes: object) -> Device:
    values: dict[str, object] = {
        "name": f"gpu-{number}",
        "type": "gpu",
        "uuid": f"GPU-{number}",
        "product": "NVIDIA H100 80GB HBM3",
        "pci_bus_id": f"0000:{number:02x}:00.0",
        "memory_mib": 81559,
    }
    return Device(**values | changes)  # type: ignore[arg-type]


def mig(card: int, profile: str, start: int, **changes: object) -> Device:
    """A static MIG device of card `card`."""
    values: dict[str, object] = {
        "name": f"gpu-{card}-mig-{profile.replace('.', '')}-19-{start}",
        "type": "mig",
        "uuid": f"MIG-{card}-{profile}-{start}",
        "parent": f"GPU-{card}",
        "profile": profile,
        "product": "NVIDIA A100 80GB PCIe",
        "pci_bus_id": f"0000:{card:02x}:00.0",
    }
    return Device(**values | changes)  # type: ignore[arg-type]


def cuttable(card: int = 0) -> tuple[CounterSet, tuple[Device, ...]]:
    """An H100 under dynamic MIG: its counter set, the whole card and its 25 placements."""
    name = f"gpu-{card}-counter-set"
    slices = tuple((f"memory-slice-{number}", 1) for number in range(8))
    whole = (("multiprocessors", 132), *slices)
    devices = [gpu(card, consumes=(CounterUse(name, whole),))]
    for profile, number, starts, size, processors in H100_PROFILES:
        short = profile.replace(".", "").replace("+", "-")
        for start in starts:
            taken = slices[start : start + size]
            uses = (("multiprocessors", processors), *taken)
            devices.append(
                Device(
                    name=f"gpu-{card}-mig-{short}-{number}-{start}",
                    type="mig",
                    parent=f"GPU-{card}",
                    profile=profile,
                    pci_bus_id=f"0000:{card:02x}:00.0",
                    consumes=(CounterUse(name, uses),),
                )
            )
    return CounterSet(name, whole), tuple(devices)


def a30() -> tuple[CounterSet, tuple[Device, ...]]:
    """An A30 under dynamic MIG: four memory slices, and no device for the whole card."""
    name = "gpu-0-counter-set"
    slices = tuple((f"memory-slice-{number}", 1) for number in range(4))
    devices = [
        Device(
            name=f"gpu-0-mig-{profile.replace('.', '')}-{number}-{start}",
            type="mig",
            parent="GPU-a30",
            profile=profile,
            product="NVIDIA A30",
            consumes=(CounterUse(name, slices[start : start + size]),),
        )
        for profile, number, starts, size in (
            ("1g.6gb", 14, range(4), 1),
            ("2g.12gb", 5, range(0, 4, 2), 2),
            ("4g.24gb", 0, range(1), 4),
        )
        for start in starts
    ]
    return CounterSet(name, slices), tuple(devices)


def slice_of(
    *devices: Device,
    node: str = "n1",
    driver: str = NVIDIA,
    pool: str = "",
    name: str = "",
    generation: int = 1,
    count: int = 1,
    counter_sets: tuple[CounterSet, ...] = (),
) -> Slice:
    name = name or f"{node}-{driver}-{generation}"
    return Slice(
        uid=f"uid-{name}",
        name=name,
        driver=driver,
        pool=pool or node,
        generation=generation,
        slice_count=count,
        node_name=node,
        devices=devices,
        counter_sets=counter_sets,
    )


def claim(
    *devices: str,
    name: str = "c1",
    pool: str = "n1",
    driver: str = NVIDIA,
    pods: tuple[str, ...] = ("p1",),
    is_admin: bool = False,
) -> ClaimUse:
    return ClaimUse(
        uid=f"uid-{name}",
        namespace="team-a",
        name=name,
        results=tuple(Result("r", driver, pool, device, is_admin) for device in devices),
        classes={"r": NVIDIA},
        pods=pods,
    )


def node(
    name: str = "n1",
    labels: Mapping[str, str] | None = None,
    *,
    is_ready: bool = True,
    allocatable: Mapping[str, int] | None = None,
    parts: Mapping[str, int] | None = None,
    gpu: int | None = None,
    gpu_shared: int | None = None,
) -> Node:
    """A node; `gpu=8` means nvidia.com/gpu: 8 as capacity, `parts` are further names below
    nvidia.com/, and `allocatable` overrides what may be taken."""
    told = {"gpu": gpu, "gpu.shared": gpu_shared, **(parts or {})}
    capacity = {f"nvidia.com/{key}": value for key, value in told.items() if value is not None}
    free = {**capacity, **(allocatable or {})}
    return Node(
        uid=f"uid-{name}",
        name=name,
        is_ready=is_ready,
        labels={f"nvidia.com/{key}": value for key, value in (labels or {}).items()},
        resources={key: (capacity.get(key, 0), free[key]) for key in free},
    )


def pod(
    name: str = "p1",
    node: str = "n1",
    phase: str = "Running",
    *,
    gpu: int = 0,
    parts: Mapping[str, int] | None = None,
) -> PodUse:
    requests = {"gpu": gpu, **(parts or {})}
    return PodUse(
        uid=f"uid-{name}",
        namespace="team-a",
        name=name,
        node_name=node,
        phase=phase,
        requests={f"nvidia.com/{key}": value for key, value in requests.items() if value},
    )
