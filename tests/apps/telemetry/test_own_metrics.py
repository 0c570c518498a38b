"""Our own /metrics: for who has the token, of what is known, and not more series than promised."""

import subprocess
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.inventory.models import Cluster, Node
from apps.telemetry import exporting, history, rollup
from apps.telemetry.models import Progress, Track
from domain.metrics import parse
from tests.apps.telemetry.conftest import fill, make_track
from tests.programs import program

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(cluster: Cluster) -> str:
    now = timezone.now()
    Cluster.objects.update(heard_at=now)
    Node.objects.create(
        cluster=cluster, name="n1", path="dra", has_cards=True, physical=4, in_dra=1, in_plugin=0
    )
    fill(make_track(cluster, first=now, pool='ma"in'), now)
    Progress.objects.create(cluster=cluster, until=now - timedelta(minutes=6))
    rollup.roll_up(cluster.pk, now)
    cluster.refresh_from_db()
    history.record(cluster, now)
    return exporting.page(now)


def test_what_is_known_is_told_and_what_is_not_is_absent(page: str) -> None:
    found = parse(page)
    known = {labels["figure"]: value for labels, value in found["claimyard_figure_known"]}
    assert (known["cache_hit"], known["ttft"], known["gpu_memory"], known["queue"]) == (1, 1, 0, 0)
    assert found["claimyard_prefix_cache_hit_ratio"][0][1] == 0.25
    assert found["claimyard_prefix_cache_hit_ratio"][0][0]["pool"] == 'ma"in'
    assert found["claimyard_cards_in_use_ratio"] == [({"cluster": "east"}, 0.25)]
    assert "claimyard_gpu_memory_used_bytes" not in found
    assert "claimyard_requests_waiting" not in found


@pytest.mark.stack
def test_the_real_promtool_reads_the_page(page: str) -> None:
    done = subprocess.run(
        [program("promtool", "prometheus"), "check", "metrics"],
        input=page,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_pools_beyond_the_limit_have_no_series(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "MOST_SCOPES", 2)
    now = timezone.now()
    for number in range(5):
        Track.objects.create(
            cluster=cluster, kind=Track.Kind.POOL, key=f"t/d{number}/p", first_at=now, tried_at=now
        )
    assert parse(exporting.page(now))["claimyard_scopes_left_out"] == [({"cluster": "east"}, 3)]


def test_the_page_wants_its_token(client: Client, settings: Any, cluster: Cluster) -> None:
    assert client.get("/metrics").status_code == 404
    settings.METRICS_TOKENS = ["old one", "new one"]
    assert client.get("/metrics").status_code == 401
    for token in ("", "old", "Bearer old one"):
        assert client.get("/metrics", headers={"Authorization": token}).status_code == (
            200 if token.endswith("old one") else 401
        )
    answer = client.get("/metrics", headers={"Authorization": "Bearer new one"})
    assert answer["Content-Type"].startswith("text/plain; version=0.0.4")
