"""Plan, preflight, shadow, nodes, report and evidence by REST."""

from typing import Any

import pytest
from django.test import Client

from apps.deployments.models import Deployment
from apps.inventory.models import Cluster, Node
from apps.rollouts import looks, services, signing
from apps.rollouts.models import Migration
from apps.tenancy.models import User
from tests.apps.rollouts.conftest import SETTINGS, chat  # noqa: F401 - a fixture

PATHS = ("plan", "preflight", "shadow", "report", "evidence")


@pytest.fixture
def drawn(chat: Deployment, admin: User, cluster: Cluster) -> Migration:  # noqa: F811
    made = services.create_migration(
        actor=admin, name="move", cluster=cluster, deployments=[chat], content=SETTINGS
    )
    return services.start_migration(actor=admin, migration=made)


def test_what_a_page_shows_the_api_answers(client: Client, alice: User, drawn: Migration) -> None:
    client.force_login(alice)
    base = f"/api/v1/migrations/{drawn.pk}/"
    assert client.get(f"{base}plan/").json()["state"] == "none"
    looks.advance(drawn)
    plan = client.get(f"{base}plan/").json()
    assert (plan["state"], plan["workloads"][0]["way"]) == ("done", "claims")
    for name in PATHS:
        assert client.get(f"{base}{name}/").status_code == 200, name
    assert client.get(f"{base}report/").json()["answers"]
    key = client.get("/api/v1/evidence-key/").json()["public_key"]
    assert signing.verify(client.get(f"{base}evidence/").json(), key)["is_narrowed"]


def test_strangers_find_nothing(client: Client, mallory: User, drawn: Migration) -> None:
    client.force_login(mallory)
    for name in (*PATHS, "nodes"):
        answer: Any = client.get(f"/api/v1/migrations/{drawn.pk}/{name}/")
        assert answer.status_code == 404, name


def test_nodes_are_asked_for_by_platform_people(
    client: Client, admin: User, alice: User, drawn: Migration, cluster: Cluster
) -> None:
    Node.objects.create(cluster=cluster, name="n1", path="device-plugin", has_cards=True)
    url = f"/api/v1/migrations/{drawn.pk}/nodes/"
    body = {"nodes": ["n1"]}
    client.force_login(alice)
    assert client.post(url, body, "application/json").status_code == 403
    client.force_login(admin)
    answer = client.post(url, body, "application/json")
    assert (answer.status_code, answer.json()[0]["state"]) == (202, "waiting")
    assert client.post(url, {"nodes": ["n9"]}, "application/json").status_code == 400
    back = client.post(url, body | {"direction": "back"}, "application/json")
    assert back.status_code == 409
    assert [one["node"] for one in client.get(url).json()] == ["n1"]
