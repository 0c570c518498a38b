import json
from typing import Any

from django.test import Client

from apps.deployments.models import Deployment
from apps.rollouts.models import Migration
from apps.tenancy.models import User


def post(client: Client, path: str, body: dict[str, Any]) -> Any:
    return client.post(
        f"/api/v1/migrations/{path}", json.dumps(body), content_type="application/json"
    )


BODY: dict[str, Any] = {
    "name": "by-api",
    "cluster": "lab",
    "deployments": [{"tenant": "vision", "name": "chat"}],
    "settings": {"steps": [{"weight": 100}], "gates": "careful"},
}


def test_a_migration_is_drawn_up_started_and_taken_back(
    client: Client, alice: User, chat: Deployment
) -> None:
    client.force_login(alice)
    made = post(client, "", BODY)
    assert made.status_code == 201, made.content
    found = made.json()
    assert (found["state"], found["moves"][0]["deployment"]) == ("draft", "chat")
    one = f"{found['id']}/"
    assert post(client, f"{one}start/", {}).status_code == 202
    assert post(client, f"{one}start/", {}).json()["code"] == "illegal_transition"
    answer = post(client, f"{one}roll-back/", {"reason": "wrong day"})
    assert answer.status_code == 202
    assert Migration.objects.get().wanted["rollback"] == "alice: wrong day"
    decisions = client.get(f"/api/v1/migrations/{one}decisions/").json()
    assert decisions["results"][0]["actor_name"] == "alice"


def test_settings_that_cannot_be_are_refused_by_field(
    client: Client, alice: User, chat: Deployment
) -> None:
    client.force_login(alice)
    for settings, field in (
        ({"steps": [{"weight": 50}]}, "steps"),
        ({"gates": [{"name": "x", "metric": "ttft"}]}, "gates[0].at_most"),
        ({"gates": [{"name": "x", "metric": "nothing", "at_most": 1}]}, "gates[0].metric"),
        ({"interval": 5}, "interval"),
        ({"hooks": [{"name": "x", "point": "confirm", "url": "http://a.example"}]}, "hooks[0].url"),
    ):
        answer = post(client, "", BODY | {"settings": settings})
        assert answer.status_code == 400, settings
        assert field in answer.content.decode()
    assert not Migration.objects.exists()


def test_a_viewer_and_a_stranger_may_not_act(
    client: Client, bob: User, mallory: User, migration: Migration
) -> None:
    client.force_login(bob)
    assert client.get(f"/api/v1/migrations/{migration.pk}/").status_code == 200
    assert post(client, f"{migration.pk}/pause/", {}).status_code == 403
    client.force_login(mallory)
    assert client.get(f"/api/v1/migrations/{migration.pk}/").status_code == 404
    assert post(client, f"{migration.pk}/pause/", {}).status_code == 404
