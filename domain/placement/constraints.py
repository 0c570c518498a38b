"""matchAttribute and distinctAttribute: what the devices of a claim must share, or must not."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from domain.placement.claims import Claim, Constraint, Request
from domain.placement.devices import Attribute, Device
from domain.placement.faults import Fatal

Lookup = Callable[[Request, Device, str], Attribute | None]
"""Value of a fully qualified attribute, derived ones included."""

Values = tuple[str, frozenset[Any]]


class Rule(Protocol):
    """Monotonic: a device that is refused is refused however many more are added."""

    def add(self, request: Request, device: Device) -> bool: ...

    def remove(self, request: Request) -> None:
        """Undoes the last add that returned True for this request."""


def rules_of(claim: Claim, lookup: Lookup, *, lists: bool) -> list[Rule]:
    """`lists`: DRAListTypeAttributes, under which values are sets and a scalar is a set of one.

    Raises Fatal for a constraint of a kind that is not known.
    """
    return [_rule(claim, i, one, lookup, lists) for i, one in enumerate(claim.constraints)]


def _rule(claim: Claim, index: int, one: Constraint, lookup: Lookup, lists: bool) -> Rule:
    if one.match_attribute is not None:
        return Match(one.requests, one.match_attribute, lookup, lists)
    if one.distinct_attribute is not None:
        return Distinct(one.requests, one.distinct_attribute, lookup, lists)
    raise Fatal(
        f"claim {claim}, constraint #{index}: empty constraint (unsupported constraint type?)"
    )


@dataclass(slots=True)
class Match:
    """All devices share a value: the running intersection must not become empty."""

    requests: frozenset[str]
    attribute: str
    lookup: Lookup
    lists: bool
    shared: list[Values] = field(default_factory=list)

    def add(self, request: Request, device: Device) -> bool:
        if not request.named_in(self.requests):
            return True
        values = values_of(self.lookup(request, device, self.attribute), lists=self.lists)
        if values is None:
            return False
        if not self.shared:
            # In scalar mode the first device may even have a value of an unknown kind.
            if self.lists and not values[0]:
                return False
            self.shared.append(values)
            return True
        common = _common(self.shared[-1], values)
        if common is None:
            return False
        self.shared.append(common)
        return True

    def remove(self, request: Request) -> None:
        if request.named_in(self.requests):
            self.shared.pop()


@dataclass(slots=True)
class Distinct:
    """No two devices share a value; values of different types are different."""

    requests: frozenset[str]
    attribute: str
    lookup: Lookup
    lists: bool
    seen: list[Values] = field(default_factory=list)

    def add(self, request: Request, device: Device) -> bool:
        if not request.named_in(self.requests):
            return True
        values = values_of(self.lookup(request, device, self.attribute), lists=self.lists)
        if values is None:
            return False
        if not values[0] and (self.lists or self.seen):
            return False
        if any(_common(other, values) is not None for other in self.seen):
            return False
        self.seen.append(values)
        return True

    def remove(self, request: Request) -> None:
        if request.named_in(self.requests):
            self.seen.pop()


def values_of(attribute: Attribute | None, *, lists: bool) -> Values | None:
    """Kind and set of values; None without the attribute, kind "" where it cannot be compared."""
    if attribute is None:
        return None
    kind, value = attribute
    if kind.endswith("s"):
        return (kind[:-1], frozenset(value)) if lists and value else ("", frozenset())
    return kind, frozenset((value,))


def _common(left: Values, right: Values) -> Values | None:
    if left[0] != right[0] or not left[0]:
        return None
    shared = left[1] & right[1]
    return (left[0], shared) if shared else None
