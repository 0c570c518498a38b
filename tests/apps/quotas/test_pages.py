"""Quotas: the matrix, giving a cluster, setting limits."""

from typing import Any

import pytest
from django.test import Client

from apps.quotas import ledger, selectors
from apps.quotas.models import Quota, TenantNamespace

pytestmark = pytest.mark.django_db


def login(client: Client, user: Any) -> Client:
    client.force_login(user)
    return client


def test_the_matrix_shows_use_and_limit(
    client: Client, alice: Any, tenant: Any, cluster: Any, quota: int
) -> None:
    ledger.charge(tenant=tenant, cluster=cluster, holder="pool:1", amounts={"h100": 3})
    text = login(client, alice).get("/quotas/").text
    assert "vision" in text and "h100" in text
    assert selectors.matrix(cluster, [tenant])[1][0].cells[0].used == 3


def test_the_matrix_says_what_is_missing(client: Client, alice: Any) -> None:
    assert "register one first" in login(client, alice).get("/quotas/").text


def test_an_admin_gives_a_cluster_and_limits(
    client: Client, admin: Any, tenant: Any, cluster: Any, h100: Any
) -> None:
    page = login(client, admin).post(
        "/tenants/vision/quotas/give/", {"cluster": "lab", "namespace": "team-vision"}, follow=True
    )
    assert "Quotas of Vision" in page.text
    client.post("/tenants/vision/quotas/in/lab/", {"h100": "5"})
    assert Quota.objects.get().limit == 5
    client.post("/tenants/vision/quotas/in/lab/", {"h100": ""})
    assert not Quota.objects.exists()
    page = client.post("/tenants/vision/quotas/in/lab/", {"h100": "-1"})
    assert page.status_code == 422


def test_a_namespace_belongs_to_one_tenant(
    client: Client, admin: Any, mallory: Any, namespace: TenantNamespace
) -> None:
    page = login(client, admin).post(
        "/tenants/other/quotas/give/", {"cluster": "lab", "namespace": namespace.namespace}
    )
    assert page.status_code == 422
    page = client.post(
        "/tenants/other/quotas/give/", {"cluster": "lab", "namespace": "kube-system"}
    )
    assert page.status_code == 422 and "belongs to the cluster" in page.text


def test_the_tenants_part_is_not_sent_twice(
    client: Client, alice: Any, namespace: TenantNamespace, quota: int
) -> None:
    part = login(client, alice).get("/tenants/vision/quotas/")
    assert "tenant-vision" in part.text
    again = client.get("/tenants/vision/quotas/", headers={"If-None-Match": part["ETag"]})
    assert again.status_code == 304


def test_members_do_not_set_quotas(
    client: Client, alice: Any, mallory: Any, namespace: TenantNamespace
) -> None:
    login(client, alice)
    assert client.post("/tenants/vision/quotas/in/lab/", {"h100": "99"}).status_code == 404
    assert login(client, mallory).get("/tenants/vision/quotas/").status_code == 404


def test_the_overview_names_the_fullest(
    client: Client, alice: Any, tenant: Any, cluster: Any, quota: int
) -> None:
    ledger.charge(tenant=tenant, cluster=cluster, holder="pool:1", amounts={"h100": 4})
    text = login(client, alice).get("/quotas/summary/").text
    assert "vision" in text and "h100" in text
