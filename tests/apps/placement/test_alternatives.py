"""A pattern is proposed instead only to those who may use it and have the quota for it."""

import pytest

from apps.catalog.models import PatternVersion
from apps.inventory.models import Cluster, Mirrored, Pod
from apps.placement import asking
from apps.placement.alternatives import candidates
from apps.quotas import ledger
from apps.tenancy.models import Tenant, User

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("pattern", "namespace")]


def charge(tenant: Tenant, cluster: Cluster, amount: int) -> None:
    ledger.charge(tenant=tenant, cluster=cluster, holder="pool:1", amounts={"h100": amount})


def test_without_a_quota_of_its_class_a_pattern_is_no_alternative(
    alice: User, cluster: Cluster
) -> None:
    assert candidates(alice, cluster, "vision") == {}


@pytest.mark.usefixtures("quota")
def test_a_pattern_says_what_it_would_take_of_the_quota(
    alice: User, tenant: Tenant, cluster: Cluster
) -> None:
    charge(tenant, cluster, 2)
    (name,) = candidates(alice, cluster, "vision")
    assert name == "H100 cards v1 (3 of 4 h100 of the quota with it)"


@pytest.mark.usefixtures("quota")
def test_a_full_quota_leaves_room_only_for_what_gives_back_as_much(
    alice: User, tenant: Tenant, cluster: Cluster
) -> None:
    charge(tenant, cluster, 4)
    assert candidates(alice, cluster, "vision") == {}
    assert candidates(alice, cluster, "vision", gives_back={"h100": 1})
    assert candidates(alice, cluster, "vision", gives_back={"h100": 1}, replicas=2) == {}


@pytest.mark.usefixtures("quota")
def test_a_pattern_of_other_tenants_is_no_alternative(
    alice: User, mallory: User, cluster: Cluster, pattern: PatternVersion
) -> None:
    pattern.pattern.tenants.add(Tenant.objects.get(slug="other"))
    assert candidates(alice, cluster, "vision") == {}
    assert candidates(mallory, cluster, "vision") == {}


@pytest.mark.usefixtures("quota")
def test_the_least_of_a_pattern_is_tried_too(
    alice: User, cluster: Cluster, pattern: PatternVersion
) -> None:
    content = pattern.content
    content["parameters"][0]["default"] = 2
    PatternVersion.objects.filter(pk=pattern.pk).update(content=content)
    usual, least = candidates(alice, cluster, "vision").items()
    assert "with Cards 1" in least[0]
    counts = [
        claims[0]["spec"]["devices"]["requests"][0]["exactly"]["count"]
        for _, claims in (usual, least)
    ]
    assert counts == [2, 1]


def test_the_platform_is_offered_every_approved_pattern(admin: User, cluster: Cluster) -> None:
    assert list(candidates(admin, cluster)) == ["H100 cards v1"]


@pytest.mark.usefixtures("quota")
def test_a_pod_gives_back_what_its_claims_were_charged(
    alice: User, tenant: Tenant, cluster: Cluster
) -> None:
    charge(tenant, cluster, 4)
    pod = Pod.objects.create(
        cluster=cluster,
        uid="p",
        namespace="tenant-vision",
        name="p",
        phase="Pending",
        claims=["c"],
        tenant="vision",
        deployment="llama",
    )
    exactly = {"deviceClassName": "h100", "count": 2}
    Mirrored.objects.create(
        cluster=cluster,
        kind="resourceclaims",
        uid="c",
        namespace="tenant-vision",
        name="c",
        resource_version="1",
        revision=1,
        body={"spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}},
    )
    question = asking.why_pod(alice, pod).question
    assert list(question["candidates"]) == ["H100 cards v1 (3 of 4 h100 of the quota with it)"]
