"""Who may see and do what with a migration: every page and every call, by role.

A tenant's people see their own part of it, and nothing that names the workloads of others.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.audit.models import Entry
from apps.deployments.models import Deployment
from apps.inventory.models import Cluster
from apps.rollouts import evidence, planning, preflight, services, shadow, views
from apps.rollouts.models import Delivery, GateSample, Migration, NodeConversion
from apps.tenancy.models import Member, Role, Tenant, User
from tests.apps.conftest import make_cluster, make_user
from tests.apps.rollouts.conftest import SETTINGS
from tests.apps.rollouts.rows import add_pod

TENANT = ("viewer", "editor", "owner")
PLATFORM = ("auditor", "approver", "admin")
ROLES = ("anonymous", "stranger", *TENANT, *PLATFORM)
#: Names of what others run on the same node, managed by the portal or not.
OTHERS = ("labs", "rival")
Enter = Callable[[str], Client]
Json = dict[str, Any]


@pytest.fixture
def enter(
    alice: User,
    bob: User,
    mallory: User,
    tenant: Tenant,
    auditor: User,
    approver: User,
    admin: User,
) -> Enter:
    """A browser, and so a caller with a session, of somebody in that role."""
    carol = make_user("carol")
    Member.objects.create(tenant=tenant, user=carol, role=Role.EDITOR)
    people = {
        "stranger": mallory,
        "viewer": bob,
        "editor": carol,
        "owner": alice,
        "auditor": auditor,
        "approver": approver,
        "admin": admin,
    }

    def enters(role: str) -> Client:
        client = Client()
        if role in people:
            client.force_login(people[role])
        return client

    return enters


@pytest.fixture
def looked(drawn: Migration, cluster: Cluster) -> Migration:
    """Under way, with everything looked at and judged; others hold devices of the same node."""
    rival = {"tenant": "other", "deployment": "rival", "model_pool": "main"}
    add_pod(cluster, "rival-1", "n1", "tenant-rival", **rival)
    planning.take_inventory(drawn)
    preflight.check_now(drawn)
    shadow.advance(drawn)
    study = shadow.advance(drawn)
    line = {"key": "recent: labs/box-0", "state": "fits", "replicas": 1, "fits": 1}
    study.body |= {"workloads": [*study.body.get("workloads", ()), line]}
    study.save()
    own = drawn.workloads.exclude(deployment=None).get()
    now = timezone.now()
    GateSample.objects.create(
        migration=drawn,
        workload=own,
        gate="errors",
        stage="canary",
        at=now,
        start=now - timedelta(minutes=1),
        end=now,
        verdict="pass",
    )
    Delivery.objects.create(
        migration=drawn, hook="bot", point="confirm", key="k", url="https://a.example", next_at=now
    )
    NodeConversion.objects.create(migration=drawn, node="n1", cause="labs/box-1 holds a device.")
    assert drawn.workloads.filter(deployment=None).exists()
    started: Migration = services.start_migration(actor=None, migration=drawn)
    return started


def pages(migration: Migration) -> list[str]:
    own = migration.workloads.exclude(deployment=None).get()
    one = f"/migrations/{migration.pk}/"
    api = f"/api/v1{one}"
    return [
        *(one + part for part in ("", "settings/", "plan/", "preflight/", "shadow/", "report/")),
        *(one + part for part in ("evidence/", "gates/errors/", "gates/errors/chart/")),
        f"{one}gates/errors/?move={own.pk}",
        f"{one}moves/{own.pk}/share/",
        *(api + part for part in ("", "plan/", "preflight/", "shadow/", "report/", "evidence/")),
        *(api + part for part in ("decisions/", "samples/", "deliveries/")),
    ]


@pytest.mark.parametrize("role", ROLES)
def test_every_page_and_call_by_role(role: str, enter: Enter, looked: Migration) -> None:
    client = enter(role)
    for path in pages(looked):
        answer = client.get(path)
        if role == "anonymous":
            assert answer.status_code == (401 if path.startswith("/api") else 302), path
            continue
        assert answer.status_code == (404 if role == "stranger" else 200), path
        if role not in PLATFORM:
            told = answer.content.decode()
            assert not [one for one in OTHERS if one in told], path


@pytest.mark.parametrize("role", ["viewer", "editor", "owner"])
def test_a_tenant_is_told_of_no_node(role: str, enter: Enter, looked: Migration) -> None:
    """Neither by name nor by a link that only refuses them."""
    client, own = enter(role), looked.workloads.exclude(deployment=None).get()
    own.nodes = ["node-of-the-platform"]
    own.save()
    study = looked.studies.get(kind="preflight")
    line = {"code": "driver", "title": "New enough", "level": "warning", "remedy": ""}
    line |= {"evidence": "node-of-the-platform has an old driver.", "blocks": "nodes"}
    study.body |= {"findings": [*study.body["findings"], line]}
    study.save()
    for path in pages(looked):
        assert "node-of-the-platform" not in client.get(path).content.decode(), path
    page = client.get(f"/migrations/{looked.pk}/").content.decode()
    assert f"/migrations/{looked.pk}/nodes/" not in page
    whole = enter("auditor")
    assert "node-of-the-platform" in whole.get(f"/migrations/{looked.pk}/preflight/").text
    bundle = whole.get(f"/migrations/{looked.pk}/evidence/").json()["content"]
    assert ["node-of-the-platform"] in [one["nodes"] for one in bundle["workloads"]]


@pytest.mark.parametrize("role", ROLES)
def test_nodes_are_for_platform_people_to_see_and_for_admins_to_convert(
    role: str, enter: Enter, looked: Migration
) -> None:
    client = enter(role)
    page, api = f"/migrations/{looked.pk}/nodes/", f"/api/v1/migrations/{looked.pk}/nodes/"
    seen = {"anonymous": (302, 401), "stranger": (404, 404)}
    wanted = seen.get(role, (200, 200) if role in PLATFORM else (403, 403))
    assert (client.get(page).status_code, client.get(api).status_code) == wanted
    body = {"nodes": ["n1"]}
    acted = (
        client.post(page + "forth/", {"node": "n1"}).status_code,
        client.post(api, json.dumps(body), content_type="application/json").status_code,
    )
    told = {"anonymous": (302, 401), "stranger": (404, 404), "admin": (302, 202)}
    assert acted == told.get(role, (403, 403))
    asked = Entry.objects.filter(verb="asked to convert nodes of")
    assert asked.exists() == (role == "admin")


def test_platform_people_see_what_is_not_managed(enter: Enter, looked: Migration) -> None:
    for role in PLATFORM:
        client = enter(role)
        assert "labs/box" in client.get(f"/migrations/{looked.pk}/plan/").content.decode()
        plan = client.get(f"/api/v1/migrations/{looked.pk}/plan/").json()
        assert {one["is_managed"] for one in plan["workloads"]} == {True, False}
        bundle = client.get(f"/migrations/{looked.pk}/evidence/").json()
        assert "labs/box" in json.dumps(bundle["content"]["workloads"])


@pytest.mark.parametrize("role", ROLES)
def test_lists_by_role(role: str, enter: Enter, looked: Migration) -> None:
    client = enter(role)
    page, api = client.get("/migrations/"), client.get("/api/v1/migrations/")
    if role == "anonymous":
        assert (page.status_code, api.status_code) == (302, 401)
        return
    found = api.json()["results"]
    if role == "stranger":
        assert f"/migrations/{looked.pk}/" not in page.content.decode()
        assert not found
        return
    assert f"/migrations/{looked.pk}/" in page.content.decode()
    moves = {one["deployment"] for one in found[0]["moves"]}
    assert moves == ({"chat"} if role in TENANT else {"chat", "box"})


@pytest.mark.parametrize("role", ROLES)
def test_steps_by_role(role: str, enter: Enter, looked: Migration) -> None:
    client, before = enter(role), looked.decisions.count()
    refused = {"anonymous": (302, 401), "stranger": (404, 404)}.get(role, (403, 403))
    for step in views.STEPS:
        page = client.post(f"/migrations/{looked.pk}/{step}/").status_code
        api = client.post(
            f"/api/v1/migrations/{looked.pk}/{step}/", "{}", content_type="application/json"
        ).status_code
        if role in ("editor", "owner", "admin"):
            assert (page, api) in ((302, 202), (302, 409)), step
        else:
            assert (page, api) == refused, step
    assert (looked.decisions.count() > before) == (role in ("editor", "owner", "admin"))


def test_a_workload_of_others_has_no_chart_and_no_gate(enter: Enter, looked: Migration) -> None:
    theirs = looked.workloads.filter(deployment=None).first()
    assert theirs is not None
    for path in (f"gates/errors/?move={theirs.pk}", f"moves/{theirs.pk}/share/"):
        assert enter("viewer").get(f"/migrations/{looked.pk}/{path}").status_code == 404, path


def test_the_secret_of_webhooks_is_for_those_who_act(enter: Enter, looked: Migration) -> None:
    hook = {"name": "bot", "point": "confirm", "url": "https://a.example"}
    looked.settings |= {"hooks": [hook]}
    looked.save()
    for role in (*TENANT, *PLATFORM):
        told = enter(role).get(f"/migrations/{looked.pk}/settings/").content.decode()
        assert ("Signing secret" in told) == (role in ("editor", "owner", "admin")), role


def test_what_belongs_to_several_tenants_is_the_platforms(
    enter: Enter, looked: Migration, cluster: Cluster
) -> None:
    """Figures and reasons of one tenant would be told to the other."""
    Migration.objects.filter(pk=looked.pk).update(tenant=None)
    for role in TENANT:
        assert enter(role).get(f"/migrations/{looked.pk}/").status_code == 404
        assert enter(role).get(f"/api/v1/migrations/{looked.pk}/evidence/").status_code == 404
        assert not enter(role).get("/api/v1/migrations/").json()["results"]
    for role in PLATFORM:
        assert enter(role).get(f"/migrations/{looked.pk}/").status_code == 200


# --- Drawing up
def drawn_up(client: Client, **changes: Any) -> Any:
    body: Json = {"name": "mine", "cluster": "lab", "settings": SETTINGS} | changes
    if "scope" not in body:
        body.setdefault("deployments", [{"tenant": "vision", "name": "chat"}])
    return client.post("/api/v1/migrations/", json.dumps(body), content_type="application/json")


@pytest.mark.parametrize(
    ("role", "status"),
    [
        ("anonymous", 401),
        ("stranger", 404),
        ("viewer", 403),
        ("editor", 201),
        ("owner", 201),
        ("auditor", 403),
        ("approver", 403),
        ("admin", 201),
    ],
)
def test_who_may_draw_one_up(role: str, status: int, enter: Enter, chat: Deployment) -> None:
    made = drawn_up(enter(role))
    assert made.status_code in ({status, 400} if role == "stranger" else {status}), made.content
    assert Migration.objects.exists() == (status == 201)


@pytest.mark.parametrize(
    "scope",
    [
        {"kind": "resource", "names": ["nvidia.com/gpu"]},
        {"kind": "node-pool", "names": ["gpus"]},
        {"kind": "tenant", "names": ["vision"], "convert_nodes": True},
        {"kind": "tenant", "names": ["vision", "second"]},
    ],
    ids=str,
)
def test_what_reaches_beyond_a_tenant_is_drawn_up_by_an_admin(
    scope: Json, enter: Enter, alice: User, chat: Deployment
) -> None:
    second = Tenant.objects.create(slug="second", name="Second")
    Member.objects.create(tenant=second, user=alice, role=Role.OWNER)
    assert drawn_up(enter("owner"), scope=scope).status_code == 403
    assert drawn_up(enter("admin"), scope=scope).status_code == 201


def test_a_cluster_where_a_tenant_is_not_is_not_named_to_it(enter: Enter, chat: Deployment) -> None:
    make_cluster("secret-lab")
    refused = drawn_up(enter("editor"), cluster="secret-lab")
    assert refused.status_code == 400
    assert "There is no cluster" in refused.content.decode()
    assert "secret-lab" not in enter("editor").get("/migrations/+new/").content.decode()
    assert "secret-lab" in enter("admin").get("/migrations/+new/").content.decode()


@pytest.mark.parametrize(
    ("query", "is_own"),
    [
        ('sum(rate(answers{namespace="$namespace"}[1m]))', True),
        ("sum(rate(answers[1m]))", False),
        ('sum(answers{namespace="tenant-rival"})', False),
        ('sum(answers{namespace="$namespace"}) + scalar(max(answers))', False),
    ],
)
def test_a_query_of_a_tenant_keeps_to_its_namespace(
    query: str, is_own: bool, enter: Enter, chat: Deployment
) -> None:
    gate = {"name": "own", "metric": "promql", "query": query, "at_most": 1}
    wanted = SETTINGS | {"gates": [gate]}
    made = drawn_up(enter("editor"), settings=wanted)
    assert made.status_code == (201 if is_own else 400)
    if not is_own:
        assert "gates[0].query" in made.content.decode()
        assert drawn_up(enter("admin"), settings=wanted).status_code == 201


def test_the_evidence_of_an_ended_one_is_narrowed_too(enter: Enter, looked: Migration) -> None:
    now = timezone.now()
    Migration.objects.filter(pk=looked.pk).update(state="left", ended_at=now)
    looked.refresh_from_db()
    whole = evidence.build(looked).body["bundle"]
    assert "labs/box" in json.dumps(whole)
    for path in ("evidence/", "report/"):
        for start in ("/migrations", "/api/v1/migrations"):
            told = enter("viewer").get(f"{start}/{looked.pk}/{path}").content.decode()
            assert not [one for one in OTHERS if one in told], path
