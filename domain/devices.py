"""What a cluster says of its accelerators, as plain data: nodes, slices, claims and pods.

Only what counting needs is here; placement reads the API's own objects. Missing is None or "",
never zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

NOTHING: Mapping[str, int] = MappingProxyType({})
NO_LABELS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str
    effect: str  # NoSchedule | NoExecute | None

    @property
    def keeps_away(self) -> bool:
        """False for the effect "None", which only informs (KEP-5055)."""
        return self.effect in ("NoSchedule", "NoExecute")

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"


@dataclass(frozen=True, slots=True)
class CounterUse:
    """What a device takes from a counter set of its pool (KEP-4815)."""

    counter_set: str
    counters: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class CounterSet:
    name: str
    counters: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Device:
    """One entry of a slice: a card, a partition of one, or something else altogether.

    `type` is the driver's own word ("gpu", "mig", "vfio", "amdgpu-partition"); `parent` identifies
    the card that a partition belongs to.
    """

    name: str
    type: str = ""
    uuid: str = ""
    parent: str = ""
    profile: str = ""
    product: str = ""
    architecture: str = ""
    driver_version: str = ""
    pci_bus_id: str = ""
    pcie_root: str = ""
    numa_node: int | None = None
    memory_mib: int | None = None
    consumes: tuple[CounterUse, ...] = ()
    taints: tuple[Taint, ...] = ()
    is_shared: bool = False  # allowMultipleAllocations (KEP-5075)
    node_name: str = ""  # only where the slice leaves it to its devices


@dataclass(frozen=True, slots=True)
class Slice:
    """A ResourceSlice. `node_name` is "" for devices that no single node owns."""

    uid: str
    name: str
    driver: str
    pool: str
    generation: int
    slice_count: int
    node_name: str = ""
    devices: tuple[Device, ...] = ()
    counter_sets: tuple[CounterSet, ...] = ()


@dataclass(frozen=True, slots=True)
class DevicePool:
    """A driver's pool, put together from its slices.

    Only slices of the highest generation count, and the pool is whole only when there are as many
    as each of them says. `leftovers` are those of earlier generations: while the pool is being
    replaced they are the best that is known.
    """

    driver: str
    name: str
    generation: int
    slices: tuple[Slice, ...]
    leftovers: tuple[Slice, ...] = ()

    @property
    def is_complete(self) -> bool:
        return len(self.slices) == self.slices[0].slice_count

    @property
    def known(self) -> tuple[Slice, ...]:
        """The slices to show: also the left-overs of a pool that is not whole."""
        return self.slices if self.is_complete else self.slices + self.leftovers

    @property
    def counter_sets(self) -> dict[str, CounterSet]:
        return {counters.name: counters for part in self.known for counters in part.counter_sets}


@dataclass(frozen=True, slots=True)
class TaintRule:
    """A DeviceTaintRule: taints every device that all its parts match; "" matches any.

    A rule without a selector matches nothing, and is not made into one of these.
    """

    name: str
    taint: Taint
    driver: str = ""
    pool: str = ""
    device: str = ""

    def matches(self, driver: str, pool: str, device: str) -> bool:
        return (
            self.driver in ("", driver) and self.pool in ("", pool) and self.device in ("", device)
        )


@dataclass(frozen=True, slots=True)
class Node:
    """`labels` holds those that speak of accelerators or of the node's place; `resources` maps an
    accelerator's resource name to (capacity, allocatable), without zeros on both sides."""

    uid: str
    name: str
    is_ready: bool = True
    is_schedulable: bool = True
    labels: Mapping[str, str] = field(default=NO_LABELS)
    resources: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    hami_cards: tuple[tuple[str, str, int], ...] = ()  # uuid, product, MiB by HAMi's annotation

    @property
    def allocatable(self) -> dict[str, int]:
        return {name: free for name, (_, free) in self.resources.items() if free > 0}


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose it is, by our labels; "" where it carries none."""

    tenant: str = ""
    deployment: str = ""
    pool: str = ""


NOBODY = Owner()


@dataclass(frozen=True, slots=True)
class Result:
    """One device that a claim holds."""

    request: str
    driver: str
    pool: str
    device: str
    is_admin: bool = False  # admin access does not use the device up
    share_id: str = ""
    consumed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimUse:
    """A ResourceClaim and what it holds; nothing while it is pending.

    `classes` maps a request's name to its DeviceClass (a subrequest as "main/sub"), `pods` are the
    names in reservedFor, `node_name` is the node that the allocation is bound to, if to one.
    """

    uid: str
    namespace: str
    name: str
    results: tuple[Result, ...] = ()
    classes: Mapping[str, str] = field(default_factory=dict)
    pods: tuple[str, ...] = ()
    node_name: str = ""
    is_deleting: bool = False
    owner: Owner = NOBODY
    created_at: str = ""  # times as the API tells them, "" if it does not
    allocated_at: str = ""

    @property
    def state(self) -> str:
        """As people call it: pending, allocated (nobody uses it), reserved, deleting."""
        if self.is_deleting:
            return "deleting"
        if not self.results:
            return "pending"
        return "reserved" if self.pods else "allocated"

    def class_of(self, request: str) -> str:
        return self.classes.get(request) or self.classes.get(request.partition("/")[0], "")


@dataclass(frozen=True, slots=True)
class PodUse:
    """A pod, as far as it uses devices or serves them.

    `requests` holds accelerators only, and not those that a scheduler-made claim covers (KEP-5004):
    they are counted with that claim. `serves` is "device-plugin" or "dra" for a driver's own pod,
    and `image` is then what it runs.
    """

    uid: str
    namespace: str
    name: str
    node_name: str = ""
    phase: str = "Pending"
    requests: Mapping[str, int] = field(default=NOTHING)
    claims: tuple[str, ...] = ()
    serves: str = ""
    image: str = ""
    is_ready: bool = False
    owner: Owner = NOBODY
    created_at: str = ""
    scheduled_at: str = ""
    running_at: str = ""
    ended_at: str = ""

    @property
    def holds(self) -> Mapping[str, int]:
        """What it takes from its node: nothing before it has one, nor after its end."""
        if not self.node_name or self.phase in ("Succeeded", "Failed"):
            return NOTHING
        return self.requests


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that counting looks at, of a cluster or of one node of it."""

    nodes: tuple[Node, ...] = ()
    slices: tuple[Slice, ...] = ()
    claims: tuple[ClaimUse, ...] = ()
    pods: tuple[PodUse, ...] = ()
    rules: tuple[TaintRule, ...] = ()


def pools_of(slices: Iterable[Slice]) -> list[DevicePool]:
    """Slices put together by driver and pool, in that order."""
    grouped: dict[tuple[str, str], list[Slice]] = {}
    for part in slices:
        grouped.setdefault((part.driver, part.pool), []).append(part)
    return [_pool(driver, name, grouped[driver, name]) for driver, name in sorted(grouped)]


def _pool(driver: str, name: str, slices: list[Slice]) -> DevicePool:
    newest = max(part.generation for part in slices)
    slices.sort(key=lambda part: part.name)
    return DevicePool(
        driver=driver,
        name=name,
        generation=newest,
        slices=tuple(part for part in slices if part.generation == newest),
        leftovers=tuple(part for part in slices if part.generation < newest),
    )
