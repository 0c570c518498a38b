"""What a list costs in queries, whole and as the part that is asked for again and again."""

from typing import Any

import pytest
from django.test import Client

from apps.tenancy.models import User
from tests.apps.inventory.conftest import Told

pytestmark = pytest.mark.django_db
LISTS = (
    "/nodes/",
    "/devices/",
    "/claims/",
    "/clusters/",
    "/tenants/",
    "/tenants/+people/",
    "/audit/",
    "/catalog/classes/",
    "/catalog/patterns/",
    "/catalog/approvals/",
    "/quotas/",
)
PART = {"HX-Request": "true"}
# Session, person, and what the rows depend on.
UNCHANGED = 3


@pytest.fixture
def seen(client: Client, admin: User, fleet_told: Told) -> Client:
    client.force_login(admin)
    return client


@pytest.mark.parametrize("path", LISTS)
def test_a_list_costs_a_dozen_queries_at_most(
    seen: Client, path: str, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(12):
        assert seen.get(path).status_code == 200
    with django_assert_max_num_queries(12):
        assert seen.get(f"{path}?q=n1&sort=-name", headers=PART).status_code == 200


@pytest.mark.parametrize("path", ["/nodes/", "/devices/", "/claims/"])
def test_an_unchanged_part_costs_what_its_revision_does(
    seen: Client, path: str, django_assert_num_queries: Any
) -> None:
    etag = seen.get(path, headers=PART)["ETag"]
    with django_assert_num_queries(UNCHANGED):
        assert seen.get(path, headers=PART | {"If-None-Match": etag}).status_code == 304
