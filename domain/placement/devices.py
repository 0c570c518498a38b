"""What drivers publish: slices, devices, counters. Frozen, as read from `resource.k8s.io`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from domain.placement.amounts import Amount
from domain.placement.cel.device import DeviceView
from domain.placement.nodeselectors import NodeSelector


class DeviceID(NamedTuple):
    """Unique in a cluster; printed as upstream's messages do."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


class PoolID(NamedTuple):
    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class Attribute(NamedTuple):
    """kind: int, bool, string, version, or one of these with "s" for a list ("" if unknown)."""

    kind: str
    value: Any


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """What amounts of a shared capacity may be asked for."""

    default: Amount | None = None
    valid_values: tuple[Amount, ...] = ()
    has_range: bool = False
    minimum: Amount | None = None
    maximum: Amount | None = None
    step: Amount | None = None


@dataclass(frozen=True, slots=True)
class Capacity:
    value: Amount
    policy: RequestPolicy | None = None


@dataclass(frozen=True, slots=True)
class CounterUse:
    """What a device takes from one counter set of its pool, in nanos."""

    counter_set: str
    counters: Mapping[str, int]
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str = ""
    effect: str = ""

    @property
    def prevents_scheduling(self) -> bool:
        """Unknown effects and None are only information."""
        return self.effect in ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Reach:
    """From which nodes something can be used."""

    node_name: str = ""
    all_nodes: bool = False
    selector: NodeSelector | None = None

    @property
    def is_stated(self) -> bool:
        return bool(self.node_name) or self.all_nodes or self.selector is not None

    def includes(self, name: str, labels: Mapping[str, str]) -> bool:
        """Raises Fatal for a selector that cannot be parsed."""
        if self.node_name:
            return self.node_name == name
        if self.all_nodes:
            return True
        return self.selector is not None and self.selector.matches(name, labels)


EVERYWHERE = Reach(all_nodes=True)


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """One entry of a slice. `view` is what selectors see of it."""

    id: DeviceID
    view: DeviceView = field(repr=False)
    attributes: Mapping[str, Attribute]
    capacity: Mapping[str, Capacity]
    shared: bool | None = None
    consumes: tuple[CounterUse, ...] = ()
    taints: tuple[Taint, ...] = ()
    reach: Reach = field(default_factory=Reach)
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()

    def attribute(self, qualified: str) -> Attribute | None:
        """By full name; a name in the driver's own domain is also found without the domain."""
        found = self.attributes.get(qualified)
        if found is not None:
            return found
        domain, slash, name = qualified.partition("/")
        return self.attributes.get(name) if slash and domain == self.id.driver else None


@dataclass(frozen=True, slots=True)
class CounterSet:
    """Shared counters of a pool, in nanos."""

    name: str
    counters: Mapping[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    name: str
    pool: PoolID
    generation: int
    slice_count: int
    reach: Reach
    per_device: bool | None = None
    devices: tuple[Device, ...] = ()
    counter_sets: tuple[CounterSet, ...] = ()
    skipped_operations: tuple[str, ...] = ()

    @property
    def declares_groups(self) -> bool:
        """Whether any device may be combined only within compatibility groups (KEP-5963)."""
        return any(use.groups for device in self.devices for use in device.consumes)


@dataclass(frozen=True, slots=True)
class TaintRule:
    """A DeviceTaintRule; without a selector it selects nothing, an empty one everything."""

    name: str
    taint: Taint
    selects: bool = False
    driver: str | None = None
    pool: str | None = None
    device: str | None = None

    def applies_to(self, device: DeviceID) -> bool:
        if not self.selects:
            return False
        wanted = (self.driver, self.pool, self.device)
        return all(want is None or want == have for want, have in zip(wanted, device, strict=True))


@dataclass(frozen=True, slots=True)
class Node:
    """What placement needs of a node; `raw` is kept for the pod filters."""

    name: str
    labels: Mapping[str, str]
    declared_features: frozenset[str] = frozenset()
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)


def is_cordoned(node: Node) -> bool:
    return bool((node.raw.get("spec") or {}).get("unschedulable"))
