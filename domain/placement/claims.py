"""What users ask for: claims, requests, constraints, and the classes they name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from domain.placement.amounts import Amount
from domain.placement.devices import DeviceID, Taint

EXACT_COUNT = "ExactCount"
ALL = "All"
MOST_RESULTS = 32
"""The API's limit of devices in one claim's allocation."""


@dataclass(frozen=True, slots=True)
class Toleration:
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def tolerates(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        return self.operator == "Exists"


@dataclass(frozen=True, slots=True)
class Request:
    """One thing to allocate: a request of its own, or one alternative of a prioritised list.

    `selectors` holds CEL text, or None where the selector is of a kind unknown today.
    """

    name: str
    class_name: str
    mode: str = EXACT_COUNT
    count: int = 1
    parent: str = ""
    admin_access: bool | None = None
    selectors: tuple[str | None, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    capacities: Mapping[str, Amount] | None = None
    derived: tuple[tuple[str, str], ...] = ()

    @property
    def full_name(self) -> str:
        """As results and constraints spell it: `main` or `main/sub`."""
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def is_admin(self) -> bool:
        return bool(self.admin_access)

    def named_in(self, names: frozenset[str]) -> bool:
        """An empty list of names means every request."""
        if not names:
            return True
        return self.full_name in names or (bool(self.parent) and self.parent in names)


@dataclass(frozen=True, slots=True)
class RequestLine:
    """An entry of spec.devices.requests: exactly one thing, or the first available of several."""

    name: str
    alternatives: tuple[Request, ...]
    is_prioritized: bool = False


@dataclass(frozen=True, slots=True)
class Constraint:
    requests: frozenset[str] = frozenset()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """`parameters` is everything that is handed to the driver, as written."""

    requests: tuple[str, ...]
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DeviceClass:
    name: str
    selectors: tuple[str | None, ...] = ()
    configs: tuple[Config, ...] = ()
    extended_resource: str = ""
    created: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    namespace: str
    name: str
    uid: str
    lines: tuple[RequestLine, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    configs: tuple[Config, ...] = ()

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Holding:
    """One device that an allocated claim holds."""

    device: DeviceID
    share: str | None = None
    consumed: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """What the cluster knows of a claim that exists: its state, and what it holds if allocated."""

    namespace: str
    name: str
    uid: str
    holdings: tuple[Holding, ...] = ()
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_allocated(self) -> bool:
        return bool((self.raw.get("status") or {}).get("allocation"))
