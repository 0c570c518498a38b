"""What the drivers of a fleet publish: drivers, domains, names, kinds, and on how many devices."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from domain.placement.cel.device import DeviceView, Path


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
        found = cls()
        for view in views:
            found.add(view)
        return found

    def add(self, view: DeviceView) -> None:
        self.devices += 1
        self.drivers[view.driver] += 1
        for part, values in (("attributes", view.attributes), ("capacity", view.capacity)):
            for qualified, value in values.items():
                domain, slash, name = qualified.partition("/")
                path = Path(part, domain, name) if slash else Path(part, view.driver, qualified)
                kind = "quantity" if part == "capacity" else next(iter(value), "")
                self.kinds[path][kind] += 1
                self.by_driver[path][view.driver] += 1
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
