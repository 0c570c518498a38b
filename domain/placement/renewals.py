"""What a new version of a class or of a pattern changes: devices that it matches, claims that fit.

Claims that are allocated keep their devices whatever becomes of their class; the question is
whether each would find devices if it started anew.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from domain.placement.asked import read_claim
from domain.placement.cel import SelectorError
from domain.placement.claims import ALL, Claim, Held
from domain.placement.devices import Device, DeviceID
from domain.placement.faults import Malformed, PlacementError
from domain.placement.features import Features
from domain.placement.fleet import Delete, Fleet, apply
from domain.placement.placing import place
from domain.placement.verdicts import CompileError, selector

Raw = Mapping[str, Any]
MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Difference:
    """Devices that only the earlier (lost) or only the later (gained) selectors match."""

    before: int
    after: int
    lost: tuple[DeviceID, ...]
    gained: tuple[DeviceID, ...]
    lost_count: int
    gained_count: int


def difference(fleet: Fleet, before: Sequence[str], after: Sequence[str]) -> Difference:
    """A selector that fails on a device does not match it."""
    had = have = 0
    lost: list[DeviceID] = []
    gained: list[DeviceID] = []
    for one in fleet.slices.by_name.values():
        for device in one.devices:
            was, will = _matches(before, device), _matches(after, device)
            had, have = had + was, have + will
            if was and not will:
                lost.append(device.id)
            elif will and not was:
                gained.append(device.id)
    named = (tuple(lost[:MOST_NAMED]), tuple(gained[:MOST_NAMED]))
    return Difference(had, have, *named, len(lost), len(gained))


def _matches(expressions: Iterable[str], device: Device) -> bool:
    try:
        return all(selector(text).accepts(device.view) for text in expressions)
    except (CompileError, SelectorError, PlacementError):
        return False


Outcome = Literal["fits", "nowhere", "refused"]


@dataclass(frozen=True, slots=True)
class Renewal:
    """Whether a claim would find devices if it were made anew. reason: why not."""

    claim: str
    is_allocated: bool
    outcome: Outcome
    reason: str = ""


def renew(
    fleet: Fleet,
    features: Features,
    asked: Iterable[tuple[Held, Raw | str]],
    is_over: Callable[[], bool] = lambda: False,
) -> Iterator[Renewal]:
    """One answer for each claim, in order, until the time is over.

    `asked` pairs a claim with what it would be, or with why it could not be asked for any more.
    fleet: as it would be with the new version.
    """
    devices = {device.id: device for one in fleet.slices.by_name.values() for device in one.devices}
    for held, new in asked:
        if is_over():
            return
        name = f"{held.namespace}/{held.name}"
        if isinstance(new, str):
            yield Renewal(name, held.is_allocated, "refused", new)
            continue
        if held.is_allocated and _keeps_its_own(fleet, held, new, devices):
            yield Renewal(name, True, "fits")
            continue
        rest = apply(fleet, Delete("ResourceClaim", held.namespace, held.name))
        last = place(rest, [new], None, "first", features)[-1]
        fits = last.fits
        yield Renewal(
            name, held.is_allocated, "fits" if fits else "nowhere", "" if fits else last.reason
        )


def _keeps_its_own(fleet: Fleet, held: Held, new: Raw, devices: Mapping[DeviceID, Device]) -> bool:
    """Whether what it holds would do: the same shape of claim, and every device still matches.

    Only for plain claims: exact counts of the same number. Others are put to the engine.
    """
    try:
        old, now = read_claim(held.raw), read_claim(new)
    except Malformed:
        return False
    if _shape(old) != _shape(now):
        return False
    results = (((held.raw.get("status") or {}).get("allocation") or {}).get("devices") or {}).get(
        "results"
    ) or ()
    wanted = {line.name: line.alternatives[0] for line in now.lines}
    for result in results:
        request = wanted.get(str(result.get("request")))
        device = devices.get(
            DeviceID(str(result.get("driver")), str(result.get("pool")), str(result.get("device")))
        )
        owner = fleet.classes.get(request.class_name) if request is not None else None
        if request is None or device is None or owner is None:
            return False
        texts = [text for text in (*owner.selectors, *request.selectors) if text is not None]
        if not _matches(texts, device):
            return False
    return bool(results)


def _shape(claim: Claim) -> object:
    """What decides besides selectors; equal to nothing for what is not plain."""
    found = []
    for line in claim.lines:
        if line.is_prioritized or len(line.alternatives) != 1:
            return object()
        request = line.alternatives[0]
        if request.mode == ALL:
            return object()
        found.append(replace(request, selectors=()))
    return found, claim.constraints
