"""Login through a real OpenID provider; what its groups give is given, and taken back."""

import urllib.parse
from collections.abc import Iterator
from typing import Any

import oidc_provider_mock
import pytest
import requests
from django.test import Client
from django.urls import reverse

from apps.tenancy import oidc
from apps.tenancy.models import Member, PlatformRole, Role, Tenant, User
from domain.errors import InvalidValue

pytestmark = pytest.mark.django_db

RULES = ["ml-leads=tenant:vision:owner", "ml=tenant:vision:editor", "platform=admin"]


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    with oidc_provider_mock.run_server_in_thread() as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture
def sso(settings: Any, provider: str) -> None:
    settings.OIDC_ISSUER = provider
    settings.OIDC_ROLES = RULES
    app = {
        "provider_id": "sso",
        "name": "Single sign-on",
        "client_id": "claimyard",
        "secret": "s3cret",
        "settings": {"server_url": provider},
    }
    settings.SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [app]}
    }


def log_in(provider: str, subject: str, groups: list[str]) -> Client:
    """Go the whole way: our button, the provider's page, our callback."""
    claims = {"preferred_username": subject, "name": subject.title(), "groups": groups}
    told = requests.put(f"{provider}/users/{subject}", json=claims, timeout=5)
    assert told.ok, told.text
    client = Client()
    sent = client.post(reverse("openid_connect_login", args=["sso"]))
    assert sent.status_code == 302, sent.content
    answered = requests.post(
        sent["Location"], data={"sub": subject}, allow_redirects=False, timeout=5
    )
    back = urllib.parse.urlsplit(answered.headers["Location"])
    arrived = client.get(f"{back.path}?{back.query}")
    assert arrived.status_code == 302, arrived.content
    return client


@pytest.fixture
def vision() -> Tenant:
    return Tenant.objects.create(slug="vision", name="Vision")


@pytest.mark.usefixtures("sso")
def test_groups_give_roles_and_losing_them_takes_the_roles(provider: str, vision: Tenant) -> None:
    client = log_in(provider, "ada", ["ml", "ml-leads", "platform"])
    ada = User.objects.get(username="ada")
    assert client.session["_auth_user_id"] == str(ada.pk)
    assert ada.platform_roles == [PlatformRole.ADMIN]
    assert Member.objects.get(user=ada).role == Role.OWNER

    log_in(provider, "ada", ["ml"])
    ada.refresh_from_db()
    assert ada.platform_roles == []
    assert Member.objects.get(user=ada).role == Role.EDITOR

    log_in(provider, "ada", [])
    assert not Member.objects.filter(user=ada).exists()


@pytest.mark.usefixtures("sso")
def test_a_provider_user_never_becomes_the_local_one_of_that_name(provider: str) -> None:
    local = User.objects.create_user("root", password="x", platform_roles=[PlatformRole.ADMIN])
    client = log_in(provider, "root", [])
    assert client.session["_auth_user_id"] != str(local.pk)
    local.refresh_from_db()
    assert local.platform_roles == [PlatformRole.ADMIN]


def test_a_membership_given_by_hand_stays(vision: Tenant) -> None:
    bob = User.objects.create_user("bob")
    Member.objects.create(user=bob, tenant=vision, role=Role.VIEWER)
    oidc.grant(bob, oidc.grants_of(["ml"], RULES))
    oidc.grant(bob, oidc.grants_of([], RULES))
    assert Member.objects.get(user=bob).role == Role.VIEWER


@pytest.mark.parametrize(
    "rule", ["ml", "=admin", "ml=root", "ml=tenant:vision:boss", "ml=tenant:x"]
)
def test_a_rule_that_gives_nothing_known_is_refused(rule: str) -> None:
    with pytest.raises(InvalidValue, match="CLAIMYARD_OIDC_ROLES"):
        oidc.parse_rules([rule])


@pytest.mark.parametrize(
    ("claims", "groups"),
    [
        ({"userinfo": {"groups": ["a", "b"]}}, ["a", "b"]),
        ({"userinfo": {}, "id_token": {"groups": "a"}}, ["a"]),
        ({}, []),
    ],
)
def test_groups_are_found_where_providers_put_them(
    claims: dict[str, Any], groups: list[str]
) -> None:
    assert oidc.groups_in(claims) == groups


def test_the_tenants_groups_are_known_to_its_clusters_by_their_prefix(
    tenant: Tenant, settings: Any
) -> None:
    settings.OIDC_ROLES = [*RULES, "system:masters=tenant:vision:viewer", "ml=tenant:other:viewer"]
    assert oidc.cluster_groups_of(tenant) == ("ml", "ml-leads")
    settings.OIDC_CLUSTER_GROUPS_PREFIX = "oidc:"
    assert oidc.cluster_groups_of(tenant) == ("oidc:ml", "oidc:ml-leads", "oidc:system:masters")
