"""Approved classes are in their clusters, and nothing that was not approved."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from apps.catalog import services
from apps.catalog.models import ClassInCluster, ClassVersion
from apps.catalog.reconcile import reconcile_class
from apps.inventory import connections
from apps.inventory.models import Cluster
from kube import client, kinds
from kube.errors import NotFound
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
def version(admin: Any, cluster: Cluster) -> ClassVersion:
    name = f"h100-{uuid4().hex[:8]}"
    return services.create_class(actor=admin, name=name, content=CLASS, clusters=[cluster])


def settle() -> ClassInCluster:
    placement = ClassInCluster.objects.get()
    reconcile_class(placement.pk)
    placement.refresh_from_db()
    return placement


def live(api: client.Cluster, version: ClassVersion) -> dict[str, Any] | None:
    try:
        return api.get(kinds.CLASSES, None, version.device_class.name)
    except NotFound:
        return None


def test_a_draft_is_not_applied(version: ClassVersion, api: client.Cluster) -> None:
    placement = settle()
    assert live(api, version) is None
    assert placement.is_settled


def test_approved_applied_and_withdrawn_again(
    version: ClassVersion, admin: Any, approver: Any, api: client.Cluster
) -> None:
    approve(approver, version, admin)
    placement = settle()
    found = live(api, version)
    assert found is not None
    assert found["metadata"]["annotations"]["claimyard.dev/version"] == "1"
    assert placement.applied_version == version
    version.refresh_from_db()
    services.withdraw(actor=admin, version=version, text="end of life")
    placement = settle()
    assert live(api, version) is None
    assert placement.applied_version is None


def test_a_class_that_is_there_already_is_left_alone_until_adopted(
    version: ClassVersion, admin: Any, approver: Any, api: client.Cluster
) -> None:
    theirs = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": version.device_class.name},
        "spec": {"selectors": [{"cel": {"expression": "true"}}]},
    }
    api.create(theirs)
    approve(approver, version, admin)
    placement = settle()
    assert placement.condition("Applied")["reason"] == "NotOurs"  # type: ignore[index]
    held = live(api, version)
    assert held is not None and held["spec"] == theirs["spec"]
    services.place_class(
        actor=admin,
        device_class=version.device_class,
        cluster=placement.cluster,
        adopt=True,
    )
    placement = settle()
    assert placement.condition("Applied")["status"] == "True"  # type: ignore[index]
    held = live(api, version)
    assert held is not None and held["spec"]["selectors"][0]["cel"]["expression"] != "true"


def test_an_edited_selector_is_drift_and_put_back_by_hand(
    version: ClassVersion, admin: Any, approver: Any, api: client.Cluster
) -> None:
    approve(approver, version, admin)
    settle()
    edited = {"spec": {"selectors": [{"cel": {"expression": "true"}}]}}
    api.patch_merge(kinds.CLASSES, None, version.device_class.name, edited)
    placement = settle()
    assert [one["path"] for one in placement.drift] == ["spec.selectors"]
    services.put_back_class(actor=admin, placement=placement)
    assert settle().drift == []


def test_a_deleted_class_is_made_again(
    version: ClassVersion, admin: Any, approver: Any, api: client.Cluster
) -> None:
    approve(approver, version, admin)
    settle()
    api.delete(kinds.CLASSES, None, version.device_class.name)
    settle()
    assert live(api, version) is not None
