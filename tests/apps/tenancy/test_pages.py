"""Tenants and members: who may change what."""

from typing import Any

import pytest
from django.test import Client

from apps.tenancy.models import Member, Role, Tenant, User

pytestmark = pytest.mark.django_db
ONE = "/tenants/vision/"


def login(client: Client, user: Any) -> Client:
    client.force_login(user)
    return client


def test_members_see_their_tenants_and_admins_all(
    client: Client, alice: Any, mallory: Any, admin: Any
) -> None:
    text = login(client, alice).get("/tenants/").text
    assert "vision" in text and ">other<" not in text
    text = login(client, admin).get("/tenants/").text
    assert "vision" in text and "other" in text


def test_an_admin_makes_a_tenant(client: Client, admin: Any) -> None:
    page = login(client, admin).post(
        "/tenants/new/", {"slug": "speech", "name": "Speech"}, follow=True
    )
    assert "Speech is ready" in page.text
    page = client.post("/tenants/new/", {"slug": "speech", "name": "Again"})
    assert page.status_code == 422 and "already exists" in page.text
    page = client.post("/tenants/new/", {"slug": "Not A Label", "name": "X"})
    assert page.status_code == 422


def test_strangers_find_no_tenant(client: Client, mallory: Any, tenant: Tenant) -> None:
    assert login(client, mallory).get(ONE).status_code == 404
    assert client.post(f"{ONE}members/", {"username": "mallory", "role": 30}).status_code == 404


def test_an_owner_adds_changes_and_removes_members(
    client: Client, alice: Any, mallory: Any, tenant: Tenant
) -> None:
    page = login(client, alice).post(
        f"{ONE}members/", {"username": "mallory", "role": "20"}, follow=True
    )
    assert "mallory is editor now" in page.text
    member = Member.objects.get(tenant=tenant, user=mallory)
    assert member.role == Role.EDITOR
    client.post(f"{ONE}members/{member.pk}/remove/")
    assert not Member.objects.filter(tenant=tenant, user=mallory).exists()
    page = client.post(f"{ONE}members/", {"username": "nobody", "role": "20"})
    assert page.status_code == 422 and "Nobody here is called" in page.text


def test_viewers_change_no_member(client: Client, bob: Any, tenant: Tenant) -> None:
    page = login(client, bob).get(ONE)
    assert "Add a member" not in page.text
    assert client.post(f"{ONE}members/", {"username": "bob", "role": "30"}).status_code == 403


def test_the_last_owner_stays_while_there_are_others(
    client: Client, alice: Any, bob: Any, tenant: Tenant
) -> None:
    owner = Member.objects.get(user=alice, tenant=tenant)
    page = login(client, alice).post(f"{ONE}members/{owner.pk}/remove/", follow=True)
    assert "last owner" in page.text
    assert Member.objects.filter(pk=owner.pk).exists()


def test_only_an_admin_retires(client: Client, alice: Any, admin: Any, tenant: Tenant) -> None:
    assert login(client, alice).post(f"{ONE}retire/").status_code == 404
    login(client, admin).post(f"{ONE}retire/")
    tenant.refresh_from_db()
    assert tenant.retired_at is not None


def test_who_belongs_nowhere_sees_how_to_belong_and_no_figure(client: Client) -> None:
    client.force_login(User.objects.create_user("newcomer"))
    assert "You are in no tenant yet" in client.get("/").text
    assert client.get("/parts/accelerators/").status_code == 404
    page = client.get("/tenants/").text
    assert "Nothing here yet" in page and "Make a tenant" not in page
