"""Quota arithmetic: what a tenant may still ask for in a cluster.

Amounts are whole devices of a class, so sums are exact. A class without a limit is not allowed at
all: a quota is an allow-list. Both allocation paths charge the same class.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from domain.errors import QuotaExceeded

Amounts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Shortfall:
    resource: str
    limit: int | None  # None: the tenant has no quota for it
    used: int
    asked: int

    def __str__(self) -> str:
        if self.limit is None:
            return f"{self.resource}: this tenant has no quota for it in this cluster"
        free = max(self.limit - self.used, 0)
        return f"{self.resource}: asked for {self.asked}, {free} of {self.limit} left"


@dataclass(frozen=True, slots=True)
class Line:
    """One bar of a quota picture: what is used now and what would be after the change."""

    resource: str
    limit: int | None
    used: int
    after: int

    @property
    def fits(self) -> bool:
        return self.after <= self.used or (self.limit is not None and self.after <= self.limit)

    @property
    def percent_used(self) -> int:
        return _percent(self.used, self.limit)

    @property
    def percent_after(self) -> int:
        return _percent(self.after, self.limit)


def _percent(amount: int, limit: int | None) -> int:
    if not limit:
        return 100 if amount else 0
    return min(100, amount * 100 // limit)


def shortfalls(*, limits: Amounts, used: Amounts, asked: Amounts) -> list[Shortfall]:
    """Return every class for which `used + asked` would pass its limit; empty means it fits."""
    found = []
    for resource, amount in sorted(asked.items()):
        limit, spent = limits.get(resource), used.get(resource, 0)
        if amount > 0 and (limit is None or spent + amount > limit):
            found.append(Shortfall(resource, limit, spent, amount))
    return found


def require_room(*, limits: Amounts, used: Amounts, asked: Amounts) -> None:
    """Raise QuotaExceeded naming every class that falls short."""
    if missing := shortfalls(limits=limits, used=used, asked=asked):
        raise QuotaExceeded("Over quota. " + "; ".join(str(one) for one in missing) + ".")


def total(charges: Iterable[Amounts]) -> dict[str, int]:
    summed: dict[str, int] = {}
    for charge in charges:
        for resource, amount in charge.items():
            summed[resource] = summed.get(resource, 0) + amount
    return summed


def times(charge: Amounts, replicas: int) -> dict[str, int]:
    return {resource: amount * replicas for resource, amount in charge.items()}


def more(*, before: Amounts, after: Amounts) -> dict[str, int]:
    """What a change adds, per class; what it gives back is left out."""
    return {
        resource: amount - before.get(resource, 0)
        for resource, amount in after.items()
        if amount > before.get(resource, 0)
    }


def difference(*, before: Amounts, after: Amounts) -> dict[str, int]:
    """What a change adds (or, below zero, gives back) per class."""
    names = sorted({*before, *after})
    return {name: after.get(name, 0) - before.get(name, 0) for name in names}


def lines(*, limits: Amounts, used: Amounts, asked: Amounts) -> list[Line]:
    """The quota before and after, for every class that is limited, used or asked for."""
    names = sorted({*limits, *used, *asked})
    return [
        Line(name, limits.get(name), used.get(name, 0), used.get(name, 0) + asked.get(name, 0))
        for name in names
    ]
