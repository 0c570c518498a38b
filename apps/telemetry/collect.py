"""Reading model servers' /metrics through the API server's pod proxy.

Only pods that Claimyard made and that are Ready are read, at the port and path their annotations
name. A server that cannot be read keeps what it said before, and its source says why.
"""

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from apps.inventory import connections
from apps.inventory.models import Cluster
from apps.telemetry import store
from apps.telemetry.models import Source
from domain import metrics
from domain.manifests import labels
from domain.metrics import Reading
from kube import client, kinds
from kube.errors import ClusterError

OURS = f"{labels.MANAGED_BY}={labels.MANAGER},{labels.POOL}"
READERS = 8
MOST_BYTES = 2 * 2**20


@dataclass(frozen=True, slots=True)
class Target:
    uid: str
    namespace: str
    pod: str
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


def read_cluster(cluster: Cluster) -> int:
    """Read every model server once; returns how many answered. Repeating it is harmless.

    Cluster errors of the pod list pass through.
    """
    with connections.opened(cluster) as connection:
        pods = connection.list_all(kinds.PODS, label_selector=OURS)
        targets = [target for pod in pods if (target := target_of(pod)) is not None]
        with ThreadPoolExecutor(READERS) as readers:
            answers = list(readers.map(lambda target: _read(connection, target), targets))
    for answer in answers:
        _keep(cluster, answer)
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
        reading = metrics.read(page.decode("utf-8", "replace"))
    except ClusterError as error:
        return Answer(target, time.time(), None, f"{error.reason}: {error.message}"[:300])
    except metrics.Unreadable as error:
        return Answer(target, time.time(), None, str(error)[:300])
    return Answer(target, time.time(), reading)


def _keep(cluster: Cluster, answer: Answer) -> None:
    target = answer.target
    source, _ = Source.objects.update_or_create(
        cluster=cluster,
        uid=target.uid,
        defaults={
            "namespace": target.namespace,
            "pod": target.pod,
            "tenant": target.tenant,
            "deployment": target.deployment,
            "pool": target.pool,
            "problem": answer.problem,
        },
    )
    if answer.reading is not None:
        store.append(source, answer.at, (answer.at, answer.reading))
        Source.objects.filter(pk=source.pk).update(read_at=datetime.fromtimestamp(answer.at, UTC))
