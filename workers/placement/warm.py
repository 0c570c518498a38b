"""Snapshots kept warm: built once from rows, then brought up to date object by object.

The revision of each kind says what was read; rows and `Gone` rows above it are what changed. A
snapshot that was left alone longer than `Gone` rows are kept is built anew.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from django.db import connection, transaction
from django.utils import timezone

from apps.inventory.models import Cluster, Gone, Revision
from domain.errors import DomainError
from domain.placement import Change, Delete, Features, Fleet, Upsert, apply_all, warm
from domain.placement.undisturbed import undisturbed

KINDS = {
    "resourceslices": ("resource.k8s.io/v1", "ResourceSlice"),
    "deviceclasses": ("resource.k8s.io/v1", "DeviceClass"),
    "devicetaintrules": ("resource.k8s.io/v1", "DeviceTaintRule"),
    "resourceclaims": ("resource.k8s.io/v1", "ResourceClaim"),
    "resourceclaimtemplates": ("resource.k8s.io/v1", "ResourceClaimTemplate"),
    "nodes": ("v1", "Node"),
    "pods": ("v1", "Pod"),
}
NEEDED = ("resourceslices", "deviceclasses", "nodes")
FORGOTTEN_AFTER_SECONDS = 1800


class NotMirrored(DomainError):
    """The cluster has not been read yet, so nothing can be said of it."""

    code = "not_mirrored"


@dataclass(slots=True)
class Snapshot:
    """A cluster as of `revisions`; `heard_at` is when its watch last heard from it."""

    cluster: Cluster
    fleet: Fleet
    revisions: dict[str, int]
    heard_at: datetime | None
    read_at: float = field(default_factory=time.monotonic)

    @property
    def revision(self) -> str:
        """One text that changes with any kind's revision, for people and for ETags."""
        return ".".join(str(self.revisions.get(kind, 0)) for kind in KINDS)

    @property
    def features(self) -> Features:
        return features_of(self.cluster.version)

    def age_seconds(self, now: datetime) -> float | None:
        return None if self.heard_at is None else max(0.0, (now - self.heard_at).total_seconds())


def features_of(version: str) -> Features:
    """The default gates of the cluster's release; of the newest one known for a later release."""
    digits = version.removeprefix("v").split(".")
    try:
        minor = int(digits[1].rstrip("+")) if digits[0] == "1" else 37
    except (IndexError, ValueError):
        minor = 37
    return Features.preset(f"1.{min(max(minor, 34), 37)}")


class Snapshots:
    """One process's snapshots by cluster id. Not for several threads."""

    def __init__(self) -> None:
        self._held: dict[int, Snapshot] = {}

    def of(self, cluster_id: int) -> Snapshot:
        """The snapshot, brought up to date; raises NotMirrored before the first full lists."""
        held = self._held.get(cluster_id)
        if held is None or time.monotonic() - held.read_at > FORGOTTEN_AFTER_SECONDS:
            self._held.pop(cluster_id, None)
            held = None
        with _one_moment():
            cluster = Cluster.objects.filter(pk=cluster_id, retired_at=None).first()
            if cluster is None:
                raise NotMirrored("This cluster is not registered any more.")
            revisions = _revisions(cluster)
            changes = list(_changes(cluster_id, {} if held is None else held.revisions, revisions))
        if held is None:
            with undisturbed():
                fleet = apply_all(Fleet(), changes)
                warm(fleet, features_of(cluster.version))
        else:
            fleet = apply_all(held.fleet, changes)
            warm(fleet, features_of(cluster.version))
        made = Snapshot(cluster, fleet, revisions, cluster.heard_at)
        self._held[cluster_id] = made
        return made

    def refresh_held(self) -> None:
        """Keep what was asked for before warm; a cluster that went away is forgotten."""
        for cluster_id in list(self._held):
            try:
                self.of(cluster_id)
            except NotMirrored:
                self._held.pop(cluster_id, None)


@contextmanager
def _one_moment() -> Iterator[None]:
    """All rows of one instant: a slice and the claim that holds it must belong together.

    Inside a caller's transaction its isolation stays as it is.
    """
    is_outermost = not connection.in_atomic_block
    with transaction.atomic():
        if is_outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


def _revisions(cluster: Cluster) -> dict[str, int]:
    rows = Revision.objects.filter(cluster=cluster, kind__in=KINDS)
    listed = {row.kind: row for row in rows}
    missing = [kind for kind in NEEDED if kind not in listed or listed[kind].listed_at is None]
    if missing:
        raise NotMirrored(
            f"{cluster.name} has not been read yet (waiting for {', '.join(missing)}); try again."
        )
    return {kind: row.value for kind, row in listed.items()}


def _changes(cluster_id: int, known: dict[str, int], wanted: dict[str, int]) -> Iterator[Change]:
    for kind, value in wanted.items():
        since = known.get(kind)
        if since == value:
            continue
        if since is not None:
            yield from _deletions(cluster_id, kind, since)
        for body in _bodies(cluster_id, kind, -1 if since is None else since):
            yield Upsert(_named(kind, body))


def _deletions(cluster_id: int, kind: str, since: int) -> Iterator[Delete]:
    gone = Gone.objects.filter(cluster_id=cluster_id, kind=kind, revision__gt=since)
    for namespace, name in gone.order_by("revision").values_list("namespace", "name"):
        yield Delete(KINDS[kind][1], namespace, name)


def _bodies(cluster_id: int, kind: str, since: int) -> Iterator[Any]:
    """Decoded by orjson from text: a cold build reads tens of thousands of them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT body::text FROM inventory_mirrored"
            " WHERE cluster_id = %s AND kind = %s AND revision > %s ORDER BY name",
            [cluster_id, kind, since],
        )
        while rows := cursor.fetchmany(1000):
            yield from (orjson.loads(row[0]) for row in rows)


def _named(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    version, name = KINDS[kind]
    return {"apiVersion": version, "kind": name, **body}


def answered_from(snapshot: Snapshot) -> dict[str, Any]:
    """What every answer states of its source: the cluster, the revision and its age."""
    return {
        "cluster": snapshot.cluster.slug,
        "revision": snapshot.revision,
        "age_seconds": snapshot.age_seconds(timezone.now()),
        "faults": [
            {
                "kind": fault.kind,
                "namespace": fault.namespace,
                "name": fault.name,
                "reason": fault.reason,
            }
            for fault in list(snapshot.fleet.faults.values())[:20]
        ],
    }
