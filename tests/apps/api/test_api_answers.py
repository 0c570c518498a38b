"""What all endpoints have alike: problems, pages, ETags, repeated POSTs."""

from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from apps.api.models import Replay
from apps.audit import services as audit
from apps.tenancy.models import Tenant, User
from tests.apps.api.conftest import Caller

pytestmark = pytest.mark.django_db
NEW = {"slug": "new", "name": "New"}


def test_problems_name_each_field(as_admin: Caller) -> None:
    problem = as_admin.post("tenants/", {"slug": "x" * 60}).json()
    assert problem["code"] == "invalid"
    assert {error["field"] for error in problem["errors"]} == {"slug", "name"}


def test_model_rules_are_problems_too(as_admin: Caller) -> None:
    answer = as_admin.post("tenants/", {"slug": "Not A Label", "name": "New"})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "slug"


@pytest.mark.parametrize(
    "body",
    [b"{", b'{"slug": NaN}', b'{"slug": "a\\u0000b", "name": "x"}', b'{"name": "\\ud800"}', b"[]"],
)
def test_a_body_that_is_not_usable_json_is_400(as_admin: Caller, body: bytes) -> None:
    answer = as_admin.post("tenants/", body)
    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"


def test_unknown_paths_are_problems(as_admin: Caller) -> None:
    answer = as_admin.get("nothing/")
    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"


def test_nul_in_an_address_is_400(as_admin: Caller) -> None:
    assert as_admin.get("device-classes/a%00b/").status_code == 400
    assert as_admin.get("tenants/?q=%00").status_code == 400


def test_pages_follow_one_another_to_the_end_and_back(
    as_admin: Caller, admin: User, tenant: Tenant
) -> None:
    with transaction.atomic():
        for _ in range(23):
            audit.record(actor=admin, verb="noted", subject=tenant)
    url, seen, pages = "audit/?limit=10&verb=noted&sort=at", [], []
    while url:
        page = as_admin.get(url).json()
        pages.append([row["id"] for row in page["results"]])
        seen += pages[-1]
        url = (page["next"] or "").partition("/api/v1/")[2]
    assert len(seen) == 23 and seen == sorted(seen)
    last = as_admin.get("audit/?limit=10&verb=noted&sort=at&cursor=last").json()
    assert [row["id"] for row in last["results"]] == seen[-10:] and last["next"] is None
    before = as_admin.get(last["previous"].partition("/api/v1/")[2]).json()
    assert [row["id"] for row in before["results"]] == seen[-20:-10]


@pytest.mark.parametrize(
    "query",
    [
        "cursor=nonsense",
        "cursor=bnVsbA",
        "limit=0",
        "limit=501",
        "limit=x",
        "sort=secret",
        "tenant=%ff",
    ],
)
def test_a_query_that_cannot_be_understood_never_fails(as_admin: Caller, query: str) -> None:
    assert as_admin.get(f"audit/?{query}").status_code in (200, 400)


def test_an_unchanged_thing_is_304(as_alice: Caller) -> None:
    etag = as_alice.get("tenants/vision/")["ETag"]
    assert as_alice.get("tenants/vision/", If_None_Match=etag).status_code == 304


def test_a_change_of_what_has_moved_on_is_412(as_admin: Caller, tenant: Tenant) -> None:
    etag = as_admin.get("tenants/vision/")["ETag"]
    first = as_admin.send("PATCH", "tenants/vision/", {"name": "One"}, If_Match=etag)
    second = as_admin.send("PATCH", "tenants/vision/", {"name": "Two"}, If_Match=etag)
    assert first.status_code == 200
    assert second.status_code == 412 and second.json()["code"] == "precondition_failed"
    third = as_admin.send("PATCH", "tenants/vision/", {"name": "Two"}, If_Match=first["ETag"])
    assert third.status_code == 200 and third.json()["name"] == "Two"


def test_a_repeated_post_happens_once(as_admin: Caller) -> None:
    first = as_admin.post("tenants/", NEW, Idempotency_Key="k1")
    again = as_admin.post("tenants/", NEW, Idempotency_Key="k1")
    assert first.status_code == again.status_code == 201
    assert first.content == again.content and first["Location"] == again["Location"]
    assert again["Idempotent-Replayed"] == "true"
    assert Tenant.objects.filter(slug="new").count() == 1


def test_a_refusal_is_repeated_too(as_admin: Caller) -> None:
    bad = {"slug": "Bad Slug", "name": "x"}
    assert as_admin.post("tenants/", bad, Idempotency_Key="k").status_code == 400
    again = as_admin.post("tenants/", bad, Idempotency_Key="k")
    assert again.status_code == 400 and again["Idempotent-Replayed"] == "true"
    assert again["Content-Type"] == "application/problem+json"


def test_a_key_of_another_request_is_refused(as_admin: Caller) -> None:
    as_admin.post("tenants/", NEW, Idempotency_Key="k1")
    other = as_admin.post("tenants/", {**NEW, "slug": "newer"}, Idempotency_Key="k1")
    assert other.status_code == 422 and other.json()["code"] == "idempotency_key_reused"


def test_a_key_whose_request_was_cut_off_is_not_done_again(as_admin: Caller, admin: User) -> None:
    as_admin.post("tenants/", NEW, Idempotency_Key="k1")
    Replay.objects.update(status=0)
    again = as_admin.post("tenants/", NEW, Idempotency_Key="k1")
    assert again.status_code == 409 and again.json()["code"] == "idempotency_in_progress"


def test_keys_of_two_people_do_not_meet(as_admin: Caller, as_mallory: Caller) -> None:
    as_admin.post("tenants/", NEW, Idempotency_Key="k1")
    answer = as_mallory.post("tenants/", NEW, Idempotency_Key="k1")
    assert answer.status_code == 404  # not an admin; and not the admin's answer


def test_a_session_needs_its_csrf_token(admin: User) -> None:
    from django.test import Client

    browser = Client(enforce_csrf_checks=True)
    browser.force_login(admin)
    assert browser.get("/api/v1/tenants/").status_code == 200
    body: Any = NEW
    assert browser.post("/api/v1/tenants/", body, "application/json").status_code == 403


LISTS = (
    "clusters",
    "nodes",
    "devices",
    "claims",
    "device-classes",
    "claim-patterns",
    "approvals",
    "tenants",
    "quotas",
    "deployments",
    "audit",
)


@pytest.mark.parametrize("name", LISTS)
def test_a_list_costs_a_dozen_queries_at_most(
    as_admin: Caller, name: str, pattern: Any, namespace: Any, django_assert_max_num_queries: Any
) -> None:
    as_admin.get(f"{name}/")
    with django_assert_max_num_queries(12):
        assert as_admin.get(f"{name}/").status_code == 200


@pytest.mark.parametrize(
    ("path", "field", "said"),
    [
        ("devices/?stat=free", "stat", "Did you mean state"),
        ("devices/?x-y=1", "x-y", "There are: "),
        ("tenants/vision/?cluster=lab", "cluster", "No parameter is read here"),
    ],
)
def test_an_unknown_parameter_is_named(as_admin: Caller, path: str, field: str, said: str) -> None:
    answer = as_admin.get(path)
    problem = answer.json()
    assert answer.status_code == 400 and problem["code"] == "invalid"
    assert [one["field"] for one in problem["errors"]] == [field]
    assert problem["errors"][0]["code"] == "unknown" and said in problem["errors"][0]["detail"]


def test_every_filter_of_a_list_is_known(as_admin: Caller) -> None:
    for name in LISTS:
        assert as_admin.get(f"{name}/?limit=5&sort=id&cursor=last").status_code == 200
    assert as_admin.get("devices/?q=gpu&state=free&cluster=lab").status_code == 200


def test_an_unknown_field_is_named_with_what_is_near(as_admin: Caller) -> None:
    problem = as_admin.post("tenants/", {**NEW, "nmae": "x"}).json()
    assert [one["field"] for one in problem["errors"]] == ["nmae"]
    assert "Did you mean name?" in problem["errors"][0]["detail"]
    assert not Tenant.objects.filter(slug="new").exists()


def test_a_body_that_is_too_large_is_413(as_admin: Caller) -> None:
    answer = as_admin.post("tenants/", {**NEW, "name": "x" * 2_100_000})
    assert answer.status_code == 413 and answer.json()["code"] == "too_large"
    assert answer["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("deep", [60, 1000, 100_000])
def test_a_body_that_is_nested_too_deeply_is_400(as_admin: Caller, deep: int) -> None:
    body = b'{"slug":' + b"[" * deep + b'"\\u0000"' + b"]" * deep + b"}"
    answer = as_admin.post("tenants/", body, Idempotency_Key=f"deep-{deep}")
    assert answer.status_code == 400 and answer.json()["code"] == "parse_error"


@pytest.mark.parametrize(
    ("kind", "status"), [("text/plain", 415), ("application/x-www-form-urlencoded", 415)]
)
def test_a_body_that_is_not_json_is_415(as_admin: Caller, kind: str, status: int) -> None:
    answer = as_admin.client.generic("POST", "/api/v1/tenants/", b"slug=new", content_type=kind)
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/problem+json"


def test_a_form_that_is_too_large_is_413(client: Client, admin: User) -> None:
    client.force_login(admin)
    answer = client.post("/tenants/new/", {"slug": "new", "name": "x" * 2_200_000})
    assert answer.status_code == 413 and "too large" in answer.text


def test_an_if_match_that_is_none_matches_nothing(as_admin: Caller, tenant: Tenant) -> None:
    answer = as_admin.send("PATCH", "tenants/vision/", {"name": "One"}, If_Match="no quotes, ,")
    assert answer.status_code == 412


def test_what_cannot_be_done_there_is_405_as_a_problem(as_admin: Caller) -> None:
    answer = as_admin.send("PUT", "tenants/", NEW)
    assert answer.status_code == 405 and answer.json()["code"] == "method_not_allowed"
