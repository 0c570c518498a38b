from django.test import Client

from apps.deployments.models import Deployment
from apps.rollouts.models import Migration
from apps.rollouts.reconcile import reconcile_migration
from apps.tenancy.models import User


def test_a_migration_tells_where_it_stands_and_why(
    client: Client, alice: User, migration: Migration
) -> None:
    reconcile_migration(migration.pk)
    client.force_login(alice)
    text = client.get(f"/migrations/{migration.pk}/").content.decode()
    assert "to-claims" in text
    assert "Roll back" in text
    assert "Could we go back today?" in text
    migration.refresh_from_db()
    assert migration.reason.split(".")[0][:40] in text


def test_strangers_see_no_migration(client: Client, mallory: User, migration: Migration) -> None:
    client.force_login(mallory)
    assert client.get(f"/migrations/{migration.pk}/").status_code == 404
    assert "to-claims" not in client.get("/migrations/").content.decode()


def test_a_viewer_sees_the_buttons_with_the_reason_why_not(
    client: Client, bob: User, migration: Migration
) -> None:
    client.force_login(bob)
    text = client.get(f"/migrations/{migration.pk}/").content.decode()
    assert "editor in Vision" in text
    assert client.post(f"/migrations/{migration.pk}/roll-back/").status_code == 403
    migration.refresh_from_db()
    assert "rollback" not in migration.wanted


def test_one_button_takes_it_back(client: Client, alice: User, migration: Migration) -> None:
    client.force_login(alice)
    answer = client.post(f"/migrations/{migration.pk}/roll-back/", {"reason": "slow"})
    assert answer.status_code == 302
    migration.refresh_from_db()
    assert migration.wanted["rollback"] == "alice: slow"
    assert migration.decisions.filter(actor_name="alice").exists()


def test_every_page_of_a_migration_opens(client: Client, alice: User, migration: Migration) -> None:
    reconcile_migration(migration.pk)
    move = migration.workloads.get()
    client.force_login(alice)
    for path in (
        "settings/",
        "gates/errors/",
        "gates/errors/chart/",
        f"moves/{move.pk}/share/",
    ):
        assert client.get(f"/migrations/{migration.pk}/{path}").status_code == 200, path
    assert client.get(f"/migrations/{migration.pk}/gates/nothing/").status_code == 404
    assert client.get("/migrations/").status_code == 200


def test_an_unchanged_page_is_not_sent_again(
    client: Client, alice: User, migration: Migration
) -> None:
    client.force_login(alice)
    url = f"/migrations/{migration.pk}/"
    etag = client.get(url).headers["ETag"]
    part = {"HTTP_HX_REQUEST": "true", "HTTP_IF_NONE_MATCH": etag}
    assert client.get(url, **part).status_code == 304  # type: ignore[arg-type]


def test_a_draft_is_drawn_up_and_started_by_hand(
    client: Client, alice: User, chat: Deployment
) -> None:
    client.force_login(alice)
    assert "vision/chat in lab" in client.get("/migrations/+new/").content.decode()
    form = {
        "name": "chat-to-claims",
        "scope": "deployments",
        "cluster": chat.cluster_id,
        "deployments": [chat.pk],
        "steps": "10, 50, 100",
        "hold_seconds": 30,
        "gates": "standard",
        "on_breach": "rollback",
        "approvals": ["canary"],
        "drill": "on",
        "more": "interval_seconds: 30",
    }
    answer = client.post("/migrations/+new/", form)
    assert answer.status_code == 302, answer.content.decode()[-3000:]
    made = Migration.objects.get(name="chat-to-claims")
    assert (made.state, made.settings["interval_seconds"]) == ("draft", 30)
    assert [step["weight"] for step in made.settings["steps"]] == [10, 50, 100]
    assert client.post(f"/migrations/{made.pk}/start/").status_code == 302
    made.refresh_from_db()
    assert made.started_at is not None


def test_a_draft_that_cannot_be_is_refused_beside_its_field(
    client: Client, alice: User, chat: Deployment
) -> None:
    client.force_login(alice)
    form = {
        "name": "half",
        "scope": "deployments",
        "cluster": chat.cluster_id,
        "deployments": [chat.pk],
        "steps": "50, 80",
        "hold_seconds": 30,
        "gates": "standard",
        "on_breach": "rollback",
    }
    answer = client.post("/migrations/+new/", form)
    assert answer.status_code == 422
    assert "has to reach 100" in answer.content.decode()
    assert not Migration.objects.filter(name="half").exists()
