"""Claims and uses of devices into rows, in the transaction in which the rest of a batch is stored.

A use begins with its allocation and ends when the claim lets go of the device, or the pod is over.
What happened while nobody looked ends at the time when it was found out.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import orjson
from django.db import connection

from apps.claims.models import Claim, Use
from apps.common import bulk
from apps.inventory.snapshot import Batch, Mirror
from apps.inventory.snapshot.events import moment
from apps.inventory.snapshot.store import USES
from domain.accelerators import OTHER_DRIVERS
from domain.devices import ClaimUse, Owner, PodUse, Result

CLAIMS = "resourceclaims"

_CLAIM_COLUMNS = (
    "cluster_id",
    "uid",
    "namespace",
    "name",
    "resource_version",
    "state",
    "node_name",
    "device_class",
    "devices",
    "pods",
    "results",
    "tenant",
    "deployment",
    "model_pool",
    "created_at",
    "allocated_at",
    "idle_since",
)
_USE_COLUMNS = (
    "cluster_id",
    "kind",
    "uid",
    "namespace",
    "name",
    "driver",
    "pool",
    "device",
    "share_id",
    "device_class",
    "amount",
    "node_name",
    "tenant",
    "deployment",
    "model_pool",
    "created_at",
    "allocated_at",
    "running_at",
)
_USE_KEY = ("cluster_id", "uid", "driver", "pool", "device", "share_id", "device_class")
_OPEN = "ended_at IS NULL"

Row = tuple[Any, ...]
UseKey = tuple[str, ...]


def write(cluster_id: int, batch: Batch, mirror: Mirror, now: datetime) -> Iterable[str]:
    """A `Writer` of apps.inventory.snapshot: returns the kinds whose rows changed."""
    changed = set()
    moved = [mirror.claims[uid] for uid in mirror.moved if uid not in batch.claims]
    claims = [claim for claim, _ in batch.claims.values()]
    versions = {uid: version for uid, (_, version) in batch.claims.items()}
    if claims or moved:
        _write_claims(cluster_id, [*claims, *moved], versions, mirror, now)
        changed.add(CLAIMS)
    pods = [pod for pod, _, _ in batch.pods.values()]
    gone = list(batch.gone)
    if gone and Claim.objects.filter(cluster_id=cluster_id, uid__in=gone).delete()[0]:
        changed.add(CLAIMS)
    if _write_uses(cluster_id, [*claims, *moved], pods, gone, mirror, now):
        changed.add(USES)
    if batch.tenants:
        _name_tenants(cluster_id, batch.tenants)
        changed |= {CLAIMS, USES}
    return changed


def load(cluster_id: int) -> dict[str, tuple[str, str, str]]:
    """Which version of each claim the rows are of, as `Intake` takes it."""
    rows = Claim.objects.filter(cluster_id=cluster_id)
    return {
        uid: (version, namespace, name)
        for uid, version, namespace, name in rows.values_list(
            "uid", "resource_version", "namespace", "name"
        )
    }


# --- Claims
def _write_claims(
    cluster_id: int,
    claims: list[ClaimUse],
    versions: dict[str, str],
    mirror: Mirror,
    now: datetime,
) -> None:
    mine = Claim.objects.filter(cluster_id=cluster_id)
    is_first = bulk.is_empty(mine, len(claims))
    held = {}
    if not is_first:
        known = mine.filter(uid__in=[claim.uid for claim in claims])
        for uid, version, allocated, idle in known.values_list(
            "uid", "resource_version", "allocated_at", "idle_since"
        ):
            held[uid] = (version, allocated, idle)
    found = [
        _claim_row(cluster_id, claim, versions.get(claim.uid), held.get(claim.uid), mirror, now)
        for claim in claims
    ]
    if is_first:
        bulk.insert(Claim, _CLAIM_COLUMNS, found)
    else:
        bulk.upsert(Claim, _CLAIM_COLUMNS, found, key=("cluster_id", "uid"))


def _claim_row(
    cluster_id: int,
    claim: ClaimUse,
    version: str | None,
    held: tuple[str, datetime | None, datetime | None] | None,
    mirror: Mirror,
    now: datetime,
) -> Row:
    before, allocated_before, idle_before = held or ("", None, None)
    allocated = None
    if claim.results:
        allocated = moment(claim.allocated_at) or allocated_before or _allocated(claim, mirror, now)
    is_idle = claim.state == "allocated"
    owner = _owner(claim.owner, claim.namespace, mirror)
    return (
        cluster_id,
        claim.uid,
        claim.namespace,
        claim.name,
        before if version is None else version,
        claim.state,
        ", ".join(sorted(mirror.nodes_of(claim.uid))[:3]) or claim.node_name,
        ", ".join(sorted(set(claim.classes.values())))[:500],
        sum(not result.is_admin for result in claim.results),
        _json(list(claim.pods)),
        _json([_result(claim, result) for result in claim.results]),
        owner.tenant,
        owner.deployment,
        owner.pool,
        moment(claim.created_at),
        allocated,
        (idle_before or now) if is_idle else None,
    )


def _allocated(claim: ClaimUse, mirror: Mirror, now: datetime) -> datetime:
    """When an allocation without a time stamp was made: with its first pod's placing, or now."""
    placed = [
        at
        for name in claim.pods
        if (pod := mirror.pod_named(claim.namespace, name)) and (at := moment(pod.scheduled_at))
    ]
    return min(placed, default=now)


def _result(claim: ClaimUse, result: Result) -> dict[str, Any]:
    return {
        "request": result.request,
        "device_class": claim.class_of(result.request),
        "driver": result.driver,
        "pool": result.pool,
        "device": result.device,
        "is_admin": result.is_admin,
        "share_id": result.share_id,
        "consumed": dict(result.consumed),
    }


# --- Uses
def _write_uses(
    cluster_id: int,
    claims: list[ClaimUse],
    pods: list[PodUse],
    gone: list[str],
    mirror: Mirror,
    now: datetime,
) -> bool:
    """Open what has begun, close what has ended, and note what has begun to run."""
    rows: dict[UseKey, Row] = {}
    for claim in claims:
        for row in _claim_uses(cluster_id, claim, mirror, now):
            rows[_key(row)] = row
    for pod in pods:
        for row in _pod_uses(cluster_id, pod, mirror, now):
            rows[_key(row)] = row
    mine = Use.objects.filter(cluster_id=cluster_id)
    if bulk.is_empty(mine, len(rows)):
        bulk.insert(Use, _USE_COLUMNS, list(rows.values()))
        return True
    looked_at = [*(claim.uid for claim in claims), *(pod.uid for pod in pods)]
    changed = _close(cluster_id, looked_at, gone, rows, _ends(pods), now)
    if rows:
        bulk.upsert(Use, _USE_COLUMNS, list(rows.values()), key=_USE_KEY, where=_OPEN, update=False)
        changed = True
    return _note_running(cluster_id, _started(pods, mirror)) or changed


def _key(row: Row) -> UseKey:
    return (row[2], *row[5:10])


def _claim_uses(cluster_id: int, claim: ClaimUse, mirror: Mirror, now: datetime) -> Iterator[Row]:
    if not claim.results:
        return
    allocated = moment(claim.allocated_at) or _allocated(claim, mirror, now)
    running = _running(claim, mirror)
    owner = _owner(claim.owner, claim.namespace, mirror)
    places = mirror.nodes_of(claim.uid)
    for result in claim.results:
        if result.is_admin or result.driver in OTHER_DRIVERS:
            continue
        yield (
            cluster_id,
            "claim",
            claim.uid,
            claim.namespace,
            claim.name,
            result.driver,
            result.pool,
            result.device,
            result.share_id,
            claim.class_of(result.request),
            1,
            places[0] if len(places) == 1 else claim.node_name or result.pool,
            owner.tenant,
            owner.deployment,
            owner.pool,
            moment(claim.created_at) or allocated,
            allocated,
            running,
        )


def _pod_uses(cluster_id: int, pod: PodUse, mirror: Mirror, now: datetime) -> Iterator[Row]:
    owner = _owner(pod.owner, pod.namespace, mirror)
    for resource, amount in pod.holds.items():
        allocated = moment(pod.scheduled_at) or now
        yield (
            cluster_id,
            "pod",
            pod.uid,
            pod.namespace,
            pod.name,
            "",
            "",
            "",
            "",
            resource,
            amount,
            pod.node_name,
            owner.tenant,
            owner.deployment,
            owner.pool,
            moment(pod.created_at) or allocated,
            allocated,
            moment(pod.running_at),
        )


def _ends(pods: list[PodUse]) -> dict[str, datetime]:
    """When pods that are over say that they ended."""
    return {pod.uid: at for pod in pods if (at := moment(pod.ended_at))}


def _close(
    cluster_id: int,
    looked_at: list[str],
    gone: list[str],
    rows: dict[UseKey, Row],
    ends: dict[str, datetime],
    now: datetime,
) -> bool:
    """End the open uses that are no longer among `rows`."""
    uids = [*looked_at, *gone]
    if not uids:
        return False
    there = Use.objects.filter(cluster_id=cluster_id, uid__in=uids, ended_at=None)
    over = []
    for pk, *key in there.values_list(
        "pk", "uid", "driver", "pool", "device", "share_id", "device_class"
    ):
        found = rows.get(tuple(key))
        if found is None:
            over.append((ends.get(key[0], now), pk))
        else:
            _note_pod_start(pk, found)
    if over:
        with connection.cursor() as cursor:
            # The clocks of cluster and portal differ: nothing ends before it began.
            cursor.executemany(
                "UPDATE claims_use SET ended_at = greatest(%s, allocated_at) WHERE id = %s", over
            )
    return bool(over)


def _note_pod_start(pk: int, row: Row) -> None:
    running = row[-1]
    if row[1] == "pod" and running is not None:
        Use.objects.filter(pk=pk, running_at=None).update(running_at=running)


def _running(claim: ClaimUse, mirror: Mirror) -> datetime | None:
    """When the first of the pods that use the claim began to run."""
    started = [
        at
        for name in claim.pods
        if (pod := mirror.pod_named(claim.namespace, name)) and (at := moment(pod.running_at))
    ]
    return min(started, default=None)


def _started(pods: list[PodUse], mirror: Mirror) -> dict[str, datetime]:
    """The claims that pods which run use, by uid, and since when the first of them runs."""
    found: dict[str, datetime] = {}
    for pod in pods:
        at = moment(pod.running_at)
        for name in pod.claims if at else ():
            uid = mirror.claim_uids.get((pod.namespace, name))
            if uid and at:
                found[uid] = min(at, found.get(uid, at))
    return found


def _note_running(cluster_id: int, started: dict[str, datetime]) -> bool:
    if not started:
        return False
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE claims_use SET running_at = greatest(begun.at, allocated_at)"
            " FROM unnest(%s::text[], %s::timestamptz[]) AS begun (uid, at)"
            " WHERE cluster_id = %s AND claims_use.uid = begun.uid AND kind = 'claim'"
            " AND running_at IS NULL AND ended_at IS NULL",
            [list(started), list(started.values()), cluster_id],
        )
        return bool(cursor.rowcount > 0)


def _name_tenants(cluster_id: int, tenants: dict[str, str]) -> None:
    """A namespace was given to a tenant, or its label was seen later than what lies in it."""
    for namespace, tenant in tenants.items():
        mine = {"cluster_id": cluster_id, "namespace": namespace}
        Claim.objects.filter(**mine, deployment="").exclude(tenant=tenant).update(tenant=tenant)
        if tenant:
            Use.objects.filter(**mine, tenant="", ended_at=None).update(tenant=tenant)


def _owner(owner: Owner, namespace: str, mirror: Mirror) -> Owner:
    return owner if owner.tenant else Owner(mirror.tenants.get(namespace, ""))


def _json(value: object) -> str:
    return orjson.dumps(value).decode().replace("\\u0000", "\\ufffd")
