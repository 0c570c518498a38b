"""A tenant's namespace is made, follows its limits, and keeps what others have in it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from apps.catalog import services as catalog
from apps.catalog.models import ClassVersion
from apps.inventory import connections
from apps.inventory.models import Cluster
from apps.quotas import services
from apps.quotas.models import TenantNamespace
from apps.quotas.reconcile import reconcile_namespace
from kube import client, kinds
from tests.apps.conftest import CLASS, approve, make_cluster

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


def give(admin: Any, tenant: Any, cluster: Cluster, name: str, **more: Any) -> TenantNamespace:
    row = services.give_cluster(actor=admin, tenant=tenant, cluster=cluster, namespace=name, **more)
    reconcile_namespace(row.pk)
    row.refresh_from_db()
    return row


def limits(api: client.Cluster, name: str) -> dict[str, str]:
    found: dict[str, str] = api.get(kinds.RESOURCE_QUOTAS, name, "claimyard")["spec"]["hard"]
    return found


def test_a_class_without_a_quota_is_refused_in_the_cluster_too(
    admin: Any, tenant: Any, cluster: Cluster, h100: ClassVersion, api: Any, name: str
) -> None:
    give(admin, tenant, cluster, name)
    assert limits(api, name)["h100.deviceclass.resource.k8s.io/devices"] == "0"
    services.set_quotas(actor=admin, tenant=tenant, cluster=cluster, limits={"h100": 3})
    reconcile_namespace(TenantNamespace.objects.get().pk)
    assert limits(api, name)["h100.deviceclass.resource.k8s.io/devices"] == "3"


def test_a_class_that_is_approved_later_is_limited_without_being_called_drift(
    admin: Any, approver: Any, tenant: Any, cluster: Cluster, api: Any, name: str
) -> None:
    row = give(admin, tenant, cluster, name)
    version = catalog.create_class(actor=admin, name="l40s", content=CLASS, clusters=[cluster])
    approve(approver, version, admin)
    reconcile_namespace(row.pk)
    row.refresh_from_db()
    assert row.drift == []
    assert limits(api, name)["l40s.deviceclass.resource.k8s.io/devices"] == "0"


def test_rights_are_read_only(
    admin: Any, tenant: Any, cluster: Cluster, api: Any, name: str
) -> None:
    give(admin, tenant, cluster, name)
    binding = api.get(kinds.ROLE_BINDINGS, name, "claimyard-tenant-view")
    assert binding["roleRef"]["name"] == "claimyard-tenant-view"


def test_a_namespace_of_others_is_left_alone_until_it_is_adopted(
    admin: Any, tenant: Any, cluster: Cluster, api: Any, name: str
) -> None:
    theirs = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"a": "b"}},
    }
    api.create(theirs)
    row = give(admin, tenant, cluster, name)
    assert row.condition("Applied")["reason"] == "NotOurs"  # type: ignore[index]
    assert "claimyard.dev/tenant" not in api.get(kinds.NAMESPACES, None, name)["metadata"]["labels"]
    TenantNamespace.objects.all().delete()

    row = give(admin, tenant, cluster, name, adopt=True)
    labels = api.get(kinds.NAMESPACES, None, name)["metadata"]["labels"]
    assert labels["claimyard.dev/tenant"] == "vision" and labels["a"] == "b"
    assert row.condition("Applied")["status"] == "True"  # type: ignore[index]


def test_a_changed_limit_is_shown_and_put_back(
    admin: Any, tenant: Any, cluster: Cluster, h100: ClassVersion, api: Any, name: str
) -> None:
    row = give(admin, tenant, cluster, name)
    key = "h100.deviceclass.resource.k8s.io/devices"
    api.patch_merge(kinds.RESOURCE_QUOTAS, name, "claimyard", {"spec": {"hard": {key: "99"}}})
    reconcile_namespace(row.pk)
    row.refresh_from_db()
    assert [(one["live"], one["wanted"]) for one in row.drift] == [("99", "0")]
    services.put_back_namespace(actor=admin, row=row)
    reconcile_namespace(row.pk)
    assert limits(api, name)[key] == "0"


def test_groups_of_the_login_are_bound_to_the_role_that_only_reads(
    admin: Any, tenant: Any, cluster: Cluster, api: Any, name: str, settings: Any
) -> None:
    settings.OIDC_ROLES = ["ml=tenant:vision:editor", "guests=tenant:vision:viewer"]
    row = give(admin, tenant, cluster, name)
    assert groups(api, name) == {"ml", "guests"}
    settings.OIDC_ROLES = ["ml=tenant:vision:editor"]
    reconcile_namespace(row.pk)  # as the sweep after a restart with other settings
    assert groups(api, name) == {"ml"}


def groups(api: client.Cluster, name: str) -> set[str]:
    binding = api.get(kinds.ROLE_BINDINGS, name, "claimyard-tenant-view")
    assert binding["roleRef"]["name"] == "claimyard-tenant-view"
    return {one["name"] for one in binding["subjects"] if one["kind"] == "Group"}
