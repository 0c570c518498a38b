"""Accounts and platform roles: who gives them, and that an admin is always left."""

from typing import Any

import pytest
from django.test import Client

from apps.audit.models import Entry
from apps.tenancy.models import User

pytestmark = pytest.mark.django_db
ALL = "/tenants/+people/"
NEW = {"username": "carol", "full_name": "Carol", "password": "correct horse battery"}


def login(client: Client, user: Any) -> Client:
    client.force_login(user)
    return client


def test_an_admin_makes_an_account_that_can_log_in(client: Client, admin: Any) -> None:
    login(client, admin).post(f"{ALL}new/", NEW | {"platform_roles": ["approver"]})
    carol = User.objects.get(username="carol")
    assert carol.platform_roles == ["approver"]
    words = {"username": "carol", "password": NEW["password"]}
    assert Client().post("/login/", words).status_code == 302
    assert "carol" in client.get(ALL).text
    assert NEW["password"] not in str(list(Entry.objects.values()))


def test_a_weak_password_and_a_taken_name_are_refused(client: Client, admin: Any) -> None:
    page = login(client, admin).post(f"{ALL}new/", NEW | {"password": "password"})
    assert page.status_code == 422
    page = client.post(f"{ALL}new/", NEW | {"username": "Admin"})
    assert page.status_code == 422
    assert not User.objects.filter(username="carol").exists()


def test_only_admins_manage_people(client: Client, alice: Any, approver: Any) -> None:
    for user, status in ((alice, 404), (approver, 403)):
        login(client, user)
        assert client.get(ALL).status_code == status
        assert client.post(f"{ALL}{user.pk}/", {"platform_roles": ["admin"]}).status_code == status
    assert not User.objects.filter(platform_roles__contains=["admin"]).exists()


def test_the_last_admin_keeps_the_role_and_the_login(client: Client, admin: Any) -> None:
    one = f"{ALL}{admin.pk}/"
    page = login(client, admin).post(one, {"platform_roles": [], "is_active": "on"})
    assert page.status_code == 422 and "last platform admin" in page.text
    page = client.post(one, {"platform_roles": ["admin"]})
    assert page.status_code == 422
    admin.refresh_from_db()
    assert admin.is_active and admin.platform_roles == ["admin"]


def test_somebody_who_is_shut_out_is_out_at_once(client: Client, admin: Any, bob: Any) -> None:
    theirs = login(Client(), bob)
    assert theirs.get("/tenants/").status_code == 200
    login(client, admin).post(f"{ALL}{bob.pk}/", {"platform_roles": []})
    assert theirs.get("/tenants/").status_code == 302
