"""People learn on pages whether a claim would fit and why one waits; nobody of others' claims."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.claims.models import Claim
from apps.common import asks
from apps.common.models import Ask
from apps.inventory.models import Cluster, Mirrored, Pod, Revision
from apps.tenancy.models import Tenant, User

pytestmark = pytest.mark.django_db
Json = dict[str, Any]

CLAIM = """\
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu
        count: 3
"""


@pytest.fixture
def waiting(cluster: Cluster, tenant: Tenant) -> Pod:
    Claim.objects.create(
        cluster=cluster,
        uid="c1",
        namespace="vision",
        name="wanted",
        state=Claim.State.PENDING,
        tenant=tenant.slug,
        created_at=timezone.now() - timedelta(minutes=3),
    )
    return Pod.objects.create(
        cluster=cluster,
        uid="p1",
        namespace="vision",
        name="server-0",
        phase="Pending",
        claims=["wanted"],
        tenant=tenant.slug,
        waiting="0/1 nodes are available: 1 cannot allocate all claims.",
        requests={"nvidia.com/gpu": 1},
    )


def last_ask() -> Ask:
    return Ask.objects.latest("pk")


def log_in(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


def test_a_pasted_claim_is_asked_as_the_api_has_it(
    client: Client, admin: User, cluster: Cluster
) -> None:
    data = {"cluster": cluster.slug, "claim": CLAIM}
    page = log_in(client, admin).post(reverse("placement:what-if"), data)
    assert page.status_code == 200
    assert b"Waiting for an answer" in page.content
    ask = last_ask()
    assert (ask.kind, ask.cluster_id) == ("placement.check", cluster.pk)
    (claim,) = ask.question["claims"]
    assert claim["spec"]["devices"]["requests"][0]["exactly"]["count"] == 3
    assert ask.question["may_end"] is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "required"),
        ("a: [", "line"),
        ("a: &x 1", "Anchors"),
        ("spec: 3", "spec.devices.requests"),
        ("spec: {devices: {requests: [3]}}", "must be a mapping"),
        (CLAIM.replace("3", "three"), "whole number"),
    ],
)
def test_what_is_no_claim_is_refused_in_words(
    client: Client, admin: User, cluster: Cluster, text: str, said: str
) -> None:
    data = {"cluster": cluster.slug, "claim": text}
    page = log_in(client, admin).post(reverse("placement:what-if"), data)
    assert said in page.content.decode()
    assert not Ask.objects.exists()


def test_a_tenant_is_told_to_end_only_what_is_its_own(
    client: Client, alice: User, cluster: Cluster, waiting: Pod
) -> None:
    data = {"cluster": cluster.slug, "claim": CLAIM}
    log_in(client, alice).post(reverse("placement:what-if"), data)
    assert last_ask().question["may_end"] == ["vision"]


def test_a_stranger_has_no_cluster_to_ask(
    client: Client, mallory: User, cluster: Cluster, waiting: Pod
) -> None:
    page = log_in(client, mallory).get(reverse("placement:what-if"))
    assert b"No cluster to ask" in page.content
    data = {"cluster": cluster.slug, "claim": CLAIM}
    log_in(client, mallory).post(reverse("placement:what-if"), data)
    assert not Ask.objects.exists()


def test_a_waiting_claim_is_asked_about_by_its_pod(
    client: Client, alice: User, waiting: Pod
) -> None:
    claim = Claim.objects.get()
    page = log_in(client, alice).get(reverse("placement:why-claim", args=[claim.pk]))
    assert b"As the scheduler said it last" in page.content
    assert last_ask().question["pod"] == "server-0"
    detail = client.get(reverse("claims:detail", args=[claim.pk]))
    assert reverse("placement:why-claim", args=[claim.pk]).encode() in detail.content


def test_a_waiting_claim_without_a_pod_is_asked_about_itself(
    client: Client, alice: User, waiting: Pod
) -> None:
    waiting.delete()
    log_in(client, alice).get(reverse("placement:why-claim", args=[Claim.objects.get().pk]))
    assert last_ask().question["claim"] == "wanted"


def test_others_pods_are_not_there_for_a_stranger(
    client: Client, mallory: User, cluster: Cluster, waiting: Pod
) -> None:
    url = reverse("placement:why-pod", args=[cluster.slug, "vision", "server-0"])
    assert log_in(client, mallory).get(url).status_code == 404
    claim = reverse("placement:why-claim", args=[Claim.objects.get().pk])
    assert client.get(claim).status_code == 404
    assert client.get(reverse("placement:shadow")).status_code == 404


ANSWER: Json = {
    "outcome": "no",
    "fits": False,
    "message": "0/2 nodes are available: 2 cannot allocate all claims.",
    "reasons": [{"reason": "cannot allocate all claims", "count": 2, "nodes": ["n1", "n2"]}],
    "funnels": [
        {
            "request": "gpu",
            "layers": [
                {"name": "devices", "count": 4, "removed": 0, "sample": [], "detail": ""},
                {
                    "name": "request selectors",
                    "count": 0,
                    "removed": 4,
                    "sample": ["d/n1/gpu-0"],
                    "detail": "memory is 24Gi (4)",
                },
            ],
            "first_empty": "request selectors",
            "parts": [],
            "problem": "",
        }
    ],
    "layers": [
        {
            "name": name,
            "verdict": verdict,
            "text": text,
            "source": "the placement engine",
            "at": None,
            "words": "",
            "is_first": name == "Device selection",
        }
        for name, verdict, text in (
            ("Quota", "passed", "gpu: 1 of 4 charged"),
            ("Device selection", "stuck", "takes away the last 4 devices"),
            ("Node", "none", "Not reached"),
        )
    ],
    "fixes": {
        "found": [
            {"kind": "lower", "text": "Ask for <24Gi>", "nodes": ["n1"], "claims": [], "ends": []}
        ],
        "tries": 7,
        "partial": True,
    },
    "considered_not": ["topology spread constraints"],
    "nodes": [],
    "fitting": 0,
    "looked_at": 2,
    "of": 2,
    "partial": False,
    "cluster": "east",
    "revision": "1.2.3",
    "age_seconds": 4.0,
    "took_ms": 2.5,
}


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[[Json], None]:
    """Answers every ask at once, as a quick worker would."""

    def with_answer(answer: Json) -> None:
        def wait(ask: Ask, **_: Any) -> Ask:
            ask.state, ask.answer, ask.answered_at = Ask.State.ANSWERED, answer, timezone.now()
            ask.save()
            return ask

        monkeypatch.setattr(asks, "wait", wait)

    return with_answer


def test_the_answer_names_filter_values_fixes_and_its_source(
    client: Client, alice: User, cluster: Cluster, waiting: Pod, answering: Callable[[Json], None]
) -> None:
    answering(ANSWER)
    url = reverse("placement:why-pod", args=[cluster.slug, "vision", "server-0"])
    page = log_in(client, alice).get(url).content.decode()
    for said in (
        "Why is server-0 waiting?",
        "cannot allocate all claims",
        "Nothing is left after this",
        "gpu: 1 of 4 charged",
        "<details open>",
        "memory is 24Gi (4)",
        "Ask for &lt;24Gi&gt;",
        "cut short",
        "Not considered: topology spread constraints",
        "revision",
        "1.2.3",
        "heard 4 s before",
    ):
        assert said in page, said


def test_the_same_pages_show_the_answer_of_a_check(
    client: Client, admin: User, cluster: Cluster, answering: Callable[[Json], None]
) -> None:
    answering(ANSWER)
    data = {"cluster": cluster.slug, "claim": CLAIM}
    page = log_in(client, admin).post(reverse("placement:what-if"), data).content.decode()
    assert "Does not fit now" in page
    assert "What would fit now" in page


def test_what_would_fit_is_asked_for_after_the_answer_and_by_who_asked(
    client: Client,
    admin: User,
    alice: User,
    cluster: Cluster,
    answering: Callable[[Json], None],
) -> None:
    answering({name: said for name, said in ANSWER.items() if name != "fixes"})
    data = {"cluster": cluster.slug, "claim": CLAIM}
    page = log_in(client, admin).post(reverse("placement:what-if"), data).content.decode()
    check = last_ask()
    later = reverse("placement:fixes", args=[check.key])
    assert f'hx-get="{later}"' in page
    answering({"fixes": ANSWER["fixes"]})
    assert "Ask for &lt;24Gi&gt;" in client.get(later).content.decode()
    assert (last_ask().kind, last_ask().question) == ("placement.fixes", check.question)
    assert log_in(client, alice).get(later).status_code == 404


@pytest.fixture
def offered(cluster: Cluster) -> None:
    Mirrored.objects.create(
        cluster=cluster,
        kind="deviceclasses",
        uid="k1",
        name="gpu",
        resource_version="1",
        revision=1,
        body={},
    )
    Revision.objects.get_or_create(cluster=cluster, kind="deviceclasses")


@pytest.mark.usefixtures("offered")
def test_a_shadow_is_asked_of_a_tenant_s_namespaces(
    client: Client, admin: User, cluster: Cluster, waiting: Pod
) -> None:
    data = {
        "cluster": cluster.slug,
        "resource": "nvidia.com/gpu",
        "device_class": "gpu",
        "tenant": "vision",
        "node_label": "pool=a",
        "as_published": "on",
    }
    page = log_in(client, admin).post(reverse("placement:shadow"), data)
    assert b"Waiting for an answer" in page.content
    assert last_ask().question == {
        "class": "gpu",
        "resource": "nvidia.com/gpu",
        "as_published": True,
        "namespaces": ["vision"],
        "node_labels": {"pool": "a"},
    }


@pytest.mark.usefixtures("offered", "waiting")
def test_a_shadow_of_what_is_not_there_is_refused(
    client: Client, admin: User, cluster: Cluster
) -> None:
    data = {"cluster": cluster.slug, "resource": "no", "device_class": "gpu", "node_label": "x"}
    page = log_in(client, admin).post(reverse("placement:shadow"), data).content.decode()
    assert "Node pool" in page
    assert "Resource of the device plugin" in page
    assert not Ask.objects.exists()


FRAGMENTS: Json = {
    "class": "gpu",
    "cards": 4,
    "free": 1,
    "stranded": 1,
    "stranded_cards": [
        {"card": "d/n1/gpu-0", "nodes": ["n1"], "in_use": ["gpu-0-1g-0"], "holders": ["ns/held"]}
    ],
    "profiles": [{"name": "1g.10gb", "fits": 6, "cards": 1, "published": 7}],
    "groups": [{"class": "gpu", "link": "d/pcieRoot", "size": 2, "node": "n2", "is_sure": False}],
    "moves": [{"card": "d/n1/gpu-0", "moves": [{"claim": "ns/held", "to": "n2"}]}],
    "group_moves": [
        {"class": "gpu", "size": 4, "node": "n3", "moves": [{"claim": "ns/other", "to": "n4"}]}
    ],
    "partial": True,
    "cluster": "east",
    "revision": "1.2.3",
    "age_seconds": 4.0,
    "took_ms": 2.5,
}


@pytest.mark.usefixtures("offered")
def test_fragmentation_tells_groups_stranded_cards_room_and_moves(
    client: Client, admin: User, cluster: Cluster, answering: Callable[[Json], None]
) -> None:
    answering(FRAGMENTS)
    data = {"cluster": cluster.slug, "device_class": "gpu"}
    page = log_in(client, admin).get(reverse("placement:fragments"), data).content.decode()
    assert last_ask().question == {"class": "gpu"}
    for said in (
        "d/pcieRoot",
        "at least 2",
        "ns/held",
        "1g.10gb",
        "4 of gpu together on n3",
        "Card d/n1/gpu-0 whole",
        "The time was over",
        "heard 4 s before",
    ):
        assert said in page, said


def test_fragmentation_is_for_the_platform(client: Client, alice: User, cluster: Cluster) -> None:
    assert log_in(client, alice).get(reverse("placement:fragments")).status_code == 404
    assert not Ask.objects.exists()


def test_a_waiting_claim_is_written_into_the_what_if_page(
    client: Client, alice: User, mallory: User, cluster: Cluster, waiting: Pod
) -> None:
    spec = {"devices": {"requests": [{"name": "mine", "exactly": {"deviceClassName": "x1"}}]}}
    Mirrored.objects.create(
        cluster=cluster,
        kind="resourceclaims",
        uid="c1",
        name="wanted",
        resource_version="1",
        revision=1,
        body={"spec": spec},
    )
    named = {"cluster": cluster.slug, "namespace": "vision", "claim": "wanted"}
    page = log_in(client, alice).get(reverse("placement:what-if"), named).content.decode()
    assert "deviceClassName: x1" in page
    page = log_in(client, mallory).get(reverse("placement:what-if"), named).content.decode()
    assert "deviceClassName: x1" not in page


def test_a_question_that_takes_long_can_be_stopped(
    client: Client, admin: User, alice: User, cluster: Cluster
) -> None:
    data = {"cluster": cluster.slug, "claim": CLAIM}
    page = log_in(client, admin).post(reverse("placement:what-if"), data).content.decode()
    address = reverse("common:ask-take-back", args=[last_ask().key])
    assert f'hx-post="{address}"' in page
    assert log_in(client, alice).post(address).status_code == 404
    assert b"You took the question back." in log_in(client, admin).post(address).content
