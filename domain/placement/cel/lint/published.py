"""What the drivers of a fleet publish: drivers, domains, names, kinds, and on how many devices."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from domain.placement.cel.device import DeviceView, Path

type Make = tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def _make(view: DeviceView) -> Make:
    """Driver, names of attributes, their kinds, names of capacities."""
    kinds = tuple([next(iter(value), "") for value in view.attributes.values()])
    return view.driver, tuple(view.attributes), kinds, tuple(view.capacity)


@dataclass(slots=True)
class Published:
    """Counts over the devices of a fleet. `kinds` of a capacity are always {"quantity"}."""

    devices: int = 0
    drivers: Counter[str] = field(default_factory=Counter)
    kinds: dict[Path, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    by_driver: dict[Path, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    texts: dict[Path, str] = field(default_factory=dict)

    @classmethod
    def of(cls, views: Iterable[DeviceView]) -> Published:
        """Devices of one make differ in values, not in what they publish: counted once each."""
        makes: Counter[Make] = Counter()
        samples: dict[Make, DeviceView] = {}
        for view in views:
            make = _make(view)
            makes[make] += 1
            samples[make] = view
        found = cls()
        for make, count in makes.items():
            found._add(samples[make], count)
        return found

    def _add(self, view: DeviceView, count: int) -> None:
        self.devices += count
        self.drivers[view.driver] += count
        for part, values in (("attributes", view.attributes), ("capacity", view.capacity)):
            for qualified, value in values.items():
                domain, slash, name = qualified.partition("/")
                path = Path(part, domain, name) if slash else Path(part, view.driver, qualified)
                kind = "quantity" if part == "capacity" else next(iter(value), "")
                self.kinds[path][kind] += count
                self.by_driver[path][view.driver] += count
                if part == "capacity":
                    self.texts.setdefault(path, str(value.get("value", "")))

    def domains(self, part: str) -> set[str]:
        return {path.domain for path in self.kinds if path.part == part}

    def names(self, part: str, domain: str) -> set[str]:
        return {path.name for path in self.kinds if path[:2] == (part, domain)}

    def lacking(self, path: Path, drivers: frozenset[str]) -> int:
        """How many devices, of these drivers if any are given, do not have it."""
        having = self.by_driver.get(path, Counter())
        wanted = {d: n for d, n in self.drivers.items() if not drivers or d in drivers}
        return sum(count - having[driver] for driver, count in wanted.items())

    def most_common_kind(self, path: Path) -> str | None:
        kinds = self.kinds.get(path)
        return kinds.most_common(1)[0][0] if kinds else None
