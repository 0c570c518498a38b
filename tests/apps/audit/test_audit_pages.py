"""The audit pages: who may read what, and how it is found."""

import pytest
from django.db import transaction
from django.test import Client

from apps.audit import services
from apps.audit.models import Entry
from apps.tenancy.models import Member, PlatformRole, Role, Tenant, User

pytestmark = pytest.mark.django_db
PART = {"HX-Request": "true"}


@pytest.fixture
def auditor() -> User:
    return User.objects.create_user("carol", platform_roles=[PlatformRole.AUDITOR])


@pytest.fixture
def vision() -> Tenant:
    return Tenant.objects.create(slug="vision", name="Vision")


@pytest.fixture
def alice(vision: Tenant) -> User:
    user = User.objects.create_user("alice")
    Member.objects.create(tenant=vision, user=user, role=Role.EDITOR)
    return user


def note(actor: User, subject: Tenant, verb: str = "changed", **fields: object) -> Entry:
    with transaction.atomic():
        return services.record(
            actor=actor,
            verb=verb,
            subject=subject,
            tenant_id=subject.pk,
            **fields,  # type: ignore[arg-type]
        )


def test_an_auditor_reads_all_and_a_member_only_their_tenants(
    client: Client, auditor: User, alice: User, vision: Tenant
) -> None:
    speech = Tenant.objects.create(slug="speech", name="Speech")
    note(auditor, vision), note(auditor, speech)
    client.force_login(auditor)
    text = client.get("/audit/").text
    assert "vision" in text and "speech" in text and "2 entries" in text
    client.force_login(alice)
    text = client.get("/audit/").text
    assert "vision" in text and "speech" not in text and "1 entry" in text


def test_an_entry_of_another_tenant_is_not_found(
    client: Client, auditor: User, alice: User
) -> None:
    hidden = note(auditor, Tenant.objects.create(slug="speech", name="Speech"))
    client.force_login(alice)
    assert client.get(f"/audit/{hidden.pk}/").status_code == 404


def test_an_entry_shows_before_and_after(client: Client, auditor: User, vision: Tenant) -> None:
    entry = note(auditor, vision, before={"name": "Old"}, after={"name": "<b>New</b>", "more": [1]})
    client.force_login(auditor)
    text = client.get(f"/audit/{entry.pk}/").text
    assert "Old" in text and "&lt;b&gt;New&lt;/b&gt;" in text and "<b>New" not in text


def test_filters_are_shown_as_chips_and_narrow(
    client: Client, auditor: User, alice: User, vision: Tenant
) -> None:
    note(auditor, vision, verb="made"), note(alice, vision, verb="broken")
    client.force_login(auditor)
    text = client.get("/audit/?actor=alice&tenant=vision&kind=tenant").text
    assert "Who: alice" in text and "Tenant: vision" in text
    assert "broken" in text and ">made<" not in text
    assert "No row has all of these" in client.get("/audit/?actor=nobody").text


def test_a_filter_that_cannot_be_understood_is_named(client: Client, auditor: User) -> None:
    client.force_login(auditor)
    assert "A filter was left out" in client.get("/audit/?subject=seven").text


def test_the_unchanged_part_answers_304(client: Client, auditor: User, vision: Tenant) -> None:
    note(auditor, vision)
    client.force_login(auditor)
    first = client.get("/audit/", headers=PART)
    assert "<html" not in first.text and 'id="list"' in first.text
    again = client.get("/audit/", headers={**PART, "If-None-Match": first["ETag"]})
    assert again.status_code == 304
    note(auditor, vision)
    changed = client.get("/audit/", headers={**PART, "If-None-Match": first["ETag"]})
    assert changed.status_code == 200 and "2 entries" in changed.text


def test_kinds_are_shown_and_found_in_people_s_words(
    client: Client, auditor: User, vision: Tenant
) -> None:
    entry = note(auditor, vision)
    Entry.objects.bulk_create(
        Entry(actor_name="x", verb="made", subject_id=1, subject_kind=kind, subject_name="thing")
        for kind in ("catalog.deviceclass", "quotas.tenantnamespace", "gone.oldthing")
    )
    client.force_login(auditor)
    text = client.get("/audit/").text
    for words in ("device class", "tenant namespace", "oldthing", "tenant"):
        assert f'<td class="line">{words}</td>' in text
    found = client.get("/audit/?kind=Device+Class").text
    assert "device class" in found and "tenant namespace" not in found
    assert "tenant vision" in client.get(f"/audit/{entry.pk}/").text
