"""The rooms by API: the same rules as by page."""

from typing import Any

import pytest

from apps.catalog.models import ClassVersion
from apps.deployments.models import Deployment
from apps.inventory.models import Cluster, Node
from apps.quotas import services as quotas
from apps.quotas.models import TenantNamespace
from apps.tenancy.models import Member, Role, Tenant, User
from tests.apps.api.conftest import Caller, caller
from tests.apps.conftest import CLASS, PATTERN

pytestmark = pytest.mark.django_db
DEPLOYMENT: dict[str, Any] = {
    "name": "llama",
    "cluster": "lab",
    "image": "vllm/vllm-openai:v0.11.0",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "pools": [{"pattern": "h100-cards", "replicas": 2, "params": {"count": 1}}],
}


@pytest.fixture
def limits(admin: User, tenant: Tenant, cluster: Cluster, namespace: Any, pattern: Any) -> None:
    quotas.set_quotas(actor=admin, tenant=tenant, cluster=cluster, limits={"h100": 3})


def test_a_model_is_deployed_scaled_and_retired(as_alice: Caller, limits: None) -> None:
    made = as_alice.post("tenants/vision/deployments/", DEPLOYMENT)
    assert made.status_code == 201 and made["Location"].endswith("/vision/deployments/llama/")
    scaled = as_alice.post("tenants/vision/deployments/llama/scale/", {"replicas": 3})
    assert scaled.json()["spec"]["pools"][0]["replicas"] == 3
    assert as_alice.send("DELETE", "tenants/vision/deployments/llama/").status_code == 202
    assert Deployment.objects.get().is_retiring


def test_over_quota_is_refused_with_its_reason(as_alice: Caller, limits: None) -> None:
    wanted = {**DEPLOYMENT, "pools": [{"pattern": "h100-cards", "replicas": 4}]}
    answer = as_alice.post("tenants/vision/deployments/", wanted)
    assert answer.status_code == 409 and answer.json()["code"] == "quota_exceeded"
    assert "h100" in answer.json()["detail"]
    assert not Deployment.objects.exists()


def test_a_misspelt_field_is_named(as_alice: Caller, limits: None) -> None:
    wanted = {**DEPLOYMENT, "pools": [{"pattern": "h100-cards", "replica": 4}]}
    problem = as_alice.post("tenants/vision/deployments/", wanted).json()
    assert problem["errors"][0]["field"] == "pools[0].replica"


def test_a_preview_changes_nothing(as_alice: Caller, limits: None) -> None:
    seen = as_alice.post("tenants/vision/deployment-preview/", DEPLOYMENT).json()
    assert {"Deployment", "Service"} <= {one["kind"] for one in seen["manifests"]}
    assert seen["quota"] == [
        {"device_class": "h100", "limit": 3, "used": 0, "after": 2, "fits": True}
    ]
    assert not Deployment.objects.exists()


def test_a_stale_scale_is_412(as_alice: Caller, limits: None) -> None:
    etag = as_alice.post("tenants/vision/deployments/", DEPLOYMENT)["ETag"]
    as_alice.post("tenants/vision/deployments/llama/scale/", {"replicas": 1})
    late = as_alice.post("tenants/vision/deployments/llama/scale/", {"replicas": 3}, If_Match=etag)
    assert late.status_code == 412


def test_a_viewer_may_look_and_not_touch_and_a_stranger_sees_nothing(
    as_alice: Caller, as_mallory: Caller, bob: User, tenant: Tenant, limits: None
) -> None:
    as_alice.post("tenants/vision/deployments/", DEPLOYMENT)
    viewer = caller(bob, tenant)
    path = "tenants/vision/deployments/llama/"
    assert viewer.get(path).status_code == 200
    assert viewer.post(path + "scale/", {"replicas": 0}).status_code == 403
    assert as_mallory.get(path).status_code == 404
    assert as_mallory.get("deployments/").json()["results"] == []


def test_a_class_is_proposed_denied_changed_and_approved(
    as_admin: Caller, approver: User, cluster: Cluster
) -> None:
    as_approver = caller(approver)
    made = as_admin.post("device-classes/", {"name": "h100", "content": CLASS, "clusters": ["lab"]})
    assert made.status_code == 201
    review = as_admin.post("device-classes/h100/submit/").json()
    no = as_approver.post(f"approvals/{review['id']}/deny/", {"text": "Too wide"})
    assert no.json()["state"] == "denied"
    as_admin.send("PUT", "device-classes/h100/draft/", {"content": CLASS, "note": "narrower"})
    review = as_admin.post("device-classes/h100/submit/").json()
    assert (
        as_admin.post(
            f"approvals/{review['id']}/approve/", {"content_hash": review["content_hash"]}
        ).status_code
        == 403
    )
    wrong = as_approver.post(f"approvals/{review['id']}/approve/", {"content_hash": "0" * 64})
    assert wrong.status_code == 409 and wrong.json()["code"] == "stale_review"
    yes = as_approver.post(
        f"approvals/{review['id']}/approve/", {"content_hash": review["content_hash"]}
    )
    assert yes.json()["state"] == "approved"
    assert as_admin.get("device-classes/h100/").json()["versions"][0]["state"] == "approved"


def test_a_pattern_is_proposed(as_admin: Caller, h100: ClassVersion) -> None:
    made = as_admin.post(
        "claim-patterns/", {"slug": "one", "name": "One", "content": PATTERN, "tenants": []}
    )
    assert made.status_code == 201
    assert as_admin.post("claim-patterns/one/submit/").status_code == 201


def test_a_pattern_for_others_is_not_seen(
    as_admin: Caller, as_alice: Caller, as_mallory: Caller, h100: ClassVersion
) -> None:
    as_admin.post(
        "claim-patterns/",
        {"slug": "one", "name": "One", "content": PATTERN, "tenants": ["vision"]},
    )
    assert as_alice.get("claim-patterns/one/").status_code == 200
    assert as_mallory.get("claim-patterns/one/").status_code == 404


def test_members_are_set_and_removed_by_an_owner(
    as_alice: Caller, mallory: User, tenant: Tenant
) -> None:
    put = as_alice.send("PUT", "tenants/vision/members/mallory/", {"role": "editor"})
    assert put.json()["role"] == "editor"
    assert as_alice.send("DELETE", "tenants/vision/members/mallory/").status_code == 204
    assert not Member.objects.filter(tenant=tenant, user=mallory).exists()
    last = as_alice.send("DELETE", "tenants/vision/members/alice/")
    assert last.status_code in (204, 409)


def test_the_last_owner_stays(as_alice: Caller, bob: User) -> None:
    answer = as_alice.send("DELETE", "tenants/vision/members/alice/")
    assert answer.status_code == 409 and answer.json()["code"] == "last_owner"


def test_quotas_are_set_by_an_admin_only(
    as_admin: Caller, as_alice: Caller, h100: ClassVersion, namespace: TenantNamespace
) -> None:
    wanted = {"limits": {"h100": 8}}
    assert as_alice.send("PUT", "tenants/vision/quotas/lab/", wanted).status_code == 404
    put = as_admin.send("PUT", "tenants/vision/quotas/lab/", wanted)
    assert put.json()["limits"] == [{"device_class": "h100", "limit": 8, "used": 0}]
    assert as_alice.get("quotas/").json()["results"][0]["limit"] == 8


def test_inventory_is_for_the_platform_and_clusters_for_their_tenants(
    as_admin: Caller, as_alice: Caller, as_mallory: Caller, namespace: TenantNamespace
) -> None:
    Node.objects.create(cluster=Cluster.objects.get(), name="n1", path="dra")
    assert as_admin.get("nodes/?cluster=lab").json()["results"][0]["name"] == "n1"
    assert as_alice.get("nodes/").status_code == 404
    assert [row["slug"] for row in as_alice.get("clusters/").json()["results"]] == ["lab"]
    assert as_mallory.get("clusters/").json()["results"] == []
    assert "credentials" not in as_alice.get("clusters/lab/").json()


def test_an_ask_is_shown_to_who_asked(as_alice: Caller, as_mallory: Caller, alice: User) -> None:
    from apps.common import asks

    ask = asks.put("test.echo", {}, asked_by=alice)
    assert as_alice.get(f"asks/{ask.key}/").json()["state"] == "waiting"
    assert as_mallory.get(f"asks/{ask.key}/").status_code == 404


def test_roles_are_words(as_alice: Caller) -> None:
    assert as_alice.get("tenants/vision/members/").json()["results"][0]["role"] == "owner"
    assert (
        as_alice.send("PUT", "tenants/vision/members/alice/", {"role": "king"}).status_code == 400
    )
    assert Member.objects.get().role == Role.OWNER


def test_a_cluster_is_registered_told_what_to_do_and_retired(as_admin: Caller) -> None:
    made = as_admin.post(
        "clusters/",
        {"slug": "east", "name": "East", "server": "https://east.example:6443", "token": "t0p"},
    )
    assert made.status_code == 201 and made.json()["mode"] == "observe"
    assert "t0p" not in made.text
    etag = made["ETag"]
    changed = as_admin.send("PATCH", "clusters/east/", {"mode": "manage"}, If_Match=etag)
    assert changed.json()["mode"] == "manage"
    late = as_admin.send("PATCH", "clusters/east/", {"mode": "propose"}, If_Match=etag)
    assert late.status_code == 412
    assert as_admin.send("DELETE", "clusters/east/").json()["retired_at"]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"server": "https://east.example:6443", "kubeconfig": "x"},
        {"kubeconfig": "not: [one"},
        {"server": "ftp://east", "token": "t"},
    ],
)
def test_credentials_that_cannot_be_used_are_refused(
    as_admin: Caller, given: dict[str, str]
) -> None:
    answer = as_admin.post("clusters/", {"slug": "east", "name": "East", **given})
    assert answer.status_code == 400 and not Cluster.objects.exists()


def test_trying_credentials_out_is_an_ask_without_them(as_admin: Caller) -> None:
    asked = as_admin.post("cluster-trials/", {"server": "https://127.0.0.1:1", "token": "t0p"})
    assert asked.status_code == 202
    seen = as_admin.get(asked["Location"].partition("/api/v1/")[2])
    assert seen.json()["state"] == "waiting" and "sealed" not in seen.text


def test_one_switch_stops_all_writes(as_admin: Caller, as_alice: Caller) -> None:
    put = as_admin.send("PUT", "writes/", {"stopped": True, "reason": "maintenance"})
    assert put.json()["stopped"] and as_admin.get("writes/").json()["reason"] == "maintenance"
    assert as_alice.send("PUT", "writes/", {"stopped": False}).status_code == 404
