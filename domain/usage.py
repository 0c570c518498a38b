"""Which part of a card a use is charged for: whole cards, partitions, shares, and a device plugin's
replicas.

A part is the largest share of anything that the use takes away from others: a partition of one of
seven compute slices and one of eight memory slices is a seventh of its card.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from domain.errors import InvalidValue
from domain.quantity import parse

WHOLE = 1.0
MIG = re.compile(r"mig-(\d+)g\.")
SLICES = 7

DeviceKey = tuple[str, str, str]  # driver, pool, device


def parts_of_slice(spec: Mapping[str, Any]) -> Iterator[tuple[DeviceKey, float]]:
    """The partitions that a slice publishes, with their parts of a card.

    `spec` is a ResourceSlice's. Counter sets may stand in another slice of the pool: then nothing
    is said, and the device counts as whole.
    """
    driver, pool = str(spec.get("driver", "")), str((spec.get("pool") or {}).get("name", ""))
    sets = {one.get("name"): one.get("counters") or {} for one in spec.get("sharedCounters") or ()}
    for device in spec.get("devices") or ():
        inside = device.get("basic") or device
        part = max(
            (
                _share(taken.get("value"), (sets.get(one.get("counterSet")) or {}).get(name))
                for one in inside.get("consumesCounters") or ()
                for name, taken in (one.get("counters") or {}).items()
            ),
            default=0.0,
        )
        if 0 < part < WHOLE:
            yield (driver, pool, str(device.get("name", ""))), part


def capacities_of_slice(spec: Mapping[str, Any]) -> Iterator[tuple[DeviceKey, dict[str, str]]]:
    """What can be shared of each device that may be allocated several times."""
    driver, pool = str(spec.get("driver", "")), str((spec.get("pool") or {}).get("name", ""))
    for device in spec.get("devices") or ():
        inside = device.get("basic") or device
        if inside.get("allowMultipleAllocations"):
            found = {
                name: str(one.get("value", ""))
                for name, one in (inside.get("capacity") or {}).items()
            }
            yield (driver, pool, str(device.get("name", ""))), found


def _share(taken: object, counter: object) -> float:
    whole = counter.get("value") if isinstance(counter, Mapping) else None
    return ratio(str(taken), str(whole)) if taken is not None and whole is not None else 0.0


def part_of_share(consumed: Mapping[str, str], capacity: Mapping[str, str]) -> float:
    """The part of a device that a share takes; whole where nothing tells."""
    found = max(
        (ratio(str(taken), capacity[name]) for name, taken in consumed.items() if name in capacity),
        default=0.0,
    )
    return min(found, WHOLE) or WHOLE


def part_of_resource(resource: str, units: int | None, cards: int | None) -> float:
    """The part of a card that one unit of a device plugin's resource is, on a node of `cards`."""
    profile = MIG.search(resource)
    if profile:
        return min(int(profile.group(1)) / SLICES, WHOLE)
    if units and cards and units > cards:
        return cards / units
    return WHOLE


def ratio(taken: str, whole: str) -> float:
    """0 where one of them is no quantity, or nothing is there to be taken from."""
    try:
        one, other = parse(taken), parse(whole)
    except (InvalidValue, ValueError):
        return 0.0
    return float(one / other) if other > 0 else 0.0
