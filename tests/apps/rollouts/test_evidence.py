"""Plan, preflight, shadow, nodes and evidence of a migration, on rows."""

import copy
import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from apps.common.models import Ask
from apps.deployments.models import Deployment
from apps.inventory.models import Cluster, Mirrored, Pod
from apps.rollouts import (
    evidence,
    planning,
    preflight,
    services,
    shadow,
    signing,
    tasks,
)
from apps.rollouts.models import GateSample, Migration, Workload
from apps.rollouts.reconcile import reconcile_migration
from apps.tenancy.models import User
from domain.evidence import BadBundle
from tests.apps.rollouts.conftest import hear
from tests.apps.rollouts.rows import PLUGIN, add_object


# --- Plan
def test_the_plan_maps_what_is_ours_and_lists_what_is_not(drawn: Migration) -> None:
    study = planning.take_inventory(drawn)
    ours = drawn.workloads.get(deployment__isnull=False)
    assert (ours.way, ours.old_pool, ours.new_pool, ours.nodes) == ("claims", "main", "dra", ["n1"])
    assert ours.mapping["classes"] == {"h100": 1}
    assert "+kind: ResourceClaimTemplate" in ours.diff
    theirs = drawn.workloads.get(deployment=None)
    assert (str(theirs), theirs.kind, theirs.way) == ("labs/box", "Deployment", "none")
    assert "not touched" in theirs.finding
    assert theirs.mapping["pattern"] == "h100-cards"
    assert "-    limits:" in theirs.diff
    assert study.body["blockers"] == 0
    assert study.body["nodes"] == ["n1"]


def test_planning_twice_changes_nothing_and_what_is_gone_leaves_the_plan(drawn: Migration) -> None:
    planning.take_inventory(drawn)
    before = set(drawn.workloads.values_list("pk", flat=True))
    planning.take_inventory(drawn)
    assert set(drawn.workloads.values_list("pk", flat=True)) == before
    Pod.objects.filter(name="box-1").delete()
    planning.take_inventory(drawn)
    assert not drawn.workloads.filter(deployment=None).exists()


def test_a_share_of_a_card_makes_a_deployment_stay(drawn: Migration, cluster: Cluster) -> None:
    body = Mirrored.objects.get(kind="nodes", name="n1")
    body.body["metadata"]["labels"]["nvidia.com/gpu.replicas"] = "4"
    body.save()
    study = planning.take_inventory(drawn)
    ours = drawn.workloads.get(deployment__isnull=False)
    assert ours.way == Workload.Way.NONE
    assert "one of 4 shares" in ours.finding
    assert study.body["blockers"] == 1


def test_a_scope_by_node_pool_finds_the_same(
    chat: Deployment, drawn: Migration, cluster: Cluster
) -> None:
    drawn.workloads.all().delete()
    drawn.scope = {"kind": "node-pool", "names": ["gpus"]}
    drawn.save()
    planning.take_inventory(drawn)
    assert drawn.workloads.filter(deployment=chat).exists()
    assert drawn.waves.first() is not None


def test_the_bridge_is_planned_as_not_supported_and_begins_nothing(
    drawn: Migration, chat: Deployment, cluster: Cluster, admin: User
) -> None:
    """One pool that moves with its nodes cannot be judged beside another, or taken back."""
    spec = {"extendedResourceName": PLUGIN, "selectors": []}
    add_object(cluster, "deviceclasses", {"metadata": {"name": "gpu"}, "spec": spec})
    Migration.objects.filter(pk=drawn.pk).update(
        wanted={"ways": {"tenant-vision/chat": "bridge"}, "approved": ["accept:plan"]}
    )
    hear(chat)
    services.start_migration(actor=admin, migration=drawn)
    for _ in range(3):
        reconcile_migration(drawn.pk)
    drawn.refresh_from_db()
    ours = drawn.workloads.get(deployment=chat)
    assert (ours.way, ours.phase, ours.mapping["way"]) == ("none", "unsupported", "not-supported")
    assert ours.finding.startswith("Not supported yet: by the bridge, gpu would serve it as it is.")
    assert (drawn.state, drawn.waiting_for) == ("waiting", "nothing-to-move")
    assert [pool.name for pool in chat.pools.all()] == ["main"]


def test_a_move_by_the_bridge_from_an_older_plan_is_not_begun(
    migration: Migration, chat: Deployment
) -> None:
    migration.workloads.update(way=Workload.Way.BRIDGE, pattern_version=None)
    for _ in range(3):
        reconcile_migration(migration.pk)
    assert [pool.name for pool in chat.pools.all()] == ["main"]
    migration.refresh_from_db()
    assert migration.waiting_for == "nothing-to-move"


# --- Preflight
def test_the_preflight_keeps_its_findings(drawn: Migration) -> None:
    planning.take_inventory(drawn)
    study = preflight.check_now(drawn)
    by_code = {one["code"]: one for one in study.body["findings"]}
    # Nothing answers at this cluster's address.
    assert by_code["freshness"]["level"] == "blocker"
    assert by_code["strangers"]["evidence"].startswith("n1 is used by labs/box")
    assert by_code["strangers"]["blocks"] == "nodes"
    assert by_code["capacity"]["level"] == "unknown"
    assert by_code["quota"]["level"] == "ok"
    assert study.body["blockers"] >= 1
    assert {one["subject"] for one in study.body["parity"]} >= {"MIG", "Health"}


# --- Shadow
def answered(study: Any, **line: Any) -> None:
    found = {"key": "tenant-vision/chat", "replicas": 2, "fits": 2, "looked_at": 2, "nodes": {}}
    Ask.objects.filter(pk=study.body["ask"]).update(
        state=Ask.State.ANSWERED, answer={"workloads": [found | line], "partial": False}
    )


def test_shadow_asks_once_and_takes_the_answer(drawn: Migration) -> None:
    planning.take_inventory(drawn)
    study = shadow.advance(drawn)
    assert study.state == "running"
    assert shadow.advance(drawn).body["ask"] == study.body["ask"]
    answered(study)
    done = shadow.advance(drawn)
    assert (done.state, done.body["blockers"]) == ("done", 0)
    assert done.body["counts"]["fits"] == 1
    assert drawn.workloads.get(deployment__isnull=False).shadow["fits"] == 2


def test_what_does_not_fit_at_all_stands_in_the_way(drawn: Migration) -> None:
    planning.take_inventory(drawn)
    funnels = [{"first_empty": "taints"}]
    answered(shadow.advance(drawn), fits=0, funnels=funnels)
    done = shadow.advance(drawn)
    assert done.body["blockers"] == 1
    assert "after the filter taints" in done.body["summary"]


def test_no_answer_is_no_verdict(drawn: Migration) -> None:
    planning.take_inventory(drawn)
    study = shadow.advance(drawn)
    long_ago = timezone.now() - timedelta(hours=1)
    Ask.objects.filter(pk=study.body["ask"]).update(created_at=long_ago)
    done = shadow.advance(drawn)
    assert (done.body["blockers"], done.body["unknown"]) == (0, 1)
    assert "placement worker" in done.body["summary"]


# --- Evidence
@pytest.fixture
def over(drawn: Migration) -> Migration:
    """Rolled back after one sample."""
    planning.take_inventory(drawn)
    now = timezone.now()
    GateSample.objects.create(
        migration=drawn,
        workload=drawn.workloads.get(deployment__isnull=False),
        gate="errors",
        stage="canary",
        weight=50,
        at=now,
        start=now - timedelta(seconds=60),
        end=now,
        verdict="fail",
        reason="2 % of requests failed; 1 % is the limit.",
        candidate={"value": 0.02, "state": "live", "requests": 500},
        current={"value": 0.001, "state": "live", "requests": 500},
        query="errors{pool=dra}",
    )
    drawn.state, drawn.reason = "rolled-back", "The gate errors failed."
    drawn.started_at = drawn.rollback_began_at = now - timedelta(minutes=5)
    drawn.ended_at = drawn.rollback_ended_at = now
    drawn.save()
    return drawn


def test_the_bundle_holds_every_sample_and_is_signed_once(over: Migration) -> None:
    study = evidence.build(over)
    bundle = study.body["bundle"]
    content = signing.verify(bundle, signing.public_key().text)
    [gate] = content["gates"]
    assert gate["samples"][0]["query"] == "errors{pool=dra}"
    assert gate["verdicts"] == {"fail": 1}
    assert content["rollback"]["seconds"] == 300
    assert evidence.build(over).body["bundle"] == bundle
    over.refresh_from_db()
    assert evidence.bundle_of(over) == bundle


@pytest.mark.parametrize(
    "path",
    [
        ("content", "migration", "state"),
        ("content", "gates", 0, "samples", 0, "verdict"),
        ("content", "rollback", "seconds"),
        ("digest",),
        ("signature", "value"),
        ("format",),
    ],
)
def test_any_change_is_found(over: Migration, path: tuple[Any, ...]) -> None:
    bundle = copy.deepcopy(evidence.bundle_of(over))
    at: Any = bundle
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = "pass"
    with pytest.raises(BadBundle):
        signing.verify(bundle, signing.public_key().text)


def test_a_bundle_signed_anew_with_another_key_is_not_believed(
    over: Migration, settings: Any
) -> None:
    trusted = signing.public_key().text
    settings.EVIDENCE_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    forged = evidence.bundle_of(over)
    with pytest.raises(BadBundle, match="another key"):
        signing.verify(forged, trusted)
    assert signing.verify(forged, signing.public_key().text)


def test_the_command_says_valid_or_what_is_wrong(over: Migration, tmp_path: Path) -> None:
    path, out = tmp_path / "bundle.json", StringIO()
    bundle = evidence.bundle_of(over)
    # Another program may write it anew: other order, other spacing.
    path.write_text(json.dumps(dict(reversed(bundle.items())), indent=3), encoding="utf-8")
    call_command("verify_evidence", str(path), stdout=out)
    assert "valid, signed by" in out.getvalue()
    assert "rolled-back, final" in out.getvalue()
    bundle["content"]["migration"]["state"] = "done"
    path.write_text(json.dumps(bundle), encoding="utf-8")
    with pytest.raises(CommandError, match="NOT VALID"):
        call_command("verify_evidence", str(path))
    path.write_text("{", encoding="utf-8")
    with pytest.raises(CommandError, match="is not JSON"):
        call_command("verify_evidence", str(path))
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("verify_evidence", str(tmp_path / "none"))


# --- Pages
PAGES = ("plan", "preflight", "shadow", "report", "evidence")


def test_every_page_opens_before_and_after(client: Client, admin: User, over: Migration) -> None:
    client.force_login(admin)
    for page in (*PAGES, "nodes"):
        assert client.get(f"/migrations/{over.pk}/{page}/").status_code == 200, page
    preflight.check_now(over)
    answered(shadow.advance(over), fits=1)
    shadow.advance(over)
    evidence.build(over)
    for page in (*PAGES, "nodes"):
        assert client.get(f"/migrations/{over.pk}/{page}/").status_code == 200, page
    text = client.get(f"/migrations/{over.pk}/report/").content.decode()
    assert "was rolled back: everything runs on the old path again" in text
    assert "It went back already, in 300 s" in text
    key = client.get("/migrations/+public-key/").content.decode()
    assert signing.public_key().text in key


def test_a_tenant_learns_nothing_of_others(client: Client, alice: User, over: Migration) -> None:
    preflight.check_now(over)
    client.force_login(alice)
    for page in PAGES:
        answer = client.get(f"/migrations/{over.pk}/{page}/")
        assert answer.status_code == 200, page
        assert "labs/box" not in answer.content.decode(), page
    assert client.get(f"/migrations/{over.pk}/nodes/").status_code == 403
    bundle = client.get(f"/migrations/{over.pk}/evidence/").json()
    assert signing.verify(bundle, signing.public_key().text)["is_narrowed"]


def test_strangers_see_none_of_it(client: Client, mallory: User, over: Migration) -> None:
    client.force_login(mallory)
    for page in (*PAGES, "nodes"):
        assert client.get(f"/migrations/{over.pk}/{page}/").status_code == 404, page


def test_an_unchanged_part_is_not_sent_again(client: Client, admin: User, over: Migration) -> None:
    client.force_login(admin)
    for page in ("plan", "preflight", "shadow", "nodes"):
        url = f"/migrations/{over.pk}/{page}/"
        etag = client.get(url).headers["ETag"]
        part = {"HTTP_HX_REQUEST": "true", "HTTP_IF_NONE_MATCH": etag}
        assert client.get(url, **part).status_code == 304, page  # type: ignore[arg-type]


def test_what_a_worker_left_unsigned_is_signed_by_the_sweep(over: Migration) -> None:
    assert evidence.unsigned(timezone.now()) == [over.pk]
    tasks.sweep_evidence()
    tasks.build_evidence(over.pk)
    assert evidence.unsigned(timezone.now()) == []
    assert over.studies.get(kind="report").body["bundle"]


def test_both_paths_are_compared_while_both_carried_requests(over: Migration) -> None:
    judged = GateSample.objects.get(gate="errors")
    later = judged.at + timedelta(hours=2)
    GateSample.objects.create(
        migration=over,
        workload=judged.workload,
        gate="errors",
        stage="expand",
        weight=100,
        at=later,
        start=later - timedelta(seconds=60),
        end=later,
        verdict="pass",
    )
    [found] = evidence.content_of(over)["comparison"]
    assert (found["start"], found["end"]) == (judged.start.isoformat(), judged.end.isoformat())
    assert {line["verdict"] for line in found["lines"]} == {"unknown"}
