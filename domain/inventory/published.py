"""The DRA side of a node: which cards its slices speak of, and how each stands.

Devices are not cards: an H100 that may be cut up publishes 26 of them. They are put together by the
card's UUID, by its PCI address (a passthrough twin shares only that), or by the counter set that
they draw on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from domain.accelerators import MIG_NAME, OTHER_DRIVERS, OTHER_TYPES, PARTITION_TYPES, profile_key
from domain.devices import ClaimUse, Device, DevicePool, Result, TaintRule
from domain.inventory import partitions
from domain.inventory.counts import Card, DeviceUse, Fault, Holder, Path, State, Unit

Key = tuple[str, str, str]
WHOLE = "whole"


@dataclass(slots=True)
class Published:
    """What the DRA side of a node comes to."""

    cards: list[Card]
    units: list[Unit]
    faults: list[Fault]


@dataclass(slots=True)
class _Group:
    """The devices of one card, while they are being collected."""

    key: str
    uses: list[DeviceUse] = field(default_factory=list)
    is_certain: bool = True


@dataclass(slots=True)
class _Work:
    """What is known so far of the node that is being counted."""

    holders: dict[Key, list[Holder]]
    rules: Sequence[TaintRule]
    groups: dict[str, _Group] = field(default_factory=dict)
    by_pci: dict[str, str] = field(default_factory=dict)
    left: dict[tuple[str, str], partitions.Left] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


def is_counted(driver: str, device: Device) -> bool:
    """False for channels, NICs and CPUs: they are no accelerators."""
    return driver not in OTHER_DRIVERS and device.type not in OTHER_TYPES


def published(
    pools: Sequence[DevicePool],
    claims: Iterable[ClaimUse],
    rules: Sequence[TaintRule],
    *,
    doubt: str = "",
) -> Published:
    """Count the cards of these pools. `doubt` says why nothing on the node is certain now."""
    work = _Work(_holders(claims), rules)
    for pool in pools:
        if pool.driver not in OTHER_DRIVERS:
            _add_pool(work, pool)
    _add_vanished(work, pools)
    cards = []
    for group in work.groups.values():
        work.faults += _overlap(group)
        _block_twins(group)
        cards.append(_card(group, doubt))
    return Published(cards, _units(work), work.faults)


def _holders(claims: Iterable[ClaimUse]) -> dict[Key, list[Holder]]:
    """Who holds which device. Admin access looks at devices that others use; it holds nothing."""
    found: dict[Key, list[Holder]] = {}
    for claim in claims:
        for result in claim.results:
            if not result.is_admin:
                key = (result.driver, result.pool, result.device)
                found.setdefault(key, []).append(_holder(claim, result))
    return found


def _holder(claim: ClaimUse, result: Result) -> Holder:
    return Holder(
        kind="claim",
        uid=claim.uid,
        namespace=claim.namespace,
        name=claim.name,
        device_class=claim.class_of(result.request),
        share_id=result.share_id,
        tenants=len(claim.pods),
        consumed=result.consumed,
    )


def _add_pool(work: _Work, pool: DevicePool) -> None:
    if not pool.is_complete:
        work.faults.append(
            Fault(
                "pool-incomplete",
                f"Pool {pool.name} of {pool.driver} has {len(pool.slices)} of "
                f"{pool.slices[0].slice_count} slices: what it holds is not certain now.",
            )
        )
    devices = _devices(pool)
    taken = [one for one in devices if (pool.driver, pool.name, one.name) in work.holders]
    left = partitions.left_over(pool.counter_sets, taken)
    work.left[pool.driver, pool.name] = left
    whole_of_set = {
        use.counter_set: one.uuid
        for one in devices
        if one.uuid and one.type not in PARTITION_TYPES
        for use in one.consumes
    }
    # Twins that only share a PCI address come last, when the card's own name is known.
    for device in sorted(devices, key=lambda one: one.type == "vfio"):
        key = _card_key(pool, device, whole_of_set, work.by_pci)
        group = work.groups.setdefault(key, _Group(key))
        group.uses.append(_use(work, pool, device, left))
        group.is_certain = group.is_certain and pool.is_complete


def _devices(pool: DevicePool) -> list[Device]:
    """Each name once, the newest slice's word for it."""
    found: dict[str, Device] = {}
    for part in pool.known:
        for device in part.devices:
            if is_counted(pool.driver, device):
                found.setdefault(device.name, device)
    return list(found.values())


def _use(work: _Work, pool: DevicePool, device: Device, left: partitions.Left) -> DeviceUse:
    held = work.holders.get((pool.driver, pool.name, device.name), ())
    taints = [taint for taint in device.taints if taint.keeps_away]
    taints += [
        rule.taint
        for rule in work.rules
        if rule.taint.keeps_away and rule.matches(pool.driver, pool.name, device.name)
    ]
    if not pool.is_complete:
        state = State.UNKNOWN
    elif taints:
        state = State.UNHEALTHY
    else:
        state = State.DRA if held else State.FREE
    return DeviceUse(
        driver=pool.driver,
        pool=pool.name,
        device=device,
        state=state,
        holders=tuple(held),
        taints=tuple(str(taint) for taint in taints),
        is_blocked=state is State.FREE and not partitions.fits(left, device),
    )


def _card_key(
    pool: DevicePool, device: Device, whole_of_set: dict[str, str], by_pci: dict[str, str]
) -> str:
    sets = [use.counter_set for use in device.consumes]
    own = "" if device.type in PARTITION_TYPES or device.type == "vfio" else device.uuid
    key = (
        device.parent
        or own
        or next((whole_of_set[name] for name in sets if name in whole_of_set), "")
        or (f"pci:{device.pci_bus_id}" if device.pci_bus_id else "")
        or f"{pool.driver}/{pool.name}/{sets[0] if sets else device.name}"
    )
    return by_pci.setdefault(device.pci_bus_id, key) if device.pci_bus_id else key


def unit_name(device: Device) -> str:
    """A partition's profile, or "whole" (and its kind where a driver tells several apart)."""
    if device.profile or device.type in PARTITION_TYPES:
        return device.profile or device.type
    return WHOLE if device.type in ("", "gpu", "amdgpu") else device.type


def _block_twins(group: _Group) -> None:
    """Without counters the driver says nothing of it, yet a card cannot be used whole (or passed
    through) while another of its devices is held, nor the other way round."""
    held = [use for use in group.uses if use.holders]
    if not held or len(group.uses) == 1:
        return
    whole_is_held = any(_is_all_of_card(use.device) for use in held)
    for place, use in enumerate(group.uses):
        twin = use.state is State.FREE and not use.device.consumes
        if twin and (whole_is_held or _is_all_of_card(use.device)):
            group.uses[place] = replace(use, is_blocked=True)


def _is_all_of_card(device: Device) -> bool:
    return unit_name(device) in (WHOLE, "vfio")


def _units(work: _Work) -> list[Unit]:
    uses: dict[str, list[DeviceUse]] = {}
    for group in work.groups.values():
        for use in group.uses:
            uses.setdefault(unit_name(use.device), []).append(use)
    names = sorted(uses, key=lambda name: (name != WHOLE, profile_key(name)))
    return [_unit(work, name, uses[name]) for name in names]


def _unit(work: _Work, name: str, uses: list[DeviceUse]) -> Unit:
    open_by_pool: dict[tuple[str, str], list[Device]] = {}
    for use in uses:
        if use.state is State.FREE and not use.is_blocked:
            open_by_pool.setdefault((use.driver, use.pool), []).append(use.device)
    is_partition = name not in (WHOLE, "vfio")
    is_open = is_partition and any(use.device.consumes for use in uses)
    return Unit(
        path=Path.DRA,
        name=name,
        total=None if is_open else sum(not use.is_vanished for use in uses),
        used=sum(bool(use.holders) for use in uses),
        further=sum(
            partitions.further(devices, work.left[pool]) for pool, devices in open_by_pool.items()
        ),
        unhealthy=sum(use.state is State.UNHEALTHY and not use.holders for use in uses),
    )


def _add_vanished(work: _Work, pools: Sequence[DevicePool]) -> None:
    """Devices that claims hold though no slice has them: still used, and worth a look."""
    known = {
        (use.driver, use.pool, use.device.name)
        for group in work.groups.values()
        for use in group.uses
    }
    incomplete = {(pool.driver, pool.name) for pool in pools if not pool.is_complete}
    for (driver, pool, name), held in sorted(work.holders.items()):
        if (driver, pool, name) in known or driver in OTHER_DRIVERS:
            continue
        is_certain = (driver, pool) not in incomplete
        use = DeviceUse(
            driver=driver,
            pool=pool,
            device=Device(name=name, type="mig" if MIG_NAME.fullmatch(name) else ""),
            state=State.DRA if is_certain else State.UNKNOWN,
            holders=tuple(held),
            is_vanished=True,
        )
        group = _home(use, work.groups)
        group.uses.append(use)
        group.is_certain = group.is_certain and is_certain
        work.faults.append(
            Fault(
                "vanished",
                f"{held[0].namespace}/{held[0].name} holds {name} of pool {pool}, which {driver} "
                "no longer publishes. It is counted as used.",
            )
        )


def _home(use: DeviceUse, groups: dict[str, _Group]) -> _Group:
    """The card that a vanished device was on, by the driver's way of naming, or one of its own."""
    base = _base(use.device.name)
    for group in groups.values():
        for other in group.uses:
            same_pool = (other.driver, other.pool) == (use.driver, use.pool)
            if same_pool and _base(other.device.name) == base:
                return group
    key = f"{use.driver}/{use.pool}/{base}"
    return groups.setdefault(key, _Group(key))


def _base(name: str) -> str:
    found = MIG_NAME.fullmatch(name)
    return found[1] if found else name


def _card(group: _Group, doubt: str) -> Card:
    uses = group.uses
    state, reason = _state(group, doubt)
    main = next((use.device for use in uses if unit_name(use.device) == WHOLE), uses[0].device)
    is_main = unit_name(main) == WHOLE
    return Card(
        key=group.key,
        state=state,
        path=Path.DRA,
        mode=_mode(uses),
        product=main.product,
        memory_mib=main.memory_mib if is_main else None,
        reason=reason,
        devices=tuple(uses),
    )


def _state(group: _Group, doubt: str) -> tuple[State, str]:
    uses = group.uses
    if doubt or not group.is_certain:
        return State.UNKNOWN, doubt or "its pool is not complete"
    tainted = [use for use in uses if use.taints]
    wholes = [use for use in uses if unit_name(use.device) == WHOLE and not use.is_vanished]
    if tainted and (len(tainted) == len(uses) or any(use.taints for use in wholes)):
        return State.UNHEALTHY, ", ".join(sorted({t for use in tainted for t in use.taints}))
    if any(use.holders for use in uses):
        return State.DRA, ""
    return State.FREE, ""


def _mode(uses: Sequence[DeviceUse]) -> str:
    devices = [use.device for use in uses]
    if any(device.type == "mig" or MIG_NAME.fullmatch(device.name) for device in devices):
        return "mig"
    if any(device.type in PARTITION_TYPES or device.profile for device in devices):
        return "partitions"
    return "shared" if any(device.is_shared for device in devices) else "whole"


def _overlap(group: _Group) -> list[Fault]:
    """A whole card published beside its partitions, with no counters to keep them apart."""
    plain = [use for use in group.uses if not use.device.consumes and not use.is_vanished]
    wholes = [use for use in plain if unit_name(use.device) == WHOLE]
    parts = [use for use in plain if not _is_all_of_card(use.device)]
    if not (wholes and parts):
        return []
    return [
        Fault(
            "whole-and-partitions",
            f"{wholes[0].device.name} of pool {wholes[0].pool} is published whole and in "
            f"{len(parts)} partitions, and nothing keeps both from being handed out.",
        )
    ]
