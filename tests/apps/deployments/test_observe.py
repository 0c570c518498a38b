"""What a cluster says of a deployment reaches its rows, and only what is ours."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from apps.deployments import services, tasks
from apps.deployments.models import Deployment, ModelPool
from apps.deployments.observe import observe_cluster
from apps.inventory import connections
from apps.inventory.models import Cluster
from apps.quotas import services as quota_services
from apps.quotas.models import TenantNamespace
from domain.manifests import pool_labels
from kube import client
from simulator.apiserver import Fault
from tests.apps.conftest import make_cluster
from tests.apps.deployments.conftest import asked

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(simulated: Any, db: None) -> Cluster:
    return make_cluster(kubeconfig=Path(simulated.kubeconfig).read_text())


@pytest.fixture
def namespace(tenant: Any, cluster: Cluster, admin: Any) -> TenantNamespace:
    return quota_services.give_cluster(
        actor=admin, tenant=tenant, cluster=cluster, namespace=f"vision-{uuid4().hex[:8]}"
    )


@pytest.fixture
def api(cluster: Cluster) -> Iterator[client.Cluster]:
    with connections.opened(cluster) as connection:
        yield connection


@pytest.fixture
def deployment(alice: Any, tenant: Any, ready: Any, api: client.Cluster) -> Deployment:
    made = services.create_deployment(actor=alice, tenant=tenant, asked=asked())
    name = {"name": made.namespace}
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": name})
    return made


def put_pod(
    api: client.Cluster, deployment: Deployment, name: str, status: dict[str, Any], **spec: Any
) -> None:
    metadata = {
        "name": name,
        "namespace": deployment.namespace,
        "labels": pool_labels("vision", "llama", "main"),
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "server", "image": "x"}]} | spec,
    }
    kind = api.kind_of(pod)
    api.create(pod)
    api.patch_merge(kind, deployment.namespace, name, {"status": status}, sub="status")


def pool() -> ModelPool:
    return ModelPool.objects.get()


WAITING = {
    "phase": "Pending",
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/3 nodes are available: 3 cannot allocate all claims.",
        }
    ],
}


def test_a_pending_pod_brings_the_schedulers_message_and_its_events(
    deployment: Deployment, cluster: Cluster, api: client.Cluster
) -> None:
    put_pod(api, deployment, "p1", WAITING)
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e1", "namespace": deployment.namespace},
        "involvedObject": {"kind": "Pod", "name": "p1", "namespace": deployment.namespace},
        "reason": "FailedScheduling",
        "message": "no luck",
        "type": "Warning",
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    api.create(event)
    observe_cluster(cluster)
    allocated = pool().condition("Allocated")
    assert allocated is not None and "3 cannot allocate all claims" in allocated["message"]
    deployment.refresh_from_db()
    assert [one["reason"] for one in deployment.events] == ["FailedScheduling"]
    assert deployment.seen_at is not None


def test_what_did_not_change_is_not_written_again(
    deployment: Deployment, cluster: Cluster, api: client.Cluster
) -> None:
    put_pod(api, deployment, "p1", WAITING)
    assert observe_cluster(cluster) == 1
    before = pool().updated_at
    assert observe_cluster(cluster) == 0
    assert pool().updated_at == before


def test_pods_of_others_are_not_counted(
    deployment: Deployment, cluster: Cluster, api: client.Cluster
) -> None:
    stranger = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stranger", "namespace": deployment.namespace},
        "spec": {"containers": [{"name": "x", "image": "x"}]},
    }
    api.create(stranger)
    observe_cluster(cluster)
    assert pool().pods == []


def test_a_cluster_that_is_away_leaves_what_was_seen(
    deployment: Deployment, cluster: Cluster, api: client.Cluster, simulated: Any
) -> None:
    put_pod(api, deployment, "p1", WAITING)
    observe_cluster(cluster)
    simulated.faults.add(Fault("away", times=-1))
    try:
        tasks.observe_cluster(cluster.pk)
    finally:
        simulated.faults.clear()
    assert [one["name"] for one in pool().pods] == ["p1"]


def test_the_log_of_a_pod_is_told_or_refused_with_the_clusters_words(
    deployment: Deployment, cluster: Cluster, alice: Any
) -> None:
    from apps.common import asks

    question = {"namespace": deployment.namespace, "pod": "gone"}
    ask = asks.put("deployments.logs", question, asked_by=alice, cluster_id=cluster.pk)
    asks.answer(ask.pk)
    ask.refresh_from_db()
    assert (ask.state, '"gone" not found' in ask.problem) == ("failed", True)
