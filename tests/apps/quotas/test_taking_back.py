"""A cluster is taken back from a tenant: shown first, refused while used, nothing left behind."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from apps.audit.models import Entry
from apps.catalog.models import ClassVersion
from apps.common import asks
from apps.common.models import Ask
from apps.deployments import services as deployments
from apps.inventory import connections
from apps.inventory.models import Cluster, Mode
from apps.quotas import selectors, services
from apps.quotas.models import Quota, TenantNamespace
from apps.quotas.reconcile import reconcile_namespace
from kube import client, kinds
from kube.errors import NotFound
from tests.apps.conftest import make_cluster
from tests.apps.deployments.conftest import asked

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster(simulated: Any, db: None) -> Cluster:
    return make_cluster(kubeconfig=Path(simulated.kubeconfig).read_text())


@pytest.fixture
def api(cluster: Cluster) -> Iterator[client.Cluster]:
    with connections.opened(cluster) as connection:
        yield connection


@pytest.fixture
def name() -> str:
    return f"vision-{uuid4().hex[:8]}"


@pytest.fixture
def space(
    admin: Any, tenant: Any, cluster: Cluster, h100: ClassVersion, name: str
) -> TenantNamespace:
    row = services.give_cluster(actor=admin, tenant=tenant, cluster=cluster, namespace=name)
    services.set_quotas(actor=admin, tenant=tenant, cluster=cluster, limits={"h100": 3})
    reconcile_namespace(row.pk)
    row.refresh_from_db()
    return row


def config_map(api: client.Cluster, namespace: str, name: str = "notes") -> None:
    metadata = {"name": name, "namespace": namespace}
    api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {}})


def ended(api: Any, name: str) -> None:
    """What the cluster's own controller does once a namespace that is deleted is empty."""
    found = api.get(kinds.NAMESPACES, None, name)
    path = kinds.NAMESPACES.path(None, name, "finalize")
    api._http.json("PUT", path, body=found | {"spec": {"finalizers": []}})


def labels(api: client.Cluster, name: str) -> dict[str, str]:
    found: dict[str, str] = api.get(kinds.NAMESPACES, None, name)["metadata"].get("labels") or {}
    return found


def what_goes(space: TenantNamespace) -> dict[str, Any]:
    ask = asks.put("quotas.leaving", {"space": space.pk}, cluster_id=space.cluster_id)
    asks.answer(ask.pk)
    ask.refresh_from_db()
    assert ask.state == "answered", ask.problem
    found: dict[str, Any] = ask.answer or {}
    return found


def test_everything_of_the_tenants_goes_and_is_shown_before(
    space: TenantNamespace, admin: Any, api: client.Cluster, name: str
) -> None:
    shown = what_goes(space)
    assert f"Namespace {name}" in shown["removed"] and not shown["keeps_namespace"]
    assert f"ResourceQuota {name}/claimyard" in shown["removed"]
    services.take_cluster(actor=admin, row=space)
    reconcile_namespace(space.pk)
    space.refresh_from_db()
    applied = space.condition("Applied")
    assert applied is not None and applied["reason"] == "Removing"
    ended(api, name)
    reconcile_namespace(space.pk)  # as the sweep does
    with pytest.raises(NotFound):
        api.get(kinds.NAMESPACES, None, name)
    assert not TenantNamespace.objects.exists() and not Quota.objects.exists()
    assert [one.verb for one in Entry.objects.order_by("pk")][-2:] == ["took back", "removed"]


def test_a_namespace_with_things_of_others_stays_without_our_labels(
    space: TenantNamespace, admin: Any, api: client.Cluster, name: str
) -> None:
    config_map(api, name)
    shown = what_goes(space)
    assert shown["others"] == ["ConfigMap notes"] and shown["keeps_namespace"]
    services.take_cluster(actor=admin, row=space)
    reconcile_namespace(space.pk)
    assert labels(api, name).keys() <= {"kubernetes.io/metadata.name"}
    assert api.get(kinds.CONFIG_MAPS, name, "notes")
    with pytest.raises(NotFound):
        api.get(kinds.RESOURCE_QUOTAS, name, "claimyard")
    assert not TenantNamespace.objects.exists()


def test_an_adopted_namespace_outlives_the_tenants_leaving(
    admin: Any, tenant: Any, cluster: Cluster, api: client.Cluster, name: str
) -> None:
    metadata = {"name": name, "labels": {"team": "old"}}
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    row = services.give_cluster(
        actor=admin, tenant=tenant, cluster=cluster, namespace=name, adopt=True
    )
    reconcile_namespace(row.pk)
    services.take_cluster(actor=admin, row=row)
    reconcile_namespace(row.pk)
    assert labels(api, name)["team"] == "old"
    assert not any("claimyard" in key for key in labels(api, name))
    assert not TenantNamespace.objects.exists()


@pytest.fixture
def deployed(alice: Any, tenant: Any, space: TenantNamespace, pattern: Any) -> Any:
    return deployments.create_deployment(actor=alice, tenant=tenant, asked=asked())


def test_it_is_refused_while_a_deployment_runs_there(
    deployed: Any, space: TenantNamespace, admin: Any
) -> None:
    assert what_goes(space)["running"] == ["Deployment llama"]
    with pytest.raises(services.InUse, match="Deployment llama of Vision still run"):
        services.take_cluster(actor=admin, row=space)
    space.refresh_from_db()
    assert not space.is_leaving


def test_a_deployment_that_slipped_in_keeps_everything_in_place(
    deployed: Any, space: TenantNamespace, api: client.Cluster, name: str
) -> None:
    TenantNamespace.objects.update(leaving_at="2026-11-30T10:00:00Z", generation=9)
    reconcile_namespace(space.pk)
    space.refresh_from_db()
    applied = space.condition("Applied")
    assert applied is not None and applied["reason"] == "InUse"
    assert api.get(kinds.RESOURCE_QUOTAS, name, "claimyard")


def test_nothing_new_can_be_deployed_where_a_tenant_leaves(
    space: TenantNamespace, admin: Any, tenant: Any, cluster: Cluster
) -> None:
    services.take_cluster(actor=admin, row=space)
    assert selectors.namespace_of(tenant, cluster) is None
    assert not selectors.clusters_of(tenant).exists()


def test_where_the_portal_only_proposes_the_commands_are_shown_and_nothing_goes(
    space: TenantNamespace, admin: Any, api: client.Cluster, name: str
) -> None:
    Cluster.objects.update(mode=Mode.PROPOSE)
    space.refresh_from_db()
    services.take_cluster(actor=admin, row=space)
    reconcile_namespace(space.pk)
    space.refresh_from_db()
    assert f"kubectl delete namespaces {name}" in space.proposal
    assert labels(api, name) and space.is_leaving
    services.keep_cluster(actor=admin, row=space)
    Cluster.objects.update(mode=Mode.MANAGE)
    reconcile_namespace(space.pk)
    space.refresh_from_db()
    assert space.is_settled and not space.is_leaving


def test_a_retired_cluster_is_forgotten_at_once(
    space: TenantNamespace, admin: Any, api: client.Cluster, name: str
) -> None:
    Cluster.objects.update(retired_at="2026-11-30T10:00:00Z")
    space.refresh_from_db()
    services.take_cluster(actor=admin, row=space)
    assert not TenantNamespace.objects.exists() and not Quota.objects.exists()
    assert labels(api, name)


def test_the_page_shows_what_goes_and_then_takes_it(
    client: Client, space: TenantNamespace, admin: Any, name: str
) -> None:
    client.force_login(admin)
    assert "Take back" in client.get("/tenants/vision/quotas/").text
    page = client.get("/tenants/vision/quotas/in/lab/take/")
    asks.answer(Ask.objects.latest("pk").pk)
    part = client.get(f"/asks/{Ask.objects.latest('pk').key}/").text
    assert "Take Lab back from Vision" in page.text and f"ResourceQuota {name}/claimyard" in part
    client.post("/tenants/vision/quotas/in/lab/take/")
    text = client.get("/tenants/vision/quotas/").text
    assert "Being taken back" in text and "Keep it" in text


def test_strangers_and_members_may_not_take_a_cluster(
    client: Client, space: TenantNamespace, alice: Any, mallory: Any
) -> None:
    for person, path in ((alice, "take"), (alice, "keep"), (mallory, "take")):
        client.force_login(person)
        answer = client.post(f"/tenants/vision/quotas/in/lab/{path}/")
        assert answer.status_code == 404
    assert not TenantNamespace.objects.get().is_leaving
