"""Questions of placement over the API: asked of what the caller may see, answered as asks."""

from typing import Any

import pytest

from apps.catalog.models import PatternVersion
from apps.common.models import Ask
from apps.inventory.models import Cluster, Pod
from apps.tenancy.models import Tenant, User
from tests.apps.api.conftest import caller

pytestmark = pytest.mark.django_db
Json = dict[str, Any]
CLAIM: Json = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "c"},
    "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}},
}


@pytest.fixture(autouse=True)
def at_once(settings: Any) -> None:
    """Nobody answers here, so nobody waits."""
    settings.ASK_WAIT_MS = 0


@pytest.fixture
def waiting(cluster: Cluster, tenant: Tenant) -> Pod:
    return Pod.objects.create(
        cluster=cluster,
        uid="p1",
        namespace="vision",
        name="server-0",
        phase="Pending",
        tenant=tenant.slug,
    )


def test_a_check_is_an_ask_with_its_place(admin: User, cluster: Cluster) -> None:
    body = {"cluster": cluster.slug, "claims": [CLAIM]}
    answer = caller(admin).post("placement/check/", body)
    ask = Ask.objects.get()
    assert answer.status_code == 202
    assert answer.headers["Location"].endswith(f"/api/v1/asks/{ask.key}/")
    assert (answer.json()["kind"], ask.question["fixes"]) == ("placement.check", True)
    caller(admin).post("placement/check/", body | {"fixes": False})
    assert Ask.objects.latest("pk").question["fixes"] is False


def test_a_token_that_may_only_read_may_ask(admin: User, cluster: Cluster) -> None:
    body = {"cluster": cluster.slug, "expressions": ["true"]}
    assert caller(admin, write=False).post("placement/lint/", body).status_code == 202
    assert Ask.objects.get().question == {"expressions": ["true"]}


def test_a_pod_of_one_s_own_is_explained_and_no_other(
    alice: User, mallory: User, cluster: Cluster, tenant: Tenant, waiting: Pod
) -> None:
    body = {"cluster": cluster.slug, "namespace": "vision", "pod": "server-0"}
    assert caller(alice, tenant).post("placement/explain/", body).status_code == 202
    assert Ask.objects.get().question["may_end"] == ["vision"]
    theirs = caller(mallory, Tenant.objects.get(slug="other"))
    refused = theirs.post("placement/explain/", body)
    assert refused.status_code == 404
    assert refused.headers["Content-Type"] == "application/problem+json"


def test_a_shadow_is_for_the_platform(
    admin: User, alice: User, cluster: Cluster, tenant: Tenant, waiting: Pod
) -> None:
    body = {
        "cluster": cluster.slug,
        "device_class": "gpu",
        "resource": "nvidia.com/gpu",
        "tenant": "vision",
    }
    assert caller(alice, tenant).post("placement/shadow/", body).status_code == 404
    assert caller(admin).post("placement/shadow/", body).status_code == 202
    assert Ask.objects.get().question["namespaces"] == ["vision"]


def test_fragmentation_is_for_the_platform(
    admin: User, alice: User, cluster: Cluster, tenant: Tenant
) -> None:
    body = {"cluster": cluster.slug, "device_class": "gpu"}
    assert caller(alice, tenant).post("placement/fragments/", body).status_code == 404
    assert caller(admin).post("placement/fragments/", body).status_code == 202
    assert Ask.objects.get().question == {"class": "gpu"}


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("check", {"claims": []}),
        ("check", {"claims": [{"spec": {}}]}),
        ("check", {"claims": [3]}),
        ("check", {"claims": [{"kind": "Node"}], "pod": {}}),
        ("explain", {}),
        ("explain", {"pod": "p"}),
        ("explain", {"claim": {"spec": {"devices": {"requests": [{"exactly": {"count": "x"}}]}}}}),
        ("compare", {"content": {}}),
        ("compare", {"device_class": "h100", "pattern": "h100-cards", "content": {}}),
        ("lint", {"expressions": "true"}),
        ("lint", {"expressions": ["x" * 20_001]}),
        ("shadow", {"device_class": "gpu"}),
    ],
)
def test_what_cannot_be_asked_is_a_problem(
    admin: User, cluster: Cluster, path: str, change: Json
) -> None:
    answer = caller(admin).post(f"placement/{path}/", {"cluster": cluster.slug, **change})
    assert answer.status_code == 400
    assert answer.json()["errors"]
    assert not Ask.objects.exists()


def test_a_cluster_that_is_not_there_is_not_found(admin: User) -> None:
    answer = caller(admin).post("placement/check/", {"cluster": "no", "claims": [CLAIM]})
    assert answer.status_code == 404


def test_the_next_version_of_a_class_or_pattern_is_compared(
    admin: User, auditor: User, cluster: Cluster, pattern: PatternVersion
) -> None:
    of_class = {"device_class": "h100", "content": {"selectors": ["true"]}}
    of_pattern = {"pattern": "h100-cards", "content": pattern.content}
    for change, kind in ((of_class, "compare-class"), (of_pattern, "compare-pattern")):
        body = {"cluster": cluster.slug, **change}
        assert caller(admin).post("placement/compare/", body).status_code == 202
        assert Ask.objects.latest("pk").kind == f"placement.{kind}"
        assert caller(auditor).post("placement/compare/", body).status_code == 403
    missing = {"cluster": cluster.slug, "device_class": "no", "content": {}}
    assert caller(admin).post("placement/compare/", missing).status_code == 404


def test_an_ask_is_taken_back_by_who_asked(
    admin: User, alice: User, cluster: Cluster, tenant: Tenant
) -> None:
    body = {"cluster": cluster.slug, "device_class": "gpu"}
    key = caller(admin).post("placement/fragments/", body).json()["key"]
    assert caller(alice, tenant).send("DELETE", f"asks/{key}/").status_code == 404
    found = caller(admin, write=False).send("DELETE", f"asks/{key}/").json()
    assert (found["state"], found["problem"]) == ("failed", "You took the question back.")
