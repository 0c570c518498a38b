"""What the mirror holds of a deployment reaches its rows, and only what is ours."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from apps.deployments import services, tasks
from apps.deployments.models import Deployment, ModelPool
from apps.deployments.observe import observe_cluster
from apps.inventory.models import Cluster
from apps.quotas import services as quota_services
from apps.quotas.models import TenantNamespace
from domain.manifests import pool_labels
from kube.client import Json
from tests.apps.conftest import make_cluster
from tests.apps.deployments.conftest import asked
from tests.apps.inventory.conftest import Told
from tests.workers import fleet

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
def deployment(alice: Any, tenant: Any, ready: Any) -> Deployment:
    return services.create_deployment(actor=alice, tenant=tenant, asked=asked())


@pytest.fixture
def told(cluster: Cluster) -> Told:
    return Told(cluster)


def pod(deployment: Deployment, name: str, status: Json, **spec: Any) -> Json:
    return {
        "metadata": {
            "name": name,
            "namespace": deployment.namespace,
            "labels": pool_labels("vision", "llama", "main"),
        },
        "spec": {"containers": [{"name": "server", "image": "x"}]} | spec,
        "status": status,
    }


def event(deployment: Deployment, name: str, reason: str, message: str, at: str) -> Json:
    about = {"kind": "Pod", "name": name, "uid": f"uid-{deployment.namespace}-{name}"}
    return {
        "metadata": {"name": f"{name}.{reason}", "namespace": deployment.namespace},
        "involvedObject": about | {"namespace": deployment.namespace},
        "reason": reason,
        "message": message,
        "type": "Warning",
        "lastTimestamp": at,
    }


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
RUNNING = {
    "phase": "Running",
    "podIP": "10.244.0.7",
    "conditions": [{"type": "Ready", "status": "True"}],
    "containerStatuses": [
        {"name": "server", "started": True, "restartCount": 2, "state": {"running": {}}}
    ],
}


def soon() -> str:
    from django.utils import timezone

    return timezone.now().isoformat()


def test_a_pending_pod_brings_the_schedulers_message_and_its_events(
    deployment: Deployment, cluster: Cluster, told: Told
) -> None:
    told.listed(
        pods=[pod(deployment, "p1", WAITING)],
        events=[event(deployment, "p1", "FailedScheduling", "no luck", soon())],
    )
    observe_cluster(cluster)
    allocated = pool().condition("Allocated")
    assert allocated is not None and "3 cannot allocate all claims" in allocated["message"]
    deployment.refresh_from_db()
    assert [one["reason"] for one in deployment.events] == ["FailedScheduling"]
    assert deployment.seen_at is not None


def test_a_pod_that_runs_is_told_from_its_row(
    deployment: Deployment, cluster: Cluster, told: Told
) -> None:
    claim = fleet.claim("c1", deployment.namespace, **pool_labels("vision", "llama", "main"))
    told.listed(
        pods=[pod(deployment, "p1", RUNNING, nodeName="n1")],
        resourceclaims=[claim | {"status": fleet.allocation("n1", "gpu-0")}],
    )
    observe_cluster(cluster)
    found = pool()
    held = {one["type"]: one["status"] for one in found.conditions}
    assert [held[kind] for kind in ("Allocated", "Loaded", "Ready")] == ["True"] * 3
    (shown,) = found.pods
    assert (shown["state"], shown["node"], shown["ip"]) == ("Ready", "n1", "10.244.0.7")
    assert shown["restarts"] == 2
    assert found.claims[0]["devices"] == [f"{fleet.DRIVER}/n1/gpu-0"]


def test_pods_that_the_api_server_refuses_are_told_in_its_words(
    deployment: Deployment, cluster: Cluster, told: Told
) -> None:
    why = 'pods "llama-main-x" is forbidden: exceeded quota: claimyard'
    failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}
    limits = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    workload = {
        "metadata": pod(deployment, "llama-main", {})["metadata"],
        "spec": {"template": {"spec": {"containers": [{"name": "server", **limits}]}}},
        "status": {"conditions": [failure | {"message": why}]},
    }
    told.listed(deployments=[workload])
    observe_cluster(cluster)
    allocated = pool().condition("Allocated")
    assert allocated is not None
    assert (allocated["reason"], why in allocated["message"]) == ("FailedCreate", True)


def test_before_the_first_full_list_nothing_is_called_absent(
    deployment: Deployment, cluster: Cluster, told: Told
) -> None:
    told.changed("pods", pod(deployment, "p1", WAITING))
    assert observe_cluster(cluster) == 0
    assert pool().pods == []
    told.listed(pods=[pod(deployment, "p1", WAITING)])
    assert observe_cluster(cluster) == 1


def test_what_did_not_change_is_not_written_again(
    deployment: Deployment, cluster: Cluster, told: Told
) -> None:
    told.listed(pods=[pod(deployment, "p1", WAITING)])
    assert observe_cluster(cluster) == 1
    before = pool().updated_at
    assert observe_cluster(cluster) == 0
    assert pool().updated_at == before


def test_only_the_namespaces_that_changed_are_looked_at(
    deployment: Deployment, cluster: Cluster, told: Told
) -> None:
    told.listed(pods=[pod(deployment, "p1", WAITING)])
    tasks.observe_cluster(cluster.pk, ["another"])
    assert pool().pods == []
    tasks.observe_cluster(cluster.pk, [deployment.namespace])
    assert [one["name"] for one in pool().pods] == ["p1"]


def test_pods_of_others_are_not_counted(
    deployment: Deployment, cluster: Cluster, told: Told
) -> None:
    stranger = pod(deployment, "stranger", WAITING)
    stranger["metadata"]["labels"] = {"claimyard.dev/deployment": "llama"}
    told.listed(pods=[stranger])
    observe_cluster(cluster)
    assert pool().pods == []


def test_a_pod_that_went_is_gone_from_the_row(
    deployment: Deployment, cluster: Cluster, told: Told
) -> None:
    told.listed(pods=[pod(deployment, "p1", RUNNING, nodeName="n1")])
    observe_cluster(cluster)
    told.deleted("pods", pod(deployment, "p1", RUNNING, nodeName="n1"))
    observe_cluster(cluster)
    ready = pool().condition("Ready")
    assert (pool().pods, ready and ready["status"]) == ([], "False")


def test_the_log_of_a_pod_is_told_or_refused_with_the_clusters_words(
    deployment: Deployment, cluster: Cluster, alice: Any
) -> None:
    from apps.common import asks

    question = {"namespace": deployment.namespace, "pod": "gone"}
    ask = asks.put("deployments.logs", question, asked_by=alice, cluster_id=cluster.pk)
    asks.answer(ask.pk)
    ask.refresh_from_db()
    assert (ask.state, '"gone" not found' in ask.problem) == ("failed", True)
