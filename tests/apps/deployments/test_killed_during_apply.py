"""A worker, or its database connection, dies at each step of an apply: afterwards there are the
same objects, once."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.db import connection

from apps.catalog.reconcile import reconcile_class
from apps.deployments import services, surge
from apps.deployments.models import Deployment
from apps.deployments.reconcile import reconcile_deployment
from apps.inventory.models import Cluster
from apps.quotas import services as quotas
from apps.quotas.models import TenantNamespace
from apps.quotas.reconcile import reconcile_namespace
from domain.manifests import selector_of
from kube import client, kinds
from simulator.apiserver import Fault
from tests.apps.conftest import make_cluster
from tests.apps.deployments.conftest import asked

pytestmark = [pytest.mark.django_db(transaction=True)]
WORKER = """
import django
django.setup()
from apps.deployments import surge
from apps.deployments.reconcile import reconcile_deployment
surge.WAIT_MS = 0
reconcile_deployment({pk})
"""
#: Before anything is written, before each of the four writes, and when all of them are done.
STEPS = [
    ("GET */namespaces/vision-*", 0),
    *(("PATCH */namespaces/vision-*", number) for number in range(4)),
    ("GET */namespaces/vision-*", 4),
]
OWNED = (kinds.DEPLOYMENTS, kinds.SERVICES, kinds.TEMPLATES, kinds.DISRUPTION_BUDGETS)


@pytest.fixture
def cluster(simulated: Any, db: None) -> Cluster:
    return make_cluster(kubeconfig=Path(simulated.kubeconfig).read_text())


@pytest.fixture
def namespace(tenant: Any, cluster: Cluster, admin: Any) -> TenantNamespace:
    name = f"vision-{uuid4().hex[:8]}"
    return quotas.give_cluster(actor=admin, tenant=tenant, cluster=cluster, namespace=name)


@pytest.fixture
def api(cluster: Cluster) -> Iterator[client.Cluster]:
    from apps.inventory import connections

    with connections.opened(cluster) as opened:
        yield opened


@pytest.fixture
def deployment(
    alice: Any, tenant: Any, ready: Any, namespace: Any, monkeypatch: pytest.MonkeyPatch
) -> Deployment:
    monkeypatch.setattr(surge, "WAIT_MS", 0)
    reconcile_class(namespace.cluster.classes.get().pk)
    reconcile_namespace(namespace.pk)
    return services.create_deployment(actor=alice, tenant=tenant, asked=asked())


def worker(deployment: Deployment) -> "subprocess.Popen[bytes]":
    """Another process that applies the deployment, on this test's database."""
    url, name = urlsplit(os.environ["CLAIMYARD_DATABASE_URL"]), connection.settings_dict["NAME"]
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "portal.settings_test",
        "CLAIMYARD_DATABASE_URL": url._replace(path=f"/{name}").geturl(),
    }
    code = WORKER.format(pk=deployment.pk)
    return subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE)


def owned(api: client.Cluster, deployment: Deployment) -> dict[str, str]:
    return {
        f"{kind.kind}/{one['metadata']['name']}": one["metadata"]["uid"]
        for kind in OWNED
        for one in api.list_all(
            kind, namespace=deployment.namespace, label_selector=selector_of("llama")
        )
    }


def reached(simulated: Any, fault: Fault, other: "subprocess.Popen[bytes]") -> bool:
    """The fault is used up by the request that it strikes."""
    until = time.monotonic() + 120
    while any(one["kind"] == fault.kind for one in simulated.faults.listed()):
        if time.monotonic() > until or other.poll() is not None:
            return False
        time.sleep(0.02)
    return True


def sever(deployment: Deployment) -> None:
    """End every connection to the database but our own."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.mark.parametrize(
    ("victim", "match", "step"),
    [("worker", *step) for step in STEPS]
    + [("database", *STEPS[0]), ("database", *STEPS[3]), ("database", *STEPS[5])],
)
def test_what_dies_at_any_step_of_an_apply_leaves_every_object_once(
    deployment: Deployment,
    api: client.Cluster,
    simulated: Any,
    victim: str,
    match: str,
    step: int,
) -> None:
    fault = simulated.faults.add(Fault("latency", match, times=1, after=step, seconds=1.0))
    with worker(deployment) as other:
        try:
            assert reached(simulated, fault, other), other.stderr and other.stderr.read()
            if victim == "worker":
                other.kill()
            else:
                sever(deployment)
            other.wait(60)
        finally:
            other.kill()
            simulated.faults.clear()
    assert other.returncode != 0
    half = owned(api, deployment)
    deployment.refresh_from_db()
    assert not deployment.is_settled
    # Its lease outlives it, and then runs out; the sweep finds the row.
    assert deployment.lease_until is not None
    Deployment.objects.update(lease_until="2026-01-01T00:00:00Z")
    reconcile_deployment(deployment.pk)
    deployment.refresh_from_db()
    whole = owned(api, deployment)
    assert deployment.is_settled and len(whole) == 4
    assert half.items() <= whole.items()
