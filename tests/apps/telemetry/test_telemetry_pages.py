"""Figures and charts on pages: each with its state, none of them a zero that nobody measured."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.inventory.models import Cluster
from apps.telemetry import rollup
from apps.telemetry.models import Progress, Track
from apps.tenancy.models import Member, Role, Tenant
from domain.metrics import TEN
from tests.apps.telemetry.conftest import fill, make_track, reading

pytestmark = pytest.mark.django_db
LIVE = "/t/vision/telemetry/llama/live/"
OVER_TIME = "/t/vision/telemetry/llama/over-time/"
CHART = "/observability/chart/"
TOKENS = "?metric=tokens&tenant=vision&deployment=llama"


@pytest.fixture
def track(cluster: Cluster) -> Track:
    return make_track(cluster, first=timezone.now())


def filled(track: Track, *, ago: int = 0) -> None:
    end = timezone.now() - timedelta(seconds=ago)
    fill(track, end)
    start = end - timedelta(minutes=6)
    Progress.objects.update_or_create(cluster=track.cluster, defaults={"until": start})
    rollup.roll_up(track.cluster_id, timezone.now())


@pytest.fixture
def mine(client: Client, alice: Any) -> Client:
    client.force_login(alice)
    return client


def test_figures_are_shown_with_their_state(mine: Client, track: Track) -> None:
    filled(track)
    text = mine.get(f"{LIVE}?expected=1").text
    assert "Live" in text and "2.0" in text and "25 %" in text


def test_fewer_servers_than_expected_are_partial(mine: Client, track: Track) -> None:
    filled(track)
    assert "Partial: 1 of 3" in mine.get(f"{LIVE}?expected=3").text


def test_old_readings_are_stale_and_no_zero(mine: Client, track: Track) -> None:
    filled(track, ago=120)
    assert "Stale" in mine.get(LIVE).text


def test_without_a_reading_the_part_says_why(mine: Client, track: Track) -> None:
    Track.objects.update(problem="Forbidden: pods/proxy is forbidden", refused=True)
    text = mine.get(LIVE).text
    assert "pods/proxy is forbidden" in text and "No permission" in text
    Track.objects.all().delete()
    assert "No server has been read yet" in mine.get(LIVE).text


def test_an_unchanged_part_is_not_sent_again(mine: Client, track: Track) -> None:
    filled(track)
    part = mine.get(LIVE)
    assert mine.get(LIVE, headers={"If-None-Match": part["ETag"]}).status_code == 304


def test_a_chart_has_a_point_a_minute_and_gaps_stay_gaps(mine: Client, track: Track) -> None:
    filled(track)
    figure = mine.get(f"{CHART}{TOKENS}&range=1h").json()
    values = figure["data"][0]["y"]
    assert len(values) == 60 and None in values and 2.0 in values
    assert "note" not in figure


@pytest.mark.parametrize("span", ["15m", "24h", "7d", "30d"])
def test_no_line_has_more_than_500_points(mine: Client, track: Track, span: str) -> None:
    filled(track)
    figure = mine.get(f"{CHART}{TOKENS}&range={span}").json()
    assert len(figure["data"][0]["x"]) <= 500


def test_two_pools_lie_over_each_other(mine: Client, cluster: Cluster, track: Track) -> None:
    other = make_track(cluster, "p2", first=timezone.now(), pool="dra")
    fill(other, timezone.now())
    filled(track)
    figure = mine.get(f"{CHART}{TOKENS}&by=pool").json()
    assert [line["name"] for line in figure["data"]] == ["llama/dra", "llama/main"]


def test_bands_are_shaded_where_values_come_near_them(mine: Client, track: Track) -> None:
    filled(track)
    query = "?metric=kv_usage&tenant=vision&deployment=llama"
    assert mine.get(CHART + query).json()["layout"]["shapes"] == []
    shapes = mine.get(f"{CHART}{query}&most=0.4").json()["layout"]["shapes"]
    assert [shape["y0"] for shape in shapes] == [0.4]


def test_what_no_server_exports_names_what_was_tried(mine: Client, track: Track) -> None:
    filled(track)
    note = mine.get(f"{CHART}?metric=queue&tenant=vision&deployment=llama").json()["note"]
    assert note.startswith("Not exported") and "vllm:num_requests_waiting" in note


def test_what_only_a_prometheus_reads_is_not_configured(mine: Client, track: Track) -> None:
    note = mine.get(f"{CHART}?metric=gpu_memory&tenant=vision").json()["note"]
    assert note.startswith("Not configured") and "Prometheus" in note


def test_no_traffic_is_not_zero(mine: Client, track: Track) -> None:
    fill(track, timezone.now(), make=lambda _: reading(1))
    Progress.objects.create(cluster=track.cluster, until=timezone.now() - timedelta(minutes=6))
    rollup.roll_up(track.cluster_id, timezone.now())
    query = "?metric=ttft&tenant=vision&deployment=llama"
    assert mine.get(CHART + query).json()["note"].startswith("No traffic")


def test_the_table_and_the_csv_hold_what_the_chart_shows(mine: Client, track: Track) -> None:
    filled(track)
    table = mine.get(f"/observability/table/{TOKENS}&by=pool").text
    assert "llama/main" in table and "2" in table
    lines = mine.get(f"/observability/csv/{TOKENS}&by=pool").text.splitlines()
    assert lines[0] == "time,llama/main" and len(lines) == 61
    assert any(line.endswith(",2.0") for line in lines) and any(
        line.endswith(",") for line in lines
    )


def test_a_name_that_is_a_formula_is_none_in_the_csv(mine: Client, cluster: Cluster) -> None:
    track = make_track(cluster, first=timezone.now(), deployment="=cmd()")
    filled(track)
    text = mine.get("/observability/csv/?metric=tokens&tenant=vision&by=pool").text
    assert text.splitlines()[0] == "time,'=cmd()/main"


@pytest.mark.parametrize(
    "path",
    [
        "/observability/?tenant=vision",
        "/observability/tenants/vision/",
        "/observability/tenants/vision/llama/",
        "/observability/classes/gpu.example.com/?tenant=vision",
        OVER_TIME,
    ],
)
def test_each_subject_has_its_page(mine: Client, track: Track, path: str) -> None:
    text = mine.get(path).text
    assert "/observability/chart/?" in text


def test_a_nodes_page_is_of_the_platform(
    client: Client, mine: Client, admin: Any, track: Track
) -> None:
    path = "/observability/nodes/east/n1/"
    assert mine.get(path).status_code == 404
    client.force_login(admin)
    assert "Node n1" in client.get(path).text


def test_the_figures_part_shows_the_ten(mine: Client, track: Track) -> None:
    filled(track)
    text = mine.get("/observability/figures/?tenant=vision&deployment=llama").text
    for title in ("Claim allocation failures", "Prefix cache hit", "GPU memory used"):
        assert title in text
    assert len(TEN) == 10 and "Not exported" in text and "Not configured" in text


def test_strangers_see_nothing(client: Client, mallory: Any, track: Track) -> None:
    client.force_login(mallory)
    assert client.get(LIVE).status_code == 404
    for part in ("chart", "table", "csv", "figures"):
        assert client.get(f"/observability/{part}/{TOKENS}").status_code == 404
    assert client.get("/observability/tenants/vision/").status_code == 404


@pytest.mark.parametrize(
    "query",
    [
        "?metric=nonsense",
        "?metric=tokens&statistic=most",
        "?metric=tokens&by=colour",
        "?metric=tokens&range=9y",
        "?metric=tokens&start=yesterday",
        "?metric=tokens&start=2026-01-02T00:00:00Z&end=2026-01-01T00:00:00Z",
        "?metric=tokens&start=2020-01-02T00:00:00Z&end=2026-01-01T00:00:00Z",
        "?metric=tokens&pool=main",
    ],
)
def test_what_cannot_be_asked_is_told(mine: Client, track: Track, query: str) -> None:
    answer = mine.get(f"{CHART}{query}&tenant=vision")
    assert answer.status_code == 400 and answer.json()["note"]
    assert mine.get(f"/observability/table/{query}&tenant=vision").status_code == 400
    assert mine.get(f"/observability/csv/{query}&tenant=vision").status_code == 400


@pytest.mark.parametrize("odd", ["-1", "²", "x", "9" * 40, ""])
def test_odd_numbers_in_the_address_are_no_fault(mine: Client, track: Track, odd: str) -> None:
    assert mine.get(f"{LIVE}?expected={odd}").status_code == 200
    assert mine.get(f"{CHART}{TOKENS}&most={odd}").status_code == 200


def test_longer_ago_than_a_day_is_not_kept(mine: Client, track: Track) -> None:
    end = datetime.now(UTC) - timedelta(days=3)
    span = f"&start={(end - timedelta(hours=1)).isoformat()}&end={end.isoformat()}".replace(
        "+", "%2B"
    )
    assert mine.get(f"{CHART}{TOKENS}{span}").json()["note"].startswith("Not kept")


def test_without_a_cluster_it_says_so(client: Client, admin: Any) -> None:
    client.force_login(admin)
    answer = client.get("/observability/")
    assert answer.status_code == 200 and "No cluster is registered" in answer.text


def test_people_of_several_tenants_begin_with_their_first(
    mine: Client, alice: Any, cluster: Cluster
) -> None:
    other = Tenant.objects.create(slug="audio", name="Audio")
    Member.objects.create(tenant=other, user=alice, role=Role.VIEWER)
    answer = mine.get("/observability/?range=15m")
    assert answer.status_code == 302
    assert answer["Location"] == "/observability/?range=15m&tenant=audio"
    assert mine.get(answer["Location"]).status_code == 200
    assert mine.get("/observability/?tenant=vision").status_code == 200
