"""A batch into rows: one transaction, fenced by the leader's epoch."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
import structlog
from django.db import DataError, IntegrityError, connection, transaction
from django.utils import timezone

from apps.common import bulk
from apps.inventory.models import Device, Gone, Mirrored, Node, Pod, Revision, WatchLease
from apps.inventory.snapshot import events, rows
from apps.inventory.snapshot.batch import Batch, Drop, Put
from apps.inventory.snapshot.events import moment
from apps.inventory.snapshot.intake import Versions
from apps.inventory.snapshot.known import rules
from apps.inventory.snapshot.lease import Leadership
from apps.inventory.snapshot.mirror import Mirror

log = structlog.get_logger(__name__)

CHANNEL = "claimyard_inventory"
CARDS, USES, DEVICE_PODS, EVENTS = "cards", "uses", "device-pods", "events"
GONE_SECONDS = 3600

# Writes rows of a higher room in the same transaction; returns the kinds that changed.
Writer = Callable[[int, Batch, Mirror, datetime], Iterable[str]]


@dataclass(slots=True)
class Stored:
    """What the database is known to hold, so that only differences are sent to it.

    `nodes` maps a node to its digest, `devices` a node to the hashes of its devices' rows by key.
    """

    nodes: dict[str, str] = field(default_factory=dict)
    devices: dict[str, dict[tuple[str, ...], int]] = field(default_factory=dict)
    is_compared: bool = False  # with the cluster, once, after everything was listed
    is_trusted: bool = False  # all of it was counted, by the rules we have


def store(
    leadership: Leadership,
    batch: Batch,
    mirror: Mirror,
    stored: Stored,
    *,
    can_count: bool,
    writers: Iterable[Writer] = (),
) -> set[str]:
    """Write everything the batch brought; returns the kinds that changed.

    Raises NotLeading, having written nothing, when somebody else leads. When it raises anything
    else nothing was written either, and the same batch may be stored again.
    """
    now = batch.at or timezone.now()
    touched = set(mirror.touched) if can_count else set()
    moved = set(mirror.moved) if can_count else set()
    is_first = can_count and not stored.is_compared
    if is_first and not stored.is_trusted:
        touched |= stored.nodes.keys()  # a node may have gone while nobody looked
    plan = _Plan(leadership.cluster_id, mirror, stored)
    plan.count(touched)
    with transaction.atomic():
        leadership.fence()
        changed = {kind for kind, puts in batch.puts.items() if puts}
        changed |= {kind for kind, drops in batch.drops.items() if drops}
        if plan.has_changes:
            changed.add(CARDS)
        if can_count:
            _write_pods(leadership.cluster_id, batch, mirror, changed)
            for write in writers:
                changed |= set(write(leadership.cluster_id, batch, mirror, now))
        if events.write(leadership.cluster_id, batch):
            changed.add(EVENTS)
        revisions = _raise(leadership.cluster_id, changed, batch, now)
        _write_objects(leadership.cluster_id, batch, revisions, now)
        plan.write()
        if is_first or (batch.puts and not can_count):
            leadership.counted(rules() if can_count else "")
        if changed:
            _notify(leadership.cluster_id)
    plan.remember()
    mirror.touched -= touched
    mirror.moved -= moved
    stored.is_compared = stored.is_compared or can_count
    return changed


def _notify(cluster_id: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, str(cluster_id)])


def _raise(cluster_id: int, changed: set[str], batch: Batch, now: datetime) -> dict[str, int]:
    """Raise the revisions of what changed, and note the full lists and what was unreadable."""
    if not (changed or batch.listed or batch.malformed):
        return {}
    names = changed | batch.listed | set(batch.malformed)
    Revision.objects.bulk_create(
        [Revision(cluster_id=cluster_id, kind=name) for name in sorted(names)],
        ignore_conflicts=True,
    )
    with connection.cursor() as cursor:
        # In one order always, so that two writers never wait for each other in a circle.
        cursor.execute(
            "SELECT id FROM inventory_revision WHERE cluster_id = %s AND kind = ANY(%s)"
            " ORDER BY kind FOR UPDATE",
            [cluster_id, sorted(names)],
        )
        cursor.execute(
            "UPDATE inventory_revision SET value = value + 1, changed_at = %s"
            " WHERE cluster_id = %s AND kind = ANY(%s) RETURNING kind, value",
            [now, cluster_id, sorted(changed)],
        )
        found = dict(cursor.fetchall())
    mine = Revision.objects.filter(cluster_id=cluster_id)
    if batch.listed:
        mine.filter(kind__in=batch.listed).update(listed_at=now, problem="")
    for kind, malformed in batch.malformed.items():
        mine.filter(kind=kind).update(malformed=list(malformed.values()))
    return found


# --- Objects
_OBJECT_COLUMNS = (
    "cluster_id",
    "kind",
    "uid",
    "namespace",
    "name",
    "resource_version",
    "revision",
    "body",
)
_OBJECT_KEY = ("cluster_id", "kind", "uid")


def _write_objects(cluster_id: int, batch: Batch, revisions: dict[str, int], now: datetime) -> None:
    for kind, drops in batch.drops.items():
        if drops:
            _forget(cluster_id, kind, list(drops.values()), revisions[kind], now)
    for kind, puts in batch.puts.items():
        if not puts:
            continue
        new: list[rows.Row] = []
        known: list[rows.Row] = []
        for put in puts.values():
            row = _object_row(cluster_id, kind, put, revisions[kind])
            (new if put.is_new else known).append(row)
        try:
            with transaction.atomic():
                bulk.insert(Mirrored, _OBJECT_COLUMNS, new)
                bulk.upsert(Mirrored, _OBJECT_COLUMNS, known, key=_OBJECT_KEY)
        except (DataError, IntegrityError):
            _write_one_by_one([*new, *known])


def _object_row(cluster_id: int, kind: str, put: Put, revision: int) -> tuple[Any, ...]:
    return (
        cluster_id,
        kind,
        put.uid,
        put.namespace,
        put.name,
        put.resource_version,
        revision,
        put.body,
    )


def _write_one_by_one(found: list[tuple[Any, ...]]) -> None:
    """One object that the database refuses must not keep out the others."""
    for row in found:
        try:
            with transaction.atomic():
                bulk.upsert(Mirrored, _OBJECT_COLUMNS, [row], key=_OBJECT_KEY)
        except DataError as error:
            log.warning("object not kept", kind=row[1], name=row[4], why=str(error)[:200])


def _forget(cluster_id: int, kind: str, drops: list[Drop], revision: int, now: datetime) -> None:
    uids = [drop.uid for drop in drops]
    Mirrored.objects.filter(cluster_id=cluster_id, kind=kind, uid__in=uids).delete()
    if kind == "pods":
        Pod.objects.filter(cluster_id=cluster_id, uid__in=uids).delete()
    Gone.objects.bulk_create(
        [
            Gone(
                cluster_id=cluster_id,
                kind=kind,
                uid=drop.uid,
                namespace=drop.namespace,
                name=drop.name,
                revision=revision,
                at=now,
            )
            for drop in drops
        ]
    )


# --- Pods
_POD_COLUMNS = (
    "cluster_id",
    "uid",
    "namespace",
    "name",
    "resource_version",
    "node_name",
    "phase",
    "is_ready",
    "requests",
    "claims",
    "tenant",
    "deployment",
    "model_pool",
    "waiting",
    "labels",
    "containers",
    "ip",
    "created_at",
    "started_at",
)


def _write_pods(cluster_id: int, batch: Batch, mirror: Mirror, changed: set[str]) -> None:
    found = [
        (
            cluster_id,
            pod.uid,
            pod.namespace,
            pod.name,
            version,
            pod.node_name,
            pod.phase[: rows.LONGEST],
            pod.is_ready,
            _json(dict(pod.requests)),
            _json(list(pod.claims)),
            pod.owner.tenant or mirror.tenants.get(pod.namespace, ""),
            pod.owner.deployment,
            pod.owner.pool,
            details["waiting"],
            _json(details["labels"]),
            _json(details["containers"]),
            details["ip"],
            moment(pod.created_at),
            moment(pod.running_at),
        )
        for pod, details, version in batch.pods.values()
    ]
    if bulk.is_empty(Pod.objects.filter(cluster_id=cluster_id), len(found)):
        bulk.insert(Pod, _POD_COLUMNS, found)
    else:
        bulk.upsert(Pod, _POD_COLUMNS, found, key=("cluster_id", "uid"))
    if found or batch.drops.get("pods"):
        changed.add(DEVICE_PODS)


# --- Cards
class _Plan:
    """The nodes that have to be counted again, and what that changes in the database."""

    def __init__(self, cluster_id: int, mirror: Mirror, stored: Stored) -> None:
        self.cluster_id, self.mirror, self.stored = cluster_id, mirror, stored
        self.nodes: list[rows.Row] = []
        self.devices: list[rows.Row] = []
        self.gone_nodes: list[str] = []
        self.gone_devices: list[tuple[str, ...]] = []
        self.hashes: dict[str, dict[tuple[str, ...], int]] = {}
        self.is_first = not stored.nodes

    @property
    def has_changes(self) -> bool:
        return bool(self.nodes or self.gone_nodes)

    def count(self, touched: set[str]) -> None:
        for name in sorted(touched):
            count = self.mirror.count(name)
            if count is None:
                if name in self.stored.nodes:
                    self.gone_nodes.append(name)
                continue
            lot = self.mirror.lots[name]
            devices = rows.device_rows(self.cluster_id, count)
            row = rows.node_row(
                self.cluster_id, count, lot.node, lot.pools(), lot.pods.values(), devices
            )
            if self.stored.nodes.get(name) != row[-1]:
                self.nodes.append(row)
                self._compare(name, devices)

    def _compare(self, name: str, devices: list[rows.Row]) -> None:
        before = self.stored.devices.get(name)
        now = {row[1:5]: hash(row) for row in devices}
        self.hashes[name] = now
        known = before or {}
        self.devices += [row for row in devices if known.get(row[1:5]) != now[row[1:5]]]
        if before is None and not self.is_first:
            self._forget_unknown(name, now)
        else:
            self.gone_devices += [key for key in known if key not in now]

    def _forget_unknown(self, name: str, now: dict[tuple[str, ...], int]) -> None:
        """After a restart it is not known which rows the node has: ask."""
        there = Device.objects.filter(cluster_id=self.cluster_id, node_name=name)
        keys = there.values_list("node_name", "driver", "pool", "name")
        self.gone_devices += [key for key in keys if key not in now]

    def write(self) -> None:
        if self.gone_nodes:
            mine = {"cluster_id": self.cluster_id}
            Node.objects.filter(**mine, name__in=self.gone_nodes).delete()
            Device.objects.filter(**mine, node_name__in=self.gone_nodes).delete()
        for node, driver, pool, name in self.gone_devices:
            Device.objects.filter(
                cluster_id=self.cluster_id, node_name=node, driver=driver, pool=pool, name=name
            ).delete()
        if self.is_first:
            bulk.insert(Node, rows.NODE_COLUMNS, self.nodes)
            bulk.insert(Device, rows.DEVICE_COLUMNS, self.devices)
        else:
            bulk.upsert(Node, rows.NODE_COLUMNS, self.nodes, key=("cluster_id", "name"))
            bulk.upsert(Device, rows.DEVICE_COLUMNS, self.devices, key=rows.DEVICE_KEY)

    def remember(self) -> None:
        """After the commit: this is what the database holds now."""
        for name in self.gone_nodes:
            self.stored.nodes.pop(name, None)
            self.stored.devices.pop(name, None)
        for row in self.nodes:
            self.stored.nodes[row[1]] = row[-1]
        self.stored.devices.update(self.hashes)


def load(cluster_id: int) -> tuple[Versions, Versions, Stored]:
    """What the database holds of a cluster: objects, rows of claims and pods, and nodes."""
    stored: Versions = {}
    mirrored = Mirrored.objects.filter(cluster_id=cluster_id)
    for kind, uid, version, namespace, name in mirrored.values_list(
        "kind", "uid", "resource_version", "namespace", "name"
    ).iterator(chunk_size=5000):
        stored.setdefault(kind, {})[uid] = (version, namespace, name)
    pods = Pod.objects.filter(cluster_id=cluster_id).values_list(
        "uid", "resource_version", "namespace", "name"
    )
    detailed: Versions = {"pods": {uid: tuple(rest) for uid, *rest in pods}}  # type: ignore[misc]
    nodes = Node.objects.filter(cluster_id=cluster_id).values_list("name", "digest")
    leases = WatchLease.objects.filter(cluster_id=cluster_id, counted_by=rules())
    return stored, detailed, Stored(nodes=dict(nodes), is_trusted=leases.exists())


def _json(value: object) -> str:
    return orjson.dumps(value).decode().replace("\\u0000", "\\ufffd")
