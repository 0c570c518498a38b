"""Counters: what is left of a card after its partitions were taken (KEP-4815).

The sum of free memory says nothing: a 3g partition needs four neighbouring memory slices. So what
would still fit is found by placing, kind by kind, as ResourcePoolStatus' partitionSummary means it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from domain.devices import CounterSet, Device

Left = dict[tuple[str, str], int]
_NUMBER = re.compile(r"([0-9]+)\Z")


def left_over(sets: Mapping[str, CounterSet], taken: Iterable[Device]) -> Left:
    """Every counter minus what the taken devices consume; below zero where drivers overcommit."""
    left = {
        (name, counter): amount
        for name, counters in sets.items()
        for counter, amount in counters.counters
    }
    for device in taken:
        take(left, device)
    return left


def take(left: Left, device: Device) -> None:
    for use in device.consumes:
        for counter, amount in use.counters:
            key = (use.counter_set, counter)
            left[key] = left.get(key, 0) - amount


def fits(left: Left, device: Device) -> bool:
    """True when every counter that the device consumes still has enough; unknown sets never do."""
    return all(
        left.get((use.counter_set, counter), -1) >= amount
        for use in device.consumes
        for counter, amount in use.counters
        if amount > 0
    )


def further(devices: Sequence[Device], left: Left) -> int:
    """How many of these (untaken, of one kind) could be taken together.

    Devices of a kind are equally long runs of memory slices, for which taking whatever begins
    first is best.
    """
    rest = dict(left)
    count = 0
    for device in sorted(devices, key=_begin):
        if fits(rest, device):
            take(rest, device)
            count += 1
    return count


def _begin(device: Device) -> tuple[int, str]:
    """The first numbered counter (memory-slice-4) that it takes, then its name."""
    numbers = [
        int(found[1])
        for use in device.consumes
        for counter, amount in use.counters
        if amount > 0 and (found := _NUMBER.search(counter))
    ]
    return (min(numbers, default=0), device.name)
