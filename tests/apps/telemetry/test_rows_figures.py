"""Figures of claims, pods and cards: what the cluster was seen to do, with how far that holds."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from apps.claims.models import Claim, Use
from apps.common.models import Ask
from apps.inventory.models import Cluster, Event, Mirrored, Node, Pod
from apps.telemetry import history, measure, recorded, series
from apps.telemetry.models import Track
from apps.telemetry.scopes import Scope
from domain.figures import Figure, State

pytestmark = pytest.mark.django_db
VISION = Scope(tenant="vision")
LLAMA = Scope(tenant="vision", deployment="llama", pool="main")


@pytest.fixture
def heard(cluster: Cluster) -> Cluster:
    cluster.heard_at = timezone.now()
    cluster.save()
    return cluster


def figure(
    cluster: Cluster, metric: str, scope: Scope = VISION, statistic: str = "last", minutes: int = 60
) -> Figure:
    now = timezone.now()
    return measure.measure(
        cluster,
        metric,
        scope,
        now - timedelta(minutes=minutes),
        now,
        statistic=statistic,  # type: ignore[arg-type]
    )


def make_use(cluster: Cluster, uid: str, waited: float, started: float | None = 5) -> Use:
    allocated = timezone.now() - timedelta(minutes=5)
    return Use.objects.create(
        cluster=cluster,
        kind="claim",
        uid=uid,
        namespace="tenant-vision",
        name=uid,
        device_class="gpu",
        tenant="vision",
        deployment="llama",
        model_pool="main",
        created_at=allocated - timedelta(seconds=waited),
        allocated_at=allocated,
        running_at=None if started is None else allocated + timedelta(seconds=started),
    )


def make_claim(cluster: Cluster, uid: str, state: str, **given: Any) -> Claim:
    return Claim.objects.create(
        cluster=cluster,
        uid=uid,
        namespace="tenant-vision",
        name=uid,
        state=state,
        tenant="vision",
        deployment="llama",
        model_pool="main",
        device_class="gpu",
        created_at=timezone.now() - timedelta(seconds=600),
        **given,
    )


def make_pod(cluster: Cluster, name: str, *, ready: bool, **given: Any) -> Pod:
    values = {"phase": "Running", "containers": [{"state": "running"}]} | given
    return Pod.objects.create(
        cluster=cluster,
        uid=name,
        name=name,
        namespace="tenant-vision",
        tenant="vision",
        deployment="llama",
        model_pool="main",
        is_ready=ready,
        **values,
    )


def test_pending_time_counts_claims_that_still_wait_with_their_age(heard: Cluster) -> None:
    for number, waited in enumerate((10, 20, 30)):
        make_use(heard, f"u{number}", waited)
    assert figure(heard, "pending", statistic="p50").value == pytest.approx(20)
    assert figure(heard, "starting", statistic="max").value == pytest.approx(5)
    make_claim(heard, "c", "pending")
    found = figure(heard, "pending", statistic="max")
    assert found.value is not None and found.value >= 600 and "1 still wait" in found.detail


def test_no_claim_is_no_traffic_and_no_zero(heard: Cluster) -> None:
    found = figure(heard, "pending", statistic="p95")
    assert (found.value, found.state) == (None, State.NO_TRAFFIC)


def test_failures_are_of_the_scopes_own_pods(heard: Cluster) -> None:
    make_claim(heard, "c", "pending")
    for pod, message in (
        ("llama-main-a", "0/2 nodes are available: 2 cannot allocate all claims."),
        ("llama-main-a", "0/2 nodes are available: 2 cannot allocate all claims. Again."),
        ("llama-dra-b", "cannot allocate all claims"),
        ("llama-main-c", "0/2 nodes are available: 2 Insufficient cpu."),
    ):
        Event.objects.create(
            cluster=heard,
            uid=f"{pod}{len(message)}",
            namespace="tenant-vision",
            about_kind="Pod",
            about_uid=pod,
            about_name=pod,
            reason="FailedScheduling",
            message=message,
            last_at=timezone.now(),
        )
    assert figure(heard, "alloc_failures", LLAMA, "increase").value == 1
    assert figure(heard, "alloc_failures", VISION, "increase").value == 2
    assert figure(heard, "alloc_failures", Scope(tenant="audio"), "increase").value == 0


def test_readiness_and_liveness_are_two_things(heard: Cluster) -> None:
    make_pod(heard, "a", ready=True)
    make_pod(heard, "b", ready=False)
    make_pod(heard, "c", ready=False, containers=[{"state": "waiting", "reason": "CrashLoop"}])
    make_pod(heard, "d", ready=False, phase="Failed")
    assert figure(heard, "ready").value == pytest.approx(1 / 3)
    assert figure(heard, "alive").value == pytest.approx(2 / 3)


def test_devices_that_nobody_uses_are_held_idle(heard: Cluster) -> None:
    make_claim(heard, "a", "allocated", devices=2)
    make_claim(heard, "b", "reserved", devices=4)
    make_claim(heard, "c", "pending")
    assert figure(heard, "held_idle").value == 2
    assert figure(heard, "waiting").value == 1


def test_nodes_that_tell_nothing_leave_allocation_partial(heard: Cluster) -> None:
    Node.objects.create(
        cluster=heard, name="a", path="dra", has_cards=True, physical=4, in_dra=1, in_plugin=1
    )
    assert figure(heard, "allocation", Scope()).value == 0.5
    Node.objects.create(cluster=heard, name="b", path="dra", has_cards=True)
    found = figure(heard, "allocation", Scope())
    assert (found.state, found.known, found.total) == (State.PARTIAL, 1, 2)


def test_a_cluster_that_is_not_heard_makes_figures_stale(heard: Cluster) -> None:
    make_pod(heard, "a", ready=True)
    Cluster.objects.update(heard_at=timezone.now() - timedelta(hours=1))
    heard.refresh_from_db()
    found = figure(heard, "ready")
    assert (found.value, found.state) == (1, State.STALE)


def test_a_cluster_that_was_never_listed_tells_nothing(cluster: Cluster) -> None:
    found = figure(cluster, "ready")
    assert (found.value, found.state) == (None, State.ERROR)


def answered(cluster: Cluster, kind: str, answer: dict[str, Any]) -> None:
    """As the placement process does it, behind the asker's back."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE OR REPLACE FUNCTION answer_at_once() RETURNS trigger LANGUAGE plpgsql AS $$"
            " BEGIN IF NEW.kind = 'placement.match' THEN NEW.state := 'answered';"
            ' NEW.answer := \'{"matches": 18, "free": 6, "total": 64}\'; END IF; RETURN NEW; END $$'
        )
        cursor.execute(
            "CREATE TRIGGER answer_at_once BEFORE INSERT ON common_ask"
            " FOR EACH ROW EXECUTE FUNCTION answer_at_once()"
        )


def test_class_matches_are_what_the_placement_process_answered(
    heard: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded, "WAIT_MS", 50)
    body = {"spec": {"selectors": [{"cel": {"expression": "true"}}]}}
    Mirrored.objects.create(
        cluster=heard,
        kind="deviceclasses",
        uid="k",
        name="gpu",
        resource_version="1",
        revision=1,
        body=body,
    )
    answered(heard, "placement.match", {})
    now = timezone.now()
    assert recorded.record(heard, now) == 1
    assert Ask.objects.filter(kind="placement.match").get().question["class_selectors"] == ["true"]
    scope = Scope(device_class="gpu")
    assert figure(heard, "matches", scope).value == 18
    assert figure(heard, "matches_free", scope).value == 6
    chart = series.series(heard, "matches", scope, now - timedelta(hours=1), now, by="class")
    assert [line.name for line in chart.lines] == ["gpu"]
    # Nobody answered this one: it has a state, and no value.
    found = figure(heard, "fragmentation", Scope())
    assert found.value is None and found.state is State.TARGET_DOWN
    assert "did not answer" in found.detail


def test_how_pools_stand_is_written_down_every_minute(heard: Cluster) -> None:
    make_pod(heard, "a", ready=True)
    make_pod(heard, "b", ready=False)
    make_claim(heard, "c", "pending")
    now = timezone.now()
    for minute in range(3):
        history.record(heard, now - timedelta(minutes=minute))
    start, end = now - timedelta(minutes=10), now + timedelta(minutes=1)
    chart = series.series(heard, "ready", VISION, start, end, by="pool")
    assert [line.name for line in chart.lines] == ["llama/main"]
    assert [value for value in chart.lines[0].values if value is not None] == [0.5] * 3
    waiting = series.series(heard, "waiting", VISION, start, end)
    assert [value for value in waiting.lines[0].values if value is not None] == [1.0] * 3
    assert Track.objects.filter(kind=Track.Kind.POOL).count() == 1


def test_pending_over_time_comes_from_the_history_of_uses(heard: Cluster) -> None:
    make_use(heard, "a", 10)
    make_use(heard, "b", 30)
    now = timezone.now()
    chart = series.series(heard, "pending", VISION, now - timedelta(hours=1), now, statistic="mean")
    assert [value for value in chart.lines[0].values if value is not None] == [pytest.approx(20)]


def test_time_that_belongs_to_nobody_lowers_attribution(heard: Cluster) -> None:
    make_use(heard, "a", 1)
    Use.objects.filter(pk=make_use(heard, "b", 1).pk).update(tenant="")
    assert figure(heard, "attributed", Scope(), "ratio").value == pytest.approx(0.5, abs=0.01)
