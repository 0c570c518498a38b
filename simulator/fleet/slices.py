"""ResourceSlices as NVIDIA's DRA driver (0.4/0.5) publishes them.

One pool per node. Whole cards and ready-made MIG instances share one slice; with partitions on
demand the counters sit in a slice of their own (the API forbids both in one since 1.35) and each
card's devices in another, so a pool of G cards has G+1 slices.
"""

from typing import Any

from simulator.fleet.cards import Card, Instance, partitions, semver
from simulator.fleet.hardware import MigProfile
from simulator.fleet.scenario import NodeSpec, Sick

DRIVER = "gpu.nvidia.com"
DOMAIN_DRIVER = "compute-domain.nvidia.com"

type Json = dict[str, Any]

_COUNTERS = {
    "multiprocessors": "multiprocessors",
    "copyEngines": "copy-engines",
    "decoders": "decoders",
    "encoders": "encoders",
    "jpegEngines": "jpeg-engines",
    "ofaEngines": "ofa-engines",
    "memory": "memory",
}


def gpu_slices(
    node: NodeSpec, cards: tuple[Card, ...], sick: dict[int, Sick], since: str
) -> list[Json]:
    """The specs of the pool's slices without `pool`, which the publisher numbers.

    `since` is the time, RFC 3339, that new taints carry.
    """
    if node.mig == "partitions":
        counters = [{"name": _set_name(card), "counters": _all_counters(card)} for card in cards]
        return [{"sharedCounters": counters[n : n + 8]} for n in range(0, len(counters), 8)] + [
            {"devices": _partition_devices(node, card, sick, since)} for card in cards
        ]
    devices = [device for card in cards for device in _devices(node, card, sick, since)]
    return [{"devices": devices}] if devices else []


def domain_slices() -> list[Json]:
    """What the compute-domain driver publishes on each node: no accelerators at all."""
    return [
        {
            "devices": [
                {"name": "channel-0", "attributes": {"type": _text("channel"), "id": {"int": 0}}},
                {"name": "daemon-0", "attributes": {"type": _text("daemon"), "id": {"int": 0}}},
            ]
        }
    ]


def _devices(node: NodeSpec, card: Card, sick: dict[int, Sick], since: str) -> list[Json]:
    if not card.instances:
        whole = {
            "name": card.name,
            "attributes": _gpu_attributes(node, card),
            "capacity": {"memory": {"value": mebibytes(card.model.memory_mib)}},
        }
        return [_with_taints(whole, sick.get(card.index), since)]
    return [
        _with_taints(
            {
                "name": instance.name(card),
                "attributes": {
                    "uuid": _text(instance.uuid),
                    **_mig_attributes(node, card, instance),
                },
                "capacity": _capacity(instance.profile)
                | {
                    f"memorySlice{n}": {"value": "1"}
                    for n in range(instance.start, instance.start + instance.profile.size)
                },
            },
            sick.get(card.index),
            since,
        )
        for instance in card.instances
    ]


def _partition_devices(node: NodeSpec, card: Card, sick: dict[int, Sick], since: str) -> list[Json]:
    """Ampere cannot leave MIG mode without a reset, so its whole card is not offered."""
    devices = []
    if card.model.architecture != "Ampere":
        whole = max(card.model.profiles, key=lambda profile: profile.memory_mib)
        devices.append(
            {
                "name": card.name,
                "attributes": _gpu_attributes(node, card),
                "capacity": _capacity(whole),
                "consumesCounters": [
                    {"counterSet": _set_name(card), "counters": _all_counters(card)}
                ],
            }
        )
    devices += [
        {
            "name": instance.name(card),
            "attributes": _mig_attributes(node, card, instance),
            "capacity": _capacity(instance.profile),
            "consumesCounters": [{"counterSet": _set_name(card), "counters": _counters(instance)}],
        }
        for instance in partitions(card)
    ]
    return [_with_taints(device, sick.get(card.index), since) for device in devices]


def _with_taints(device: Json, sick: Sick | None, since: str) -> Json:
    if sick is None:
        return device
    if sick.xid == 0:
        taint = {"key": f"{DRIVER}/gpu-lost", "effect": "NoSchedule", "timeAdded": since}
    else:
        taint = {
            "key": f"{DRIVER}/xid",
            "value": str(sick.xid),
            "effect": "NoSchedule",
            "timeAdded": since,
        }
    return device | {"taints": [taint]}


def _text(value: str) -> Json:
    return {"string": value}


def _common(node: NodeSpec, card: Card) -> Json:
    major, minor = card.model.compute
    return {
        "productName": _text(card.model.product),
        "brand": _text("Nvidia"),
        "architecture": _text(card.model.architecture),
        "cudaComputeCapability": {"version": f"{major}.{minor}.0"},
        "driverVersion": {"version": semver(node.driver_version)},
        "cudaDriverVersion": {"version": semver(node.cuda_version)},
        "addressingMode": _text("HMM"),
        "resource.kubernetes.io/pciBusID": _text(card.bus),
        "resource.kubernetes.io/pcieRoot": _text(card.root),
        "resource.kubernetes.io/numaNode": {"int": card.numa},
    }


def _gpu_attributes(node: NodeSpec, card: Card) -> Json:
    return {"type": _text("gpu"), "uuid": _text(card.uuid), **_common(node, card)}


def _mig_attributes(node: NodeSpec, card: Card, instance: Instance) -> Json:
    """An instance made on demand has no uuid before it is prepared."""
    return {
        "type": _text("mig"),
        "parentUUID": _text(card.uuid),
        "profile": _text(instance.profile.name),
        **_common(node, card),
    }


def _capacity(profile: MigProfile) -> Json:
    return {
        "memory": {"value": mebibytes(profile.memory_mib)},
        "multiprocessors": {"value": str(profile.multiprocessors)},
        "copyEngines": {"value": str(profile.copy_engines)},
        "decoders": {"value": str(profile.decoders)},
        "encoders": {"value": "0"},
        "jpegEngines": {"value": str(profile.jpeg_engines)},
        "ofaEngines": {"value": str(profile.ofa_engines)},
    }


def _set_name(card: Card) -> str:
    return f"{card.name}-counter-set"


def _counters(instance: Instance) -> Json:
    counters = {_COUNTERS[name]: value for name, value in _capacity(instance.profile).items()}
    for n in range(instance.start, instance.start + instance.profile.size):
        counters[f"memory-slice-{n}"] = {"value": "1"}
    return counters


def _all_counters(card: Card) -> Json:
    """The card's whole supply: per dimension the most that any profile takes."""
    most = {
        key: max((_capacity(p)[key]["value"] for p in card.model.profiles), key=_amount)
        for key in _COUNTERS
    }
    counters: Json = {_COUNTERS[key]: {"value": value} for key, value in most.items()}
    counters.update({f"memory-slice-{n}": {"value": "1"} for n in range(8)})
    return counters


def _amount(value: str) -> int:
    if value.endswith("Gi"):
        return int(value.removesuffix("Gi")) * 1024
    return int(value.removesuffix("Mi"))


def mebibytes(amount: int) -> str:
    """In the form that the API server keeps, or every heartbeat would find a difference."""
    return f"{amount}Mi" if amount % 1024 else f"{amount // 1024}Gi"
