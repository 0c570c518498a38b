"""The device-plugin side of a node: what its labels, resources and pods say of its cards.

A device plugin tells Kubernetes numbers, never which card a pod got. Labels (GPU feature discovery)
and resources disagree in practice; each rule below says whom it believes, and a fault says that
they disagree. Where a card may be in use, it is not called free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from domain.accelerators import is_renamed_share, is_whole, profile_key, profile_of, spelled
from domain.devices import Node, PodUse
from domain.inventory.counts import Card, Fault, Path, State, Unit

COUNT = "nvidia.com/gpu.count"
REPLICAS = "nvidia.com/gpu.replicas"
SHARING = "nvidia.com/gpu.sharing-strategy"
PRODUCT = "nvidia.com/gpu.product"
AMD_PRODUCT = "amd.com/gpu.product-name"
MEMORY = "nvidia.com/gpu.memory"
STRATEGY = "nvidia.com/mig.strategy"
MIG_STATE = "nvidia.com/mig.config.state"
PLUGIN_DEPLOY = "nvidia.com/gpu.deploy.device-plugin"
# A card has seven compute slices, so seven partitions at most.
MOST_PARTITIONS = 7
# Ancient builds of feature discovery print bytes; no card has a tebibyte of memory.
LARGEST_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Labels:
    """Feature discovery's words on the node; None where it does not say."""

    count: int | None
    replicas: int | None
    sharing: str
    product: str
    memory_mib: int | None
    strategy: str
    live_profiles: frozenset[str]

    @property
    def model(self) -> str:
        """The product, spelled as a DRA driver spells it."""
        return spelled(self.product)

    @property
    def is_single_mig(self) -> bool:
        """Under strategy single every figure of the labels is about partitions, not cards."""
        return self.strategy == "single" and "-MIG-" in self.product

    @property
    def is_shared(self) -> bool:
        return (
            self.sharing in ("time-slicing", "mps")
            or self.product.endswith("-SHARED")
            or (self.replicas or 0) > 1
        )


@dataclass(slots=True)
class Plugged:
    """What the device-plugin side comes to. `cards` is None where their number is not told."""

    cards: list[Card] | None = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    at_least: int = 0
    held: int = 0  # cards that pods may hold
    tenants: int = 0
    is_offered: bool = False  # the plugin offers anything now


@dataclass(slots=True)
class _Supply:
    """Units of a node: how many there are, how many may be taken, how many are."""

    capacity: Counter[str] = field(default_factory=Counter)
    allocatable: Counter[str] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)

    def whole(self, numbers: Mapping[str, int]) -> int:
        return sum(amount for name, amount in numbers.items() if is_whole(name))

    def parts(self, numbers: Mapping[str, int]) -> int:
        return sum(amount for name, amount in numbers.items() if profile_of(name))


def labels_of(node: Node) -> Labels:
    labels = node.labels
    memory = _number(labels.get(MEMORY))
    if memory is not None and memory > LARGEST_MIB:
        memory //= 2**20
    return Labels(
        count=_number(labels.get(COUNT)),
        replicas=_number(labels.get(REPLICAS)),
        sharing=labels.get(SHARING, ""),
        product=labels.get(PRODUCT, "") or labels.get(AMD_PRODUCT, ""),
        memory_mib=memory,
        strategy=labels.get(STRATEGY, ""),
        live_profiles=frozenset(
            name.removeprefix("nvidia.com/mig-").removesuffix(".count")
            for name in labels
            if name.startswith("nvidia.com/mig-") and name.endswith("gb.count")
        ),
    )


def plugged(node: Node, pods: Iterable[PodUse], *, doubt: str = "") -> Plugged:
    """Count the node's cards from what the plugin offers. `doubt` says why it is not certain."""
    labels = labels_of(node)
    found = Plugged()
    supply = _supply(node, pods, found)
    _drop_leftovers(labels, supply, found)
    found.is_offered = bool(supply.capacity)
    found.units = _units(supply, doubt)
    if node.hami_cards:
        _count_hami(node, supply, found, doubt)
    elif labels.is_single_mig:
        _count_single(labels, supply, found)
    elif labels.is_shared or any(is_renamed_share(name) for name in supply.capacity):
        _count_shared(labels, supply, found, doubt)
    else:
        _count_plain(labels, supply, found, doubt)
    _note_state(node, supply, found)
    return found


def _supply(node: Node, pods: Iterable[PodUse], found: Plugged) -> _Supply:
    supply = _Supply()
    for name, (capacity, allocatable) in node.resources.items():
        if capacity or allocatable:  # zeros stay on a node for ever and mean nothing
            supply.capacity[name] = max(capacity, allocatable)
            supply.allocatable[name] = allocatable
    for pod in pods:
        if held := pod.holds:
            supply.used.update(held)
            found.tenants += 1
    return supply


def _drop_leftovers(labels: Labels, supply: _Supply, found: Plugged) -> None:
    """After a change of MIG geometry the kubelet goes on listing what no longer exists."""
    stale = [
        name for name in supply.capacity if not supply.used[name] and _is_leftover(name, labels)
    ]
    for name in stale:
        amount = supply.capacity.pop(name)
        supply.allocatable.pop(name, None)
        found.faults.append(
            Fault(
                "leftover-resource",
                f"The node still lists {amount} {name}, which its labels do not know. Restart the "
                "kubelet; until then this resource is not counted.",
            )
        )


def _is_leftover(name: str, labels: Labels) -> bool:
    profile = profile_of(name)
    if not name.startswith("nvidia.com/") or labels.count is None:
        return False
    if profile:
        return labels.strategy == "none" or (
            labels.strategy == "mixed"
            and bool(labels.live_profiles)
            and profile not in labels.live_profiles
        )
    return labels.strategy == "mixed" and labels.replicas == 0


def _units(supply: _Supply, doubt: str) -> list[Unit]:
    names = sorted(
        supply.capacity.keys() | +supply.used,
        key=lambda name: (profile_key(profile_of(name)), name),
    )
    return [
        Unit(
            path=Path.PLUGIN,
            name=name,
            total=supply.capacity[name],
            used=supply.used[name],
            further=None if doubt else max(0, supply.allocatable[name] - supply.used[name]),
            unhealthy=max(0, supply.capacity[name] - supply.allocatable[name]),
        )
        for name in names
    ]


def _count_plain(labels: Labels, supply: _Supply, found: Plugged, doubt: str) -> None:
    """A unit is a card, and partitions are of cards that are not among them (strategy mixed)."""
    whole, parts = supply.whole(supply.capacity), supply.parts(supply.capacity)
    used, used_parts = supply.whole(supply.used), supply.parts(supply.used)
    if labels.count is None and (parts or used_parts):
        found.cards = None
        found.at_least = whole + max(1, -(-parts // MOST_PARTITIONS))
        found.faults.append(_untold("there are partitions, and no labels that count the cards"))
        return
    counted = labels.count if labels.count is not None else whole
    if whole > counted:
        found.faults.append(
            Fault(
                "labels-disagree",
                f"The labels count {counted} cards, but {whole} are offered. Another model on the "
                "same node, or shares that the labels do not tell? The offered number is used.",
            )
        )
    physical = max(counted, whole, used)
    cut = physical - whole if parts or used_parts else 0
    sick = whole - min(whole, supply.whole(supply.allocatable))
    held_cut = min(cut, used_parts)
    found.held = used + held_cut
    maker = _Maker(labels, doubt)
    maker.add(sick, State.UNHEALTHY, "the device plugin reports it unhealthy")
    maker.add(max(0, used - sick), State.PLUGIN)
    maker.add(held_cut, State.PLUGIN, mode="mig", is_exact=cut == 1)
    maker.add(cut - held_cut, State.FREE, mode="mig")
    maker.add(max(0, whole - max(used, sick)), State.FREE)
    maker.add(physical - len(maker.cards), State.UNKNOWN, "the device plugin does not offer it")
    found.cards = maker.cards


def _count_shared(labels: Labels, supply: _Supply, found: Plugged, doubt: str) -> None:
    """Time-slicing and MPS: a unit is a share. The labels' count is of cards, whatever the
    replicas label says (it is wrong in the wild), and the plugin spreads shares over cards."""
    units, used = supply.whole(supply.capacity), supply.whole(supply.used)
    physical = labels.count
    if physical is None and labels.replicas:
        physical = -(-units // labels.replicas)
    if not physical:
        found.cards, found.at_least = None, 1
        found.faults.append(_untold("its cards are shared, and no labels count them"))
        return
    if labels.count and labels.replicas and units and units != labels.count * labels.replicas:
        found.faults.append(
            Fault(
                "labels-disagree",
                f"The labels promise {labels.count} x {labels.replicas} shares, but {units} are "
                "offered. The offered number is used.",
            )
        )
    per_card = max(1, units // physical)
    sick = min(physical, (units - min(units, supply.whole(supply.allocatable))) // per_card)
    held = min(physical, used)
    found.held = held
    mode = labels.sharing if labels.sharing in ("time-slicing", "mps") else "time-slicing"
    is_exact = physical == 1 or used >= units
    maker = _Maker(labels, doubt, mode=mode)
    if not units and not used:
        maker.add(physical, State.UNKNOWN, "the device plugin does not offer it")
    else:
        maker.add(sick, State.UNHEALTHY, "the device plugin reports it unhealthy")
        maker.add(min(held, physical - sick), State.PLUGIN, is_exact=is_exact)
        maker.add(physical - len(maker.cards), State.FREE)
    found.cards = maker.cards


def _count_single(labels: Labels, supply: _Supply, found: Plugged) -> None:
    """MIG strategy single: labels and resources count partitions, and nothing counts the cards."""
    found.cards = None
    if "-MIG-INVALID" in labels.product:
        found.faults.append(
            Fault(
                "mig-invalid",
                "Under MIG strategy single all cards must be cut alike; these are not, so the "
                "plugin offers none of them.",
            )
        )
        found.at_least = 1
        return
    partitions = labels.count or 0
    if not partitions:
        shares = max(1, labels.replicas or 1)
        partitions = supply.whole(supply.capacity) // shares
    found.at_least = -(-partitions // MOST_PARTITIONS)
    found.held = min(found.at_least, supply.whole(supply.used))
    found.faults.append(_untold("under MIG strategy single the labels count partitions"))


def _count_hami(node: Node, supply: _Supply, found: Plugged, doubt: str) -> None:
    """HAMi registers its cards in an annotation, and spreads shares over them."""
    physical = len(node.hami_cards)
    held = min(physical, supply.whole(supply.used))
    found.held = held
    found.cards = []
    for place, (uuid, product, memory) in enumerate(node.hami_cards):
        state = State.PLUGIN if place < held else State.FREE
        found.cards.append(
            Card(
                key=uuid,
                state=State.UNKNOWN if doubt else state,
                path=Path.PLUGIN,
                mode="shared",
                product=product,
                memory_mib=memory or None,
                reason=doubt,
                is_exact=held in (0, physical),
            )
        )


def _note_state(node: Node, supply: _Supply, found: Plugged) -> None:
    """What the MIG manager's own labels say of a change that is under way or stuck."""
    state = node.labels.get(MIG_STATE, "")
    if state in ("pending", "rebooting", "failed"):
        paused = "paused" in node.labels.get(PLUGIN_DEPLOY, "")
        found.faults.append(
            Fault(
                f"mig-{state}",
                f"The MIG manager reports {state}"
                + (", and the device plugin is paused for it." if paused else "."),
            )
        )
    elif state == "success" and node.labels.get(COUNT) and not +supply.allocatable:
        found.faults.append(
            Fault(
                "mig-empty",
                "The MIG manager reports success, yet the node offers no device.",
            )
        )


@dataclass(slots=True)
class _Maker:
    """Makes the node's cards, which have numbers and no names."""

    labels: Labels
    doubt: str
    mode: str = "whole"
    cards: list[Card] = field(default_factory=list)

    def add(
        self, count: int, state: State, reason: str = "", *, mode: str = "", is_exact: bool = True
    ) -> None:
        for _ in range(max(0, count)):
            self.cards.append(
                Card(
                    key=f"card-{len(self.cards)}",
                    state=State.UNKNOWN if self.doubt else state,
                    path=Path.PLUGIN,
                    mode=mode or self.mode,
                    product=self.labels.model,
                    memory_mib=self.labels.memory_mib,
                    reason=self.doubt or reason,
                    is_exact=is_exact,
                )
            )


def _untold(why: str) -> Fault:
    return Fault("cards-untold", f"How many cards the node has is not known: {why}.")


def _number(label: str | None) -> int | None:
    return int(label) if label and label.isascii() and label.isdigit() and len(label) < 18 else None
