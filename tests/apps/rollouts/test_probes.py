"""Probe pods: what is made, and what is measured of it."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.deployments.models import Deployment
from apps.inventory.models import Cluster
from apps.rollouts import probes, services
from apps.rollouts.models import Migration, Workload
from apps.tenancy.models import User
from kube import kinds
from tests.apps.conftest import make_cluster
from tests.apps.rollouts.conftest import SETTINGS


@pytest.fixture
def cluster(simulated: Any, db: None) -> Cluster:
    return make_cluster(kubeconfig=Path(simulated.kubeconfig).read_text())


@pytest.fixture
def row(chat: Deployment, admin: User, cluster: Cluster) -> Workload:
    made = services.create_migration(
        actor=admin, name="move", cluster=cluster, deployments=[chat], content=SETTINGS
    )
    return made.workloads.get()


def test_a_probe_only_holds_the_claim_and_gets_no_requests(row: Workload) -> None:
    template, made = probes.manifests(row)
    spec = made["spec"]["template"]["spec"]
    assert spec["resourceClaims"][0]["resourceClaimTemplateName"] == template["metadata"]["name"]
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert "claimyard.dev/deployment" not in labels and "claimyard.dev/tenant" not in labels
    assert labels["app.kubernetes.io/managed-by"] == "claimyard"


def test_times_are_those_of_the_pod() -> None:
    pod: dict[str, Any] = {
        "metadata": {"creationTimestamp": "2026-11-30T10:00:00Z"},
        "status": {
            "phase": "Running",
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "True",
                    "lastTransitionTime": "2026-11-30T10:00:02Z",
                },
                {
                    "type": "ContainersReady",
                    "status": "True",
                    "lastTransitionTime": "2026-11-30T10:00:05Z",
                },
            ],
        },
    }
    assert probes.times(pod) == {"allocated_seconds": 2.0, "running_seconds": 5.0}
    pod["status"]["phase"] = "Pending"
    assert probes.times(pod) is None


def test_a_probe_that_never_runs_is_taken_away_and_says_so(row: Workload, cluster: Cluster) -> None:
    from apps.inventory import connections

    with connections.opened(cluster) as api:
        api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": row.namespace}})
        migration = Migration.objects.get(pk=row.migration_id)
        [begun] = held = probes.begin(migration, [row])
        assert begun["state"] == "running"
        assert api.get(kinds.DEPLOYMENTS, row.namespace, begun["name"])
        assert probes.advance(migration, held) == held
        long_ago = timezone.now() - probes.PATIENCE - timedelta(seconds=1)
        [late] = probes.advance(migration, [begun | {"begun_at": long_ago.isoformat()}])
        assert (late["state"], "did not run" in late["text"]) == ("failed", True)
        assert probes.is_over([late])
        left = api.list_all(kinds.DEPLOYMENTS, namespace=row.namespace)
        assert not [one for one in left if one["metadata"]["name"] == begun["name"]]
