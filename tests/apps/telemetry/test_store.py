"""Readings come in rows and go by the hour; minutes keep every increment for a day."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from apps.inventory.models import Cluster
from apps.telemetry import columns, retention, rollup, store
from apps.telemetry.models import Block, Progress, Raw, Track
from domain.metrics import Reading, flow
from tests.apps.telemetry.conftest import fill, make_track, reading

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def test_a_repeated_reading_is_kept_once(cluster: Cluster) -> None:
    track = make_track(cluster, first=NOON)
    store.write([(track.pk, NOON.timestamp(), reading(1))] * 2)
    store.write([(track.pk, NOON.timestamp(), reading(2))])
    held = store.between([track.pk], NOON, NOON)[track.pk]
    assert held == [(NOON.timestamp(), reading(1))]


def test_readings_of_two_hours_lie_in_two_partitions(cluster: Cluster) -> None:
    track = make_track(cluster, first=NOON)
    fill(track, NOON + timedelta(minutes=1), count=20)
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT tableoid::regclass::text FROM telemetry_raw")
        assert {name for (name,) in cursor.fetchall()} == {
            "telemetry_raw_2026113011",
            "telemetry_raw_2026113012",
        }


def roll(cluster: Cluster, start: datetime, end: datetime) -> int:
    Progress.objects.update_or_create(cluster=cluster, defaults={"until": start})
    done = 0
    while count := rollup.roll_up(cluster.pk, end + rollup.LAG):
        done += count
    return done


def test_minutes_keep_every_increment(cluster: Cluster) -> None:
    track = make_track(cluster, first=NOON)
    end = NOON + timedelta(minutes=9, seconds=45)
    fill(track, end, count=40)
    whole = flow(store.between([track.pk], NOON, end)[track.pk])
    assert roll(cluster, NOON, NOON + timedelta(minutes=10)) == 10
    table = columns.load([track.pk], "", columns.minute_of(NOON), 10)[track.pk]
    assert table.column("tokens").sum() == whole.counters["tokens"]
    buckets = columns.load([track.pk], "ttft", columns.minute_of(NOON), 10)[track.pk]
    assert buckets.column("inf").sum() == whole.histograms["ttft"][float("inf")]


def test_minutes_that_are_done_are_not_done_again(cluster: Cluster) -> None:
    fill(make_track(cluster, first=NOON), NOON + timedelta(minutes=5), count=20)
    end = NOON + timedelta(minutes=6)
    assert roll(cluster, NOON, end) == 6
    before = list(Block.objects.order_by("track_id", "family").values_list("packed", flat=True))
    assert rollup.roll_up(cluster.pk, end + rollup.LAG) == 0
    Progress.objects.update(until=NOON)
    assert rollup.roll_up(cluster.pk, end + rollup.LAG) == 6
    after = list(Block.objects.order_by("track_id", "family").values_list("packed", flat=True))
    assert [bytes(one) for one in after] == [bytes(one) for one in before]


def test_a_pool_is_the_sum_of_its_servers_and_shares_are_means(cluster: Cluster) -> None:
    for pod in ("p1", "p2"):
        fill(make_track(cluster, pod, first=NOON), NOON + timedelta(minutes=4), count=20)
    roll(cluster, NOON, NOON + timedelta(minutes=4))
    pool = Track.objects.get(kind=Track.Kind.POOL)
    assert (pool.tenant, pool.deployment, pool.pool) == ("vision", "llama", "main")
    table = columns.load([pool.pk], "", columns.minute_of(NOON) + 2, 1)[pool.pk]
    row = dict(zip(table.names, table.values[0].tolist(), strict=True))
    assert (row["tokens"], row["heard"], row["known"]) == (240.0, 2.0, 2.0)
    assert (row["running"], row["kv_usage"]) == (4.0, 0.5)


def test_a_restart_inside_a_minute_loses_nothing(cluster: Cluster) -> None:
    track = make_track(cluster, first=NOON)
    counts = [100.0, 130.0, 10.0, 40.0, 70.0]
    readings = [Reading(counters={"tokens": count}) for count in counts]
    fill(track, NOON + timedelta(seconds=60), count=5, make=lambda step: readings[step])
    roll(cluster, NOON, NOON + timedelta(minutes=2))
    table = columns.load([track.pk], "", columns.minute_of(NOON), 2)[track.pk]
    assert table.column("tokens").sum() == 30 + 10 + 30 + 30


def test_what_happened_in_a_long_gap_is_given_to_no_minute(cluster: Cluster) -> None:
    track = make_track(cluster, first=NOON)
    store.write(
        [
            (track.pk, NOON.timestamp(), Reading(counters={"tokens": 0.0})),
            (track.pk, NOON.timestamp() + 400, Reading(counters={"tokens": 900.0})),
            (track.pk, NOON.timestamp() + 415, Reading(counters={"tokens": 930.0})),
        ]
    )
    Track.objects.update(tried_at=NOON + timedelta(seconds=415))
    roll(cluster, NOON, NOON + timedelta(minutes=8))
    table = columns.load([track.pk], "", columns.minute_of(NOON), 8)[track.pk]
    tokens = table.column("tokens")
    assert tokens[tokens == tokens].tolist() == [30.0]


def test_a_day_later_nothing_is_left(cluster: Cluster) -> None:
    track = make_track(cluster, first=NOON)
    fill(track, NOON + timedelta(minutes=4), count=20)
    roll(cluster, NOON, NOON + timedelta(minutes=4))
    retention.sweep(NOON + timedelta(hours=5))
    assert not Raw.objects.exists() and Block.objects.exists()
    retention.sweep(NOON + timedelta(hours=27))
    assert not Block.objects.exists() and not Track.objects.exists()
