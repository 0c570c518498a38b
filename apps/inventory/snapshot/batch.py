"""What a moment brought from a cluster, on its way into one transaction."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from domain.devices import ClaimUse, PodUse
from kube.client import Json


@dataclass(frozen=True, slots=True)
class Put:
    """An object to be mirrored: its identity and the JSON to keep."""

    uid: str
    namespace: str
    name: str
    resource_version: str
    body: str
    is_new: bool = False  # the database does not have it


@dataclass(frozen=True, slots=True)
class Drop:
    """An object that is gone."""

    uid: str
    namespace: str
    name: str


@dataclass(slots=True)
class Batch:
    """By kind (its plural) and uid, so that of several changes to one object the last is written.

    A uid is never in the puts and in the drops of a kind at once.
    """

    puts: dict[str, dict[str, Put]] = field(default_factory=dict)
    drops: dict[str, dict[str, Drop]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)  # claims and pods that went
    claims: dict[str, tuple[ClaimUse, str]] = field(default_factory=dict)
    pods: dict[str, tuple[PodUse, Json, str]] = field(default_factory=dict)
    events: dict[str, Json] = field(default_factory=dict)
    tenants: dict[str, str] = field(default_factory=dict)  # namespace -> tenant, where it changed
    listed: set[str] = field(default_factory=set)
    malformed: dict[str, dict[str, str]] = field(default_factory=dict)
    at: datetime | None = None

    def put(self, kind: str, put: Put) -> None:
        dropped = self.drops.get(kind, {}).pop(put.uid, None)
        self.gone.discard(put.uid)
        self.puts.setdefault(kind, {})[put.uid] = replace(put, is_new=False) if dropped else put

    def drop(self, kind: str, drop: Drop) -> None:
        self.drops.setdefault(kind, {})[drop.uid] = drop
        self.puts.get(kind, {}).pop(drop.uid, None)
        self.claims.pop(drop.uid, None)
        self.pods.pop(drop.uid, None)
        if kind in ("resourceclaims", "pods"):
            self.gone.add(drop.uid)

    def carried(self) -> "Batch":
        """The part that has to wait until everything was listed once: the uses of devices."""
        return Batch(claims=self.claims, pods=self.pods, gone=self.gone, tenants=self.tenants)

    @property
    def is_empty(self) -> bool:
        return not (
            any(self.puts.values())
            or any(self.drops.values())
            or self.events
            or self.listed
            or self.malformed
            or self.tenants
            or self.gone
            or self.claims
            or self.pods
        )
