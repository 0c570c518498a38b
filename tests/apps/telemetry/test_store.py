"""Readings are kept for a day in few rows, and no increment is lost by thinning them."""

from datetime import UTC, datetime, timedelta

import pytest

from apps.inventory.models import Cluster
from apps.telemetry import selectors, store
from apps.telemetry.models import Chunk, Source
from domain.metrics import Reading, flow

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture
def source() -> Source:
    cluster = Cluster.objects.create(
        slug="east", name="East", server="https://east.example", credentials=b""
    )
    return Source.objects.create(
        cluster=cluster, uid="u1", namespace="vision", pod="p1", tenant="vision", deployment="llama"
    )


def fill(source: Source, *, start: datetime, count: int, every: int = 15, grow: int = 30) -> None:
    for index in range(count):
        at = start.timestamp() + index * every
        counters = {
            "generation_tokens": float(index * grow),
            "cached_tokens": float(index),
            "cacheable_tokens": float(index * 4),
        }
        store.append(source, at, (at, Reading(gauges={"running": 2.0}, counters=counters)))
    Source.objects.filter(pk=source.pk).update(
        first_at=start, read_at=start + timedelta(seconds=(count - 1) * every)
    )


def test_ten_minutes_are_one_row_and_a_repeated_reading_is_one(source: Source) -> None:
    fill(source, start=NOON, count=40)
    at = NOON.timestamp() + 39 * 15
    store.append(source, at, (at, Reading()))
    assert Chunk.objects.count() == 1
    assert len(store.between([source], NOON, NOON + timedelta(hours=1))[source.pk]) == 40


def test_thinning_keeps_every_increment(source: Source) -> None:
    fill(source, start=NOON, count=40)
    end = NOON + timedelta(hours=1)
    before = flow(store.between([source], NOON, end)[source.pk])
    assert store.roll_up(NOON + timedelta(hours=3)) == 1
    thinned = store.between([source], NOON, end)[source.pk]
    assert len(thinned) == 10
    # The first reading of the chunk went; the next kept one stands for what it had counted.
    lost = thinned[0][1].counters["generation_tokens"]
    assert (
        flow(thinned).counters["generation_tokens"] + lost == before.counters["generation_tokens"]
    )


def test_a_day_later_nothing_is_left(source: Source) -> None:
    fill(source, start=NOON, count=4)
    assert store.forget(NOON + timedelta(hours=26)) == 1
    assert not Chunk.objects.exists()


def test_live_figures_are_rates_of_the_last_minutes(source: Source) -> None:
    fill(source, start=NOON - timedelta(minutes=4), count=17)
    found = selectors.live("vision", "llama", now=NOON, expected=1)
    assert (found.tokens_per_second.value, found.tokens_per_second.state) == (2.0, "live")
    assert found.cache_hit.value == 0.25
    assert (found.ttft_p90.value, found.ttft_p90.state) == (None, "not-reported")


def test_fewer_servers_than_expected_is_partial(source: Source) -> None:
    fill(source, start=NOON - timedelta(minutes=4), count=17)
    running = selectors.live("vision", "llama", now=NOON, expected=2).running
    assert (running.value, running.state, running.heard, running.expected) == (2.0, "partial", 1, 2)


def test_a_silent_server_is_stale_and_not_zero(source: Source) -> None:
    fill(source, start=NOON - timedelta(minutes=4), count=5)
    running = selectors.live("vision", "llama", now=NOON, expected=1).running
    assert (running.value, running.state) == (None, "stale")


def test_nothing_read_yet_is_not_configured(source: Source) -> None:
    found = selectors.live("vision", "other", now=NOON, expected=1)
    assert found.tokens_per_second.state == "not-configured"


def test_no_traffic_is_no_cache_hit(source: Source) -> None:
    for index in range(3):
        at = NOON.timestamp() - 30 + index * 15
        counters = {"cached_tokens": 5.0, "cacheable_tokens": 9.0}
        store.append(source, at, (at, Reading(counters=counters)))
    found = selectors.live("vision", "llama", now=NOON, expected=1)
    assert (found.cache_hit.value, found.cache_hit.state) == (None, "no-traffic")


def test_a_minute_in_which_nobody_was_heard_has_no_values(source: Source) -> None:
    fill(source, start=NOON, count=9)
    found = selectors.points("vision", "llama", since=NOON, until=NOON + timedelta(minutes=5))
    values = [point.tokens_per_second for point in found]
    assert values[:2] == [2.0, 2.0]
    assert values[3:] == [None, None]


def test_figures_of_a_deployment_cost_two_queries_however_many_servers(
    source: Source, django_assert_num_queries: "pytest.FixtureRequest"
) -> None:
    fill(source, start=NOON - timedelta(minutes=4), count=9)
    for index in range(5):
        other = Source.objects.create(
            cluster=source.cluster, uid=f"x{index}", namespace="vision", pod=f"x{index}",
            tenant="vision", deployment="llama",
        )  # fmt: skip
        fill(other, start=NOON - timedelta(minutes=4), count=3)
    with django_assert_num_queries(2):  # type: ignore[operator]
        selectors.live("vision", "llama", now=NOON, expected=6)
