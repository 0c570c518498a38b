"""ResourceSlice and DeviceTaintRule."""

from __future__ import annotations

from dataclasses import dataclass
from sys import intern
from typing import Any

import msgspec

from domain.devices import CounterSet, CounterUse, Device, Slice, Taint, TaintRule
from kube.client import Json
from kube.parse.fields import Malformed, identity, mebibytes, named, whole

STANDARD = "resource.kubernetes.io/"

# The drivers' own words for the same thing, newest first: NVIDIA has had three for the address.
_WORDS: dict[str, tuple[str, ...]] = {
    "type": ("type",),
    "uuid": ("uuid", "serial"),
    "parent": ("parentUUID",),
    "profile": ("profile", "partitionProfile"),
    "product": ("productName", "model", "accelerator"),
    "architecture": ("architecture", "family", "tpuGen"),
    "driver_version": ("driverVersion", "driver"),
    "pci_bus_id": (
        f"{STANDARD}pciBusID",
        "pciBusID",
        "pcieBusID",
        "pciAddr",
        "parentPciAddr",
        "pciAddress",
    ),
    "pcie_root": (f"{STANDARD}pcieRoot", "pcieRoot", "pciRoot"),
}
_NUMA = (f"{STANDARD}numaNode", "numaNode", "numa")
_WHOLE_ON_AMD = frozenset({"spx_nps1", ""})


def slice_(raw: Json) -> Slice:
    """A slice; a device that cannot be read makes the whole slice malformed, since a missing
    device would look like a free place."""
    uid, _, name = identity(raw)
    spec = raw["spec"]
    pool = spec["pool"]
    driver = intern(str(spec["driver"]))
    return Slice(
        uid=uid,
        name=name,
        driver=driver,
        pool=intern(str(pool["name"])),
        generation=int(pool.get("generation") or 0),
        slice_count=int(pool["resourceSliceCount"]),
        node_name=named(spec.get("nodeName")),
        devices=tuple(_device(device, driver) for device in spec.get("devices") or ()),
        counter_sets=tuple(
            CounterSet(str(one["name"]), _amounts(one.get("counters")))
            for one in spec.get("sharedCounters") or ()
        ),
    )


@dataclass(frozen=True, slots=True)
class Place:
    """Where a slice lies; `node_name` is "" where it leaves that to its devices."""

    driver: str
    pool: str
    node_name: str


class _Pool(msgspec.Struct):
    name: str


class _Spec(msgspec.Struct):
    driver: str
    pool: _Pool
    nodeName: str = ""  # noqa: N815  (Kubernetes' spelling)


class _Head(msgspec.Struct):
    spec: _Spec


_heads = msgspec.json.Decoder(_Head)


def slice_place(raw: bytes | msgspec.Raw) -> Place:
    """From the bytes of a slice, without looking at its devices; Malformed if it is none."""
    try:
        spec = _heads.decode(raw).spec
    except msgspec.MsgspecError as error:
        raise Malformed(str(error)[:200]) from None
    return Place(intern(spec.driver), intern(spec.pool.name), named(spec.nodeName))


def _device(raw: Json, driver: str) -> Device:
    body = raw.get("basic") or raw  # v1beta1 keeps the fields one level deeper
    attributes = _plain(body.get("attributes"), driver)
    capacity = _plain(body.get("capacity"), driver)
    words = {field: _first(attributes, names) for field, names in _WORDS.items()}
    if words["type"] == "amdgpu-partition" and words["profile"] in _WHOLE_ON_AMD:
        words["type"] = "amdgpu"
    if words["type"] == "amdgpu":
        words["profile"] = ""
    numa = next((attributes[name] for name in _NUMA if name in attributes), None)
    memory = capacity.get("memory")
    return Device(
        name=str(raw["name"]),
        **words,
        numa_node=numa if isinstance(numa, int) else None,
        memory_mib=mebibytes(str(memory)) if memory is not None else None,
        consumes=tuple(
            CounterUse(intern(str(use["counterSet"])), _amounts(use.get("counters")))
            for use in body.get("consumesCounters") or ()
        ),
        taints=tuple(taint(one) for one in body.get("taints") or ()),
        is_shared=bool(body.get("allowMultipleAllocations")),
        node_name=named(body.get("nodeName")),
    )


def _plain(raw: Any, driver: str) -> dict[str, Any]:
    """Attributes or capacities as name -> value, without the driver's own domain."""
    found: dict[str, Any] = {}
    own = f"{driver}/"
    for name, value in (raw or {}).items():
        if isinstance(value, dict):
            value = next(iter(value.values()), None) if "value" not in value else value["value"]
        if isinstance(value, list):
            value = value[0] if len(value) == 1 else None
        found[name.removeprefix(own)] = value
    return found


def _first(attributes: dict[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        value = attributes.get(name)
        if isinstance(value, str) and value:
            return intern(value)
    return ""


def _amounts(raw: Any) -> tuple[tuple[str, int], ...]:
    return tuple((intern(name), whole(str(one["value"]))) for name, one in (raw or {}).items())


def taint(raw: Json) -> Taint:
    return Taint(
        key=intern(str(raw["key"])),
        value=intern(str(raw.get("value") or "")),
        effect=intern(str(raw["effect"])),
    )


def taint_rule(raw: Json) -> TaintRule | None:
    """A rule; None for one without a selector, which matches nothing (an empty one, everything)."""
    _, _, name = identity(raw)
    spec = raw["spec"]
    selector = spec.get("deviceSelector")
    if selector is None:
        return None
    if not isinstance(selector, dict):
        raise Malformed("its deviceSelector is no object")
    return TaintRule(
        name=name,
        taint=taint(spec["taint"]),
        driver=str(selector.get("driver") or ""),
        pool=str(selector.get("pool") or ""),
        device=str(selector.get("device") or ""),
    )
