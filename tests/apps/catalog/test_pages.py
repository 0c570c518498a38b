"""Catalog pages: proposing, reviewing with the diff in view, deciding."""

from typing import Any

import pytest
from django.test import Client

from apps.catalog import services
from apps.catalog.forms import pattern_yaml
from apps.catalog.models import Approval, ClassVersion, PatternVersion
from apps.common import asks
from apps.common.models import Ask
from tests.apps.conftest import CLASS, PATTERN

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nobody_answers(settings: Any) -> None:
    settings.ASK_WAIT_MS = 0


def login(client: Client, user: Any) -> Client:
    client.force_login(user)
    return client


@pytest.mark.parametrize(
    "path",
    [
        "/catalog/classes/",
        "/catalog/classes/h100/",
        "/catalog/patterns/",
        "/catalog/patterns/h100-cards/",
    ],
)
def test_everybody_reads_the_catalog(
    client: Client, bob: Any, pattern: PatternVersion, path: str
) -> None:
    page = login(client, bob).get(path)
    assert page.status_code == 200
    assert "h100" in page.text
    assert "Propose" not in page.text


def test_only_admins_propose(client: Client, alice: Any, approver: Any) -> None:
    assert login(client, alice).get("/catalog/classes/new/").status_code == 404
    assert login(client, approver).get("/catalog/classes/new/").status_code == 403


def test_a_class_is_proposed_denied_changed_and_approved(
    client: Client, admin: Any, approver: Any, cluster: Any
) -> None:
    form = {
        "name": "l40s",
        "selectors": 'device.driver == "gpu.nvidia.com"',
        "clusters": ["lab"],
        "submit": "1",
    }
    page = login(client, admin).post("/catalog/classes/new/", form, follow=True)
    assert "waits for an approver" in page.text
    approval = Approval.objects.get()
    review = f"/catalog/approvals/{approval.pk}/"
    assert "Somebody else has to approve" in client.get(review).text or (
        "Only an approver decides" in client.get(review).text
    )

    login(client, approver)
    assert "l40s v1" in client.get("/catalog/approvals/").text
    page = client.get(review)
    assert "device.driver" in page.text and "New: nothing was approved before" in page.text
    held = {"content_hash": approval.content_hash}
    assert client.post(review, held | {"deny": "1"}).status_code == 422
    client.post(review, held | {"deny": "1", "text": "say which cards"})

    login(client, admin)
    changed = 'device.driver == "gpu.nvidia.com" && true'
    client.post("/catalog/classes/l40s/edit/", {"selectors": changed, "submit": "1"})
    second = Approval.objects.get(state="pending")
    login(client, approver)
    review = f"/catalog/approvals/{second.pk}/"
    assert client.post(review, held | {"approve": "1"}).status_code == 422  # the old hash
    client.post(review, {"content_hash": second.content_hash, "approve": "1"})
    assert ClassVersion.objects.get().state == "approved"
    assert "say which cards" in client.get(review).text


def test_an_admin_without_the_role_cannot_decide(
    client: Client, admin: Any, approver: Any, cluster: Any
) -> None:
    version = services.create_class(actor=approver, name="h100", content=CLASS)
    approval = services.submit(actor=approver, version=version)
    page = login(client, admin).post(
        f"/catalog/approvals/{approval.pk}/",
        {"content_hash": approval.content_hash, "approve": "1"},
    )
    assert page.status_code == 403


def test_matches_are_asked_while_typing(client: Client, admin: Any, cluster: Any) -> None:
    page = login(client, admin).post(
        "/catalog/classes/match/", {"selectors": "true", "match_cluster": "lab"}
    )
    assert "Waiting for an answer" in page.text
    assert Ask.objects.get().question == {"class_selectors": ["true"], "request_selectors": []}


def test_a_pattern_is_proposed_by_form(client: Client, admin: Any, h100: ClassVersion) -> None:
    form = {
        "slug": "h100-any",
        "name": "Any H100",
        "device_class": "h100",
        "most": 4,
        "default_count": 1,
        "memory_key": "gpu.nvidia.com/memory",
        "memory_default": "40Gi",
        "memory_most": "80Gi",
        "choice_key": "gpu.nvidia.com/productName",
        "choices": "NVIDIA H100\nNVIDIA H200",
        "plugin_resource": "nvidia.com/gpu",
    }
    page = login(client, admin).post("/catalog/patterns/new/", form, follow=True)
    assert "saved as a draft" in page.text
    content = PatternVersion.objects.get().content
    assert content["device_plugin"]["resource"] == "nvidia.com/gpu"
    assert [one["name"] for one in content["parameters"]] == ["count", "memory", "choice"]
    ask = client.post("/catalog/patterns/match/", form | {"match_cluster": "lab"})
    assert "Waiting for an answer" in ask.text
    assert len(Ask.objects.get().question["request_selectors"]) == 2


def test_a_pattern_is_proposed_as_yaml_and_its_errors_are_named(
    client: Client, admin: Any, h100: ClassVersion
) -> None:
    meta = {"slug": "y", "name": "Y"}
    path = "/catalog/patterns/new/?as=yaml"
    page = login(client, admin).post(path, meta | {"content": "requests: []"})
    assert page.status_code == 422
    page = client.post(path, meta | {"content": "a: [1"})
    assert page.status_code == 422 and "not YAML" in page.text
    text = "parameters: []\nrequests: [{name: g, device_class: h100}]\n"
    assert client.post(path, meta | {"content": text}).status_code == 302


def test_a_new_version_starts_from_the_last_one(
    client: Client, admin: Any, pattern: PatternVersion
) -> None:
    page = login(client, admin).get("/catalog/patterns/h100-cards/edit/")
    assert "device_class: h100" in page.text
    text = page.context["form"].initial["content"].replace("most: 4", "most: 2")
    client.post("/catalog/patterns/h100-cards/edit/", {"content": text, "submit": "1"})
    second = PatternVersion.objects.get(number=2)
    assert (second.state, second.content["parameters"][0]["most"]) == ("in-review", 2)


def test_withdrawing_needs_a_reason(client: Client, admin: Any, h100: ClassVersion) -> None:
    login(client, admin).post("/catalog/classes/h100/withdraw/", {"text": ""})
    h100.refresh_from_db()
    assert h100.state == "approved"
    client.post("/catalog/classes/h100/withdraw/", {"text": "end of life"})
    h100.refresh_from_db()
    assert h100.state == "withdrawn"


def test_the_editor_of_patterns_shows_the_example(client: Client, admin: Any) -> None:
    assert "requests:" in login(client, admin).get("/catalog/patterns/new/?as=yaml").text
    assert PATTERN["requests"]


def test_an_editor_asks_what_a_new_version_of_a_class_would_change(
    client: Client, admin: Any, h100: ClassVersion
) -> None:
    form = {"selectors": "true", "match_cluster": "lab"}
    assert login(client, admin).post("/catalog/classes/match/?class=h100", form).status_code == 200
    ask = Ask.objects.get()
    assert ask.kind == "placement.compare-class"
    assert ask.question == {"class": "h100", "before": CLASS["selectors"], "after": ["true"]}


def test_an_editor_asks_what_a_new_version_of_a_pattern_would_change(
    client: Client, admin: Any, pattern: PatternVersion
) -> None:
    form = {"content": pattern_yaml(PATTERN), "match_cluster": "lab"}
    page = login(client, admin).post("/catalog/patterns/match/?pattern=h100-cards", form)
    assert page.status_code == 200
    ask = Ask.objects.get()
    assert ask.kind == "placement.compare-pattern"
    assert ask.question["class_selectors"] == {"h100": CLASS["selectors"]}


def test_an_approver_sees_what_a_version_would_change(
    client: Client, admin: Any, approver: Any, h100: ClassVersion
) -> None:
    later = services.draft_class(
        actor=admin, device_class=h100.device_class, content={"selectors": ["true"]}
    )
    approval = services.submit(actor=admin, version=later)
    page = login(client, approver).get(f"/catalog/approvals/{approval.pk}/")
    address = f"/catalog/approvals/{approval.pk}/effect/"
    assert f'hx-post="{address}"' in page.text
    assert "extended_resource_name" not in page.text
    assert client.post(address, {"match_cluster": "lab"}).status_code == 200
    assert Ask.objects.get().question["after"] == ["true"]


COMPARED: dict[str, Any] = {
    "before": {"matches": 8, "free": 3},
    "after": {"matches": 6, "free": 3},
    "total": 64,
    "problems": [],
    "remarks": [],
    "devices": {"lost": 2, "lost_sample": ["d/n/a"], "gained": 0, "gained_sample": []},
    "claims": {
        "of": 5,
        "looked_at": 4,
        "fit": 3,
        "lost": 1,
        "lost_sample": [{"claim": "ns/held", "reason": "cannot allocate all claims"}],
        "pending": 0,
        "pending_fit": 0,
    },
    "partial": True,
    "cluster": "lab",
    "revision": "1.2",
    "age_seconds": 3.0,
    "took_ms": 9.0,
}


def test_the_change_is_told_by_devices_and_by_claims(
    client: Client, admin: Any, h100: ClassVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(ask: Ask, **_: Any) -> Ask:
        ask.state, ask.answer = Ask.State.ANSWERED, COMPARED
        ask.save()
        return ask

    monkeypatch.setattr(asks, "wait", wait)
    form = {"selectors": "true", "match_cluster": "lab"}
    page = login(client, admin).post("/catalog/classes/match/?class=h100", form).text
    for said in (
        "2 devices no longer matched",
        "1 of 5 claims would find no devices",
        "ns/held: cannot allocate all claims",
        "4 of 5 claims were tried",
        "heard 3 s before",
    ):
        assert said in page, said
