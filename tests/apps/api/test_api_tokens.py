"""Tokens: what they may do, and that they end."""

from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from apps.api import services
from apps.api.models import Token
from apps.audit.models import Entry
from apps.tenancy.models import Member, PlatformRole, Role, Tenant, User
from domain.errors import InvalidValue
from tests.apps.api.conftest import Caller, caller

pytestmark = pytest.mark.django_db


def test_the_secret_is_not_kept(alice: User, tenant: Tenant) -> None:
    expires = timezone.now() + timedelta(days=1)
    token, secret = services.create_token(
        actor=alice, name="ci", can_write=False, expires_at=expires, tenant=tenant
    )
    row = Token.objects.filter(pk=token.pk).values().get()
    assert secret not in str(row)
    assert secret not in str(list(Entry.objects.values()))


def test_a_token_lives_no_longer_than_a_year(alice: User, tenant: Tenant) -> None:
    with pytest.raises(InvalidValue, match="within a year"):
        caller(alice, tenant, expires_at=timezone.now() + timedelta(days=400))


def test_a_token_cannot_have_roles_its_owner_has_not(alice: User) -> None:
    with pytest.raises(InvalidValue, match="do not hold"):
        caller(alice, platform_roles=["admin"])


def test_without_a_token_the_answer_is_401_as_a_problem() -> None:
    answer = Client().get("/api/v1/tenants/")
    assert answer.status_code == 401
    assert answer["Content-Type"] == "application/problem+json"
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert answer.json()["request_id"] == answer["X-Request-Id"]


@pytest.mark.parametrize("secret", ["", "nonsense", "cyd_" + "x" * 40, "a b", "\N{SNOWMAN}"])
def test_a_wrong_token_is_401(secret: str) -> None:
    assert Caller(secret).get("tenants/").status_code == 401


def test_an_expired_token_stops(as_alice: Caller) -> None:
    assert as_alice.get("tenants/").status_code == 200
    with time_machine.travel(timezone.now() + timedelta(days=2)):
        assert as_alice.get("tenants/").status_code == 401


def test_a_revoked_token_stops_and_a_stranger_cannot_revoke_it(
    client: Client, as_alice: Caller, alice: User, mallory: User
) -> None:
    token = Token.objects.get(user=alice)
    client.force_login(mallory)
    assert client.post(f"/account/tokens/{token.pk}/revoke/").status_code == 404
    client.force_login(alice)
    assert client.post(f"/account/tokens/{token.pk}/revoke/").status_code == 302
    assert as_alice.get("tenants/").status_code == 401


def test_a_token_of_someone_who_left_stops(as_alice: Caller, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert as_alice.get("tenants/").status_code == 401


def test_a_reading_token_cannot_write(admin: User) -> None:
    answer = caller(admin, write=False).post("tenants/", {"slug": "new", "name": "New"})
    assert answer.status_code == 403
    assert not Tenant.objects.filter(slug="new").exists()


def test_a_token_of_one_tenant_sees_no_other(alice: User, tenant: Tenant) -> None:
    second = Tenant.objects.create(slug="second", name="Second")
    Member.objects.create(tenant=second, user=alice, role=Role.OWNER)
    program = caller(alice, tenant)
    assert [row["slug"] for row in program.get("tenants/").json()["results"]] == ["vision"]
    assert program.get("tenants/second/").status_code == 404
    assert (
        program.send("PUT", "tenants/second/members/alice/", {"role": "viewer"}).status_code == 404
    )


def test_a_token_of_platform_roles_acts_in_no_tenant(alice: User, tenant: Tenant) -> None:
    alice.platform_roles = [PlatformRole.AUDITOR]
    alice.save()
    program = caller(alice)
    assert program.get("tenants/vision/").status_code == 200
    answer = program.send("PUT", "tenants/vision/members/alice/", {"role": "viewer"})
    assert answer.status_code == 403


def test_a_lost_role_is_lost_to_the_token_too(admin: User, as_admin: Caller) -> None:
    assert as_admin.get("nodes/").status_code == 200
    User.objects.filter(pk=admin.pk).update(platform_roles=[])
    assert as_admin.get("nodes/").status_code == 404


def test_the_account_page_shows_a_new_secret_once(
    client: Client, alice: User, tenant: Tenant
) -> None:
    client.force_login(alice)
    asked = {"name": "ci", "scope": "vision", "can_write": "true", "days": "7"}
    page = client.post("/account/", asked).text
    secret = page.partition("cyd_")[2].partition("<")[0]
    assert Caller("cyd_" + secret).get("tenants/").status_code == 200
    assert "no-store" in client.get("/account/")["Cache-Control"]
    assert secret not in client.get("/account/").text


def test_use_is_noted(as_alice: Caller, alice: User) -> None:
    as_alice.get("tenants/")
    assert Token.objects.get(user=alice).last_used_at is not None
