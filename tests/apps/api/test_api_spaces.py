"""A tenant's place in a cluster by the API: given, shown, taken back, kept."""

from typing import Any

import pytest

from apps.common.models import Ask
from apps.quotas.models import TenantNamespace
from apps.tenancy.models import Tenant
from tests.apps.api.conftest import caller

pytestmark = pytest.mark.django_db


def test_a_cluster_is_given_taken_back_and_kept(admin: Any, tenant: Any, cluster: Any) -> None:
    api = caller(admin)
    made = api.post("tenants/vision/clusters/", {"cluster": "lab", "namespace": "team-vision"})
    assert (made.status_code, made.json()["namespace"]) == (201, "team-vision")
    place = made.headers["Location"].split("/api/v1/")[1]
    assert api.get(place).json()["leaving_at"] is None
    taken = api.send("DELETE", place)
    assert taken.status_code == 202 and taken.json()["leaving_at"]
    assert api.get("tenants/vision/clusters/").json()[0]["leaving_at"]
    assert api.post(place + "keep/").json()["leaving_at"] is None


def test_what_would_go_is_an_ask(admin: Any, tenant: Any, namespace: TenantNamespace) -> None:
    answer = caller(admin).post("tenants/vision/clusters/lab/removal/")
    assert answer.status_code == 202
    assert answer.headers["Location"].endswith(f"/asks/{answer.json()['key']}/")
    assert Ask.objects.get().question == {"space": namespace.pk}


def test_a_stale_version_is_not_taken(admin: Any, namespace: TenantNamespace) -> None:
    answer = caller(admin).send("DELETE", "tenants/vision/clusters/lab/", If_Match='"7.x"')
    assert answer.status_code == 412
    assert not TenantNamespace.objects.get().is_leaving


def test_members_see_their_clusters_and_take_none(
    alice: Any, mallory: Any, tenant: Any, namespace: TenantNamespace
) -> None:
    mine = caller(alice, tenant)
    assert mine.get("tenants/vision/clusters/lab/").status_code == 200
    assert mine.send("DELETE", "tenants/vision/clusters/lab/").status_code in (403, 404)
    other = Tenant.objects.get(slug="other")
    assert caller(mallory, other).get("tenants/vision/clusters/").status_code == 404
