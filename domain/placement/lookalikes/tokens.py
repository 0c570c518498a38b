"""Small numbers for what devices publish: equal numbers, equal content.

Values that differ from device to device (a uuid, a serial number) would make every device unlike
all others. Which attributes do so is counted on a sample; of these only the name and kind are part
of the content, and whoever reads their value has to look at it by itself.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import orjson

from domain.placement.devices import Device

SAMPLE = 2048
MOST_KINDS = 16
"""Attributes with no more distinct values than this, or one in 64 devices, stay in the content."""

_PLAIN = ("string", "int", "bool")


def identifying(devices: Iterable[Device]) -> frozenset[str]:
    """The names, as published, of attributes whose values tell devices apart."""
    values: dict[str, set[Hashable]] = defaultdict(set)
    odd: set[str] = set()
    count = 0
    for device in islice(devices, SAMPLE):
        count += 1
        for name, attribute in device.view.attributes.items():
            value = _plain(attribute)
            if value is None:
                odd.add(name)
            else:
                values[name].add(value)
    most = max(MOST_KINDS, count // 64)
    return frozenset(name for name, seen in values.items() if len(seen) > most and name not in odd)


def _plain(attribute: Mapping[str, Any]) -> Hashable | None:
    """The value of an attribute that no selector can fail to read; None for any other kind."""
    if len(attribute) != 1:
        return None
    for kind, value in attribute.items():
        if kind in _PLAIN and isinstance(value, str | int):
            return kind, value
    return None


@dataclass(slots=True)
class Tokens:
    """Hands out numbers. Shared by a fleet and all that come from it; grows with content only."""

    identifying: frozenset[str]
    known: dict[Hashable, int] = field(default_factory=dict)
    identifying_names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.identifying_names = frozenset(map(_last, self.identifying))

    def of(self, content: Hashable) -> int:
        return self.known.setdefault(content, len(self.known))

    def reads_identity(self, name: str) -> bool:
        """Whether an attribute of this name may be one whose value is not in the content."""
        return _last(name) in self.identifying_names

    def device(self, device: Device, taints: Hashable) -> int:
        """What of a device the search looks at, its name included since what is in use goes by
        names. `taints`: what rules put on it."""
        shown: Mapping[str, Any] = device.view.attributes
        if not self.identifying.isdisjoint(shown):
            shown = {
                name: next(iter(value))
                if name in self.identifying and _plain(value) is not None
                else value
                for name, value in shown.items()
            }
        content = orjson.dumps((device.id.device, shown, device.view.capacity))
        return self.of((content, _rest(device), taints))


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def _rest(device: Device) -> Hashable:
    """Everything beside attributes and capacity; the common case is nothing at all."""
    plain = not (
        device.consumes
        or device.taints
        or device.binding_conditions
        or device.binding_failure_conditions
        or device.binds_to_node
    )
    if plain:
        return device.shared
    return (
        device.shared,
        device.binds_to_node,
        device.binding_conditions,
        device.binding_failure_conditions,
        device.taints,
        tuple(
            (use.counter_set, tuple(sorted(use.counters.items())), use.groups)
            for use in device.consumes
        ),
    )
