from typing import Any

import pytest
from django.utils import timezone

from apps.deployments import services as deployments
from apps.deployments.models import Deployment, ModelPool
from apps.inventory.models import Cluster
from apps.quotas import services as quotas
from apps.rollouts import services
from apps.rollouts.models import Migration
from apps.tenancy.models import Tenant, User
from domain.asked import asked_from
from tests.apps.rollouts.rows import add_node, add_pod

GATES = [{"name": "errors", "metric": "errors", "at_most": 0.01, "window_seconds": 5, "passes": 1}]
SETTINGS: dict[str, Any] = {
    "steps": [{"weight": 50, "hold_seconds": 0}, {"weight": 100, "hold_seconds": 0}],
    "interval_seconds": 5,
    "warm_seconds": 0,
    "drain_seconds": 0,
    "approvals": [],
    "drill": False,
    "gates": GATES,
}


@pytest.fixture
def chat(
    alice: User,
    admin: User,
    tenant: Tenant,
    cluster: Cluster,
    pattern: Any,
    namespace: Any,
    quota: Any,
) -> Deployment:
    """A deployment of two replicas on the device-plugin path, with room for as many again."""
    quotas.set_quotas(actor=admin, tenant=tenant, cluster=cluster, limits={"h100": 8})
    pool = {"pattern": "h100-cards", "replicas": 2, "path": "device-plugin"}
    asked = asked_from(
        {
            "name": "chat",
            "cluster": cluster.slug,
            "image": "docker.io/vllm/vllm-openai:v0.33.0",
            "model": "meta-llama/Llama-3.1-8B",
            "pools": [pool],
        }
    )
    found = deployments.create_deployment(actor=alice, tenant=tenant, asked=asked)
    hear(found)
    serve(found)
    return found


def hear(deployment: Deployment) -> None:
    """The cluster is heard of just now, and has taken what was asked."""
    Cluster.objects.filter(pk=deployment.cluster_id).update(heard_at=timezone.now())
    settle(deployment)


def settle(deployment: Deployment) -> None:
    row = Deployment.objects.get(pk=deployment.pk)
    applied = {"type": "Applied", "status": "True", "reason": "Applied", "message": ""}
    Deployment.objects.filter(pk=deployment.pk).update(
        observed_generation=row.generation, conditions=[applied]
    )


def serve(deployment: Deployment, pool: str = "main", ready: int | None = None) -> None:
    """So many servers of a pool are ready; all that are wanted, if no number is given."""
    row = ModelPool.objects.get(deployment=deployment, name=pool)
    count = row.replicas if ready is None else ready
    row.pods = [{"name": f"{pool}-{number}", "state": "Ready"} for number in range(count)]
    row.save(update_fields=["pods", "updated_at"])
    settle(deployment)


def leave_cluster(deployment: Deployment, pool: str) -> None:
    """Nothing of the pool is left in the cluster, as its reconciler would find."""
    ModelPool.objects.filter(deployment=deployment, name=pool, retiring_at__isnull=False).delete()
    settle(deployment)


@pytest.fixture
def migration(chat: Deployment, admin: User, cluster: Cluster) -> Migration:
    """One that has looked at everything before the canary, and is told to go without metrics."""
    found = services.create_migration(
        actor=admin, name="to-claims", cluster=cluster, deployments=[chat], content=SETTINGS
    )
    found.wanted = {"approved": ["accept:metrics"]}
    found.save(update_fields=["wanted"])
    for kind in ("plan", "preflight", "shadow"):
        found.studies.create(kind=kind, state="done", body={"blockers": 0, "summary": "fine"})
    return services.start_migration(actor=admin, migration=found)


@pytest.fixture
def drawn(chat: Deployment, admin: User, cluster: Cluster) -> Migration:
    """A migration of chat, whose pods are on a node of the device plugin beside a stranger."""
    add_node(cluster, "n1")
    owner = {"tenant": "vision", "deployment": "chat", "model_pool": "main"}
    add_pod(cluster, "chat-1", "n1", chat.namespace, **owner)
    add_pod(cluster, "box-1", "n1")
    found = services.create_migration(
        actor=admin, name="move", cluster=cluster, deployments=[chat], content=SETTINGS
    )
    found.refresh_from_db()
    return found
