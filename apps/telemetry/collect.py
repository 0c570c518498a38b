"""Reading model servers' /metrics through the API server's pod proxy.

Only pods that Claimyard made and that are Ready are read, at the port and path their annotations
name. A server that cannot be read keeps what it said before, and its track says why.
"""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
from django.db import transaction

from apps.common import bulk
from apps.inventory import connections
from apps.inventory.models import Cluster
from apps.telemetry import store
from apps.telemetry.models import Track
from domain import metrics
from domain.manifests import labels
from domain.metrics import Reading
from kube import client, kinds
from kube.errors import ClusterError

OURS = f"{labels.MANAGED_BY}={labels.MANAGER},{labels.POOL}"
READERS = 8
MOST_BYTES = 2 * 2**20
REFUSALS = frozenset({401, 403})


@dataclass(frozen=True, slots=True)
class Target:
    uid: str
    namespace: str
    pod: str
    node_name: str
    tenant: str
    deployment: str
    pool: str
    port: int
    path: str


@dataclass(frozen=True, slots=True)
class Answer:
    target: Target
    at: float
    reading: Reading | None
    problem: str = ""
    refused: bool = False


def read_cluster(cluster: Cluster) -> int:
    """Read every model server once; returns how many answered. Repeating it is harmless.

    Cluster errors of the pod list pass through.
    """
    with connections.opened(cluster) as connection:
        pods = connection.list_all(kinds.PODS, label_selector=OURS)
        targets = [target for pod in pods if (target := target_of(pod)) is not None]
        with ThreadPoolExecutor(READERS) as readers:
            answers = list(readers.map(lambda target: _read(connection, target), targets))
    keep(cluster, answers)
    return sum(answer.reading is not None for answer in answers)


def target_of(pod: Mapping[str, Any]) -> Target | None:
    """Where to read a pod; None when it is not Ready or its annotations name no usable port."""
    meta, status = pod["metadata"], pod.get("status") or {}
    ready = any(
        one.get("type") == "Ready" and one.get("status") == "True"
        for one in status.get("conditions") or ()
    )
    annotations = meta.get("annotations") or {}
    port = str(annotations.get(labels.METRICS_PORT, ""))
    if not ready or not port.isascii() or not port.isdigit():
        return None
    named = meta.get("labels") or {}
    return Target(
        uid=meta["uid"],
        namespace=meta["namespace"],
        pod=meta["name"],
        node_name=(pod.get("spec") or {}).get("nodeName") or "",
        tenant=named.get(labels.TENANT, ""),
        deployment=named.get(labels.DEPLOYMENT, ""),
        pool=named.get(labels.POOL, ""),
        port=int(port),
        path=annotations.get(labels.METRICS_PATH) or "/metrics",
    )


def _read(connection: client.Cluster, target: Target) -> Answer:
    try:
        page = connection.proxy_get(
            target.namespace, target.pod, target.port, target.path, limit_bytes=MOST_BYTES
        )
        return answer_of(target, time.time(), page)
    except ClusterError as error:
        problem = f"{error.reason}: {error.message}"[:300]
        return Answer(target, time.time(), None, problem, error.status in REFUSALS)


def answer_of(target: Target, at: float, page: bytes) -> Answer:
    """What a page says, or why it says nothing."""
    try:
        return Answer(target, at, metrics.read(page.decode("utf-8", "replace")))
    except metrics.Unreadable as error:
        return Answer(target, at, None, str(error)[:300])


@transaction.atomic
def keep(cluster: Cluster, answers: Sequence[Answer]) -> None:
    """Store one round: the tracks of all targets, and a reading of each that answered."""
    if not answers:
        return
    held = {
        track.key: track
        for track in Track.objects.filter(
            cluster=cluster,
            kind=Track.Kind.SERVER,
            key__in=[answer.target.uid for answer in answers],
        )
    }
    rows = [_row(cluster, answer, held.get(answer.target.uid)) for answer in answers]
    bulk.upsert(Track, _COLUMNS, rows, key=("cluster_id", "kind", "key"))
    fresh = [answer for answer in answers if answer.target.uid not in held]
    ids = {uid: track.pk for uid, track in held.items()}
    if fresh:
        ids |= Track.objects.filter(
            cluster=cluster, key__in=[answer.target.uid for answer in fresh]
        ).values_list("key", "pk")
    store.write(
        [
            (ids[answer.target.uid], answer.at, answer.reading)
            for answer in answers
            if answer.reading is not None
        ]
    )


_COLUMNS = (
    "cluster_id",
    "kind",
    "key",
    "namespace",
    "pod",
    "node_name",
    "tenant",
    "deployment",
    "pool",
    "model",
    "first_at",
    "tried_at",
    "read_at",
    "problem",
    "refused",
    "aliases",
)


def _row(cluster: Cluster, answer: Answer, held: Track | None) -> tuple[Any, ...]:
    target, reading = answer.target, answer.reading
    at = datetime.fromtimestamp(answer.at, UTC)
    read_at = at if reading is not None else held and held.read_at
    aliases = reading.aliases if reading is not None else (held.aliases if held else {})
    return (
        cluster.pk,
        Track.Kind.SERVER.value,
        target.uid,
        target.namespace,
        target.pod,
        target.node_name,
        target.tenant,
        target.deployment,
        target.pool,
        (reading.model if reading else "")[:300] or (held.model if held else ""),
        held.first_at if held else at,
        at,
        read_at,
        answer.problem.replace("\0", "\ufffd"),
        answer.refused,
        _json(aliases),
    )


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
