"""The frame of the pages: errors, scope, navigation, and what happens when a session ends."""

from typing import Any

import pytest
from django.test import Client

from apps.tenancy.models import Member, PlatformRole, Role, Tenant, User
from portal.scope import narrowed
from tests.apps.conftest import make_cluster, make_user

pytestmark = pytest.mark.django_db
PART = {"HX-Request": "true", "HX-Current-URL": "http://testserver/audit/?q=x"}


@pytest.fixture
def tenant() -> Tenant:
    return Tenant.objects.create(slug="vision", name="Vision")


@pytest.fixture
def alice(tenant: Tenant) -> User:
    user = make_user("alice")
    Member.objects.create(tenant=tenant, user=user, role=Role.OWNER)
    return user


@pytest.fixture
def admin() -> User:
    return make_user("admin", PlatformRole.ADMIN)


def test_an_error_page_names_its_request(client: Client) -> None:
    answer = client.get("/nowhere/")
    assert answer.status_code == 404 and answer["X-Request-Id"] in answer.text


def test_a_fault_of_ours_is_a_page_and_for_programs_a_problem(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    import portal.views

    client.raise_request_exception = False
    monkeypatch.setattr(portal.views, "_database_answers", lambda: 1 / 0)
    answer = client.get("/readyz")
    assert answer.status_code == 500 and "The portal failed" in answer.text
    assert "ZeroDivision" not in answer.text


def test_a_form_without_its_token_is_refused_in_our_own_words() -> None:
    answer = Client(enforce_csrf_checks=True).post("/login/", {"username": "a", "password": "b"})
    assert answer.status_code == 403 and "style=" not in answer.text
    assert "too old" in answer.text


def test_a_part_whose_session_ended_sends_the_page_to_the_login(client: Client) -> None:
    answer = client.get("/audit/", headers=PART)
    assert answer.status_code == 204
    assert answer["HX-Redirect"] == "/login/?next=%2Faudit%2F%3Fq%3Dx"


def test_a_tenant_sees_no_platform_pages(client: Client, alice: User, admin: User) -> None:
    client.force_login(alice)
    assert "Approvals" not in client.get("/").text
    client.force_login(admin)
    page = client.get("/").text
    assert 'aria-current="page"' in page


def test_the_scope_offers_only_ones_own_tenants(client: Client, alice: User, admin: User) -> None:
    Tenant.objects.create(slug="speech", name="Speech")
    make_cluster("lab")
    client.force_login(alice)
    text = client.get("/scope/tenant/?from=/audit/?q=x").text
    assert "/audit/?q=x&amp;tenant=vision" in text and "speech" not in text
    assert ">lab<" not in client.get("/scope/cluster/?from=/audit/").text
    client.force_login(admin)
    assert "/audit/?cluster=lab" in client.get("/scope/cluster/?from=/audit/").text
    assert "speech" in client.get("/scope/tenant/?find=spee").text
    assert client.get("/scope/user/").status_code == 404


@pytest.mark.parametrize(
    "source", ["https://evil.example/", "//evil.example/x", "javascript:alert(1)"]
)
def test_the_scope_leads_nowhere_else(client: Client, alice: User, source: str) -> None:
    client.force_login(alice)
    text = client.get("/scope/tenant/", {"from": source}).text
    assert "evil" not in text and "javascript" not in text


def test_the_scope_of_a_path_changes_the_path() -> None:
    assert narrowed("/audit/?page=x&tenant=a", "tenant", "b") == "/audit/?tenant=b"
    assert narrowed("/audit/?tenant=a", "tenant", "") == "/audit/"


def test_every_page_forbids_inline_code_and_frames(client: Client) -> None:
    policy = client.get("/login/")["Content-Security-Policy"]
    assert "unsafe" not in policy and "frame-ancestors 'none'" in policy
