"""Probe pods: a claim and a pod that does nothing, to measure how long a real allocation takes.

One for each workload that moves, in its namespace and under its labels of the portal, away again as
soon as it runs. They carry no requests: the Service selects by labels that they do not have.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from apps.catalog import selectors as catalog
from apps.inventory import connections, writing
from apps.inventory.models import Cluster
from apps.rollouts.models import Migration, Workload
from domain import canonical, patterns
from domain.manifests.labels import MANAGED_BY, MANAGER
from kube import kinds
from kube.errors import ClusterError

Json = dict[str, Any]
IMAGE = "registry.k8s.io/pause:3.10"
PATIENCE = timedelta(minutes=3)
PROBE = "claimyard.dev/probe"
MOST = 10
_OVER = ("measured", "failed")


def begin(migration: Migration, rows: Sequence[Workload]) -> list[Json]:
    """Make them; what cannot be made is told, and the others go on."""
    return [_make(migration.cluster, row) for row in rows[:MOST]]


def _make(cluster: Cluster, row: Workload) -> Json:
    template, made = manifests(row)
    outcome = writing.keep_so(cluster, [template, made])
    begun = outcome.condition.status == "True"
    return {
        "key": str(row),
        "namespace": row.namespace,
        "name": made["metadata"]["name"],
        "template": template["metadata"]["name"],
        "state": "running" if begun else "failed",
        "text": "" if begun else outcome.condition.message,
        "begun_at": timezone.now().isoformat(),
    }


def manifests(row: Workload) -> tuple[Json, Json]:
    """The claim template and a Deployment of one pod that only holds the claim."""
    assert row.pattern_version is not None
    pattern = catalog.pattern_of(row.pattern_version)
    spec = patterns.claim_spec(pattern, patterns.accept(pattern, row.params))
    name = f"{row.name[:40]}-probe-{canonical.digest([row.pk, spec])[:6]}"
    labels = {MANAGED_BY: MANAGER, PROBE: name}
    metadata = {"name": name, "namespace": row.namespace, "labels": labels}
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": metadata,
        "spec": {"metadata": {"labels": labels}, "spec": spec},
    }
    pod = {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "resourceClaims": [{"name": "devices", "resourceClaimTemplateName": name}],
        "containers": [
            {"name": "pause", "image": IMAGE, "resources": {"claims": [{"name": "devices"}]}}
        ],
    }
    made = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {PROBE: name}},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    return template, made


def advance(migration: Migration, held: Sequence[Json]) -> list[Json]:
    """Measure those that run by now and take them away; give up on those that never do."""
    return [one if one["state"] in _OVER else _look(migration.cluster, one) for one in held]


def is_over(held: Sequence[Json]) -> bool:
    return all(one["state"] in _OVER for one in held)


def _look(cluster: Cluster, one: Json) -> Json:
    try:
        with connections.opened(cluster) as connection:
            pods = connection.list_all(
                kinds.PODS, namespace=one["namespace"], label_selector=f"{PROBE}={one['name']}"
            )
    except ClusterError as error:
        return one | {"text": error.message}
    measured = next((found for pod in pods if (found := times(pod)) is not None), None)
    late = timezone.now() - datetime.fromisoformat(one["begun_at"]) > PATIENCE
    if measured is None and not late:
        return one
    removed = writing.remove(cluster, _objects(one))
    if removed.condition.status != "True":
        return one | {"text": removed.condition.message}
    if measured is None:
        text = f"Its pod did not run within {PATIENCE.total_seconds():.0f} s."
        return one | {"state": "failed", "text": text}
    return one | {"state": "measured", "text": "", **measured}


def _objects(one: Json) -> list[writing.Object]:
    return [
        writing.Object(kinds.DEPLOYMENTS, one["namespace"], one["name"]),
        writing.Object(kinds.TEMPLATES, one["namespace"], one["template"]),
    ]


def times(pod: Mapping[str, Any]) -> dict[str, float] | None:
    """Seconds from the pod's creation until it had its devices, and until it ran."""
    status = pod.get("status") or {}
    if status.get("phase") != "Running":
        return None
    since = {
        str(one.get("type")): str(one.get("lastTransitionTime"))
        for one in status.get("conditions") or ()
        if one.get("status") == "True"
    }
    if "PodScheduled" not in since:
        return None
    made = datetime.fromisoformat(str(pod["metadata"]["creationTimestamp"]))
    running = since.get("ContainersReady") or since.get("Ready") or since["PodScheduled"]
    return {
        "allocated_seconds": (datetime.fromisoformat(since["PodScheduled"]) - made).total_seconds(),
        "running_seconds": (datetime.fromisoformat(running) - made).total_seconds(),
    }


def clear(migration: Migration, held: Sequence[Json]) -> None:
    """Take away what a migration that ended early left; what is gone already is no error."""
    for one in held:
        if one["state"] not in _OVER:
            writing.remove(migration.cluster, _objects(one))
