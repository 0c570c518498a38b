"""Pages stay cheap when a tenant has many deployments and the platform many tenants."""

from typing import Any

import pytest
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.deployments.models import Deployment, ModelPool
from apps.tenancy.models import Tenant

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ready")]
MOST = 12


@pytest.fixture
def many(tenant: Tenant, cluster: Any, pattern: Any) -> None:
    deployments = Deployment.objects.bulk_create(
        Deployment(
            tenant=tenant,
            cluster=cluster,
            name=f"model-{number:03}",
            namespace="tenant-vision",
            image="x",
            model=f"m/{number}",
        )
        for number in range(120)
    )
    ModelPool.objects.bulk_create(
        ModelPool(deployment=one, pattern_version=pattern, charge={"h100": 1})
        for one in deployments
    )
    Tenant.objects.bulk_create(
        Tenant(slug=f"team-{number:03}", name=f"Team {number}") for number in range(200)
    )


def counted(client: Client, path: str) -> int:
    from django.db import connection

    client.get(path)  # sessions and content types are read once
    with CaptureQueriesContext(
        connection,
    ) as queries:
        response = client.get(path)
    assert response.status_code == 200
    return len(queries)


@pytest.mark.parametrize(
    "path",
    [
        "/t/vision/deployments/",
        "/t/vision/deployments/?q=model-0&sort=-name",
        "/t/vision/deployments/?page=3",
        "/t/vision/deployments/model-001/",
    ],
)
def test_a_members_pages_are_few_queries(client: Client, alice: Any, many: None, path: str) -> None:
    client.force_login(alice)
    assert counted(client, path) <= MOST


@pytest.mark.parametrize(
    "path",
    [
        "/tenants/",
        "/tenants/?q=team-01",
        "/quotas/",
        "/catalog/classes/",
        "/catalog/patterns/",
        "/catalog/approvals/",
        "/deployments/summary/",
        "/quotas/summary/",
    ],
)
def test_the_platforms_pages_are_few_queries(
    client: Client, admin: Any, many: None, path: str
) -> None:
    client.force_login(admin)
    assert counted(client, path) <= MOST
