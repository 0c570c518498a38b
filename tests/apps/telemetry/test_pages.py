"""Figures on a deployment's page: each with its state, none of them a zero that nobody measured."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.telemetry import store
from apps.telemetry.models import Source
from domain.metrics import Reading

pytestmark = pytest.mark.django_db
LIVE = "/t/vision/telemetry/llama/live/"
CHART = "/t/vision/telemetry/llama/chart/"


@pytest.fixture
def source(cluster: Any) -> Source:
    return Source.objects.create(
        cluster=cluster,
        uid="u1",
        namespace="tenant-vision",
        pod="p1",
        tenant="vision",
        deployment="llama",
    )


def fill(source: Source, *, ago: int = 0) -> None:
    """Five minutes of readings: 30 tokens in 15 s, a quarter of the prompt from the cache."""
    end = timezone.now() - timedelta(seconds=ago)
    for index in range(20):
        at = (end - timedelta(seconds=(19 - index) * 15)).timestamp()
        counters = {
            "generation_tokens": index * 30.0,
            "cached_tokens": index * 1.0,
            "cacheable_tokens": index * 4.0,
        }
        store.append(source, at, (at, Reading(gauges={"running": 2.0}, counters=counters)))
    Source.objects.filter(pk=source.pk).update(read_at=end)


@pytest.fixture
def mine(client: Client, alice: Any) -> Client:
    client.force_login(alice)
    return client


def test_figures_are_shown_with_their_state(mine: Client, source: Source) -> None:
    fill(source)
    text = mine.get(f"{LIVE}?expected=1").text
    assert "Live" in text and "2.0" in text and "25 %" in text


def test_fewer_servers_than_expected_are_partial(mine: Client, source: Source) -> None:
    fill(source)
    assert "Partial: 1 of 3" in mine.get(f"{LIVE}?expected=3").text


def test_old_readings_are_stale_and_no_zero(mine: Client, source: Source) -> None:
    fill(source, ago=120)
    text = mine.get(LIVE).text
    assert "Stale" in text


def test_without_a_reading_the_part_says_why(mine: Client, source: Source) -> None:
    assert "No server has been read yet" in mine.get(LIVE).text
    Source.objects.update(problem="pods/proxy is forbidden", read_at=timezone.now())
    assert "pods/proxy is forbidden" in mine.get(LIVE).text


def test_an_unchanged_part_is_not_sent_again(mine: Client, source: Source) -> None:
    fill(source)
    part = mine.get(LIVE)
    assert mine.get(LIVE, headers={"If-None-Match": part["ETag"]}).status_code == 304


def test_the_chart_has_a_point_a_minute_and_gaps_stay_gaps(mine: Client, source: Source) -> None:
    fill(source)
    figure = mine.get(f"{CHART}?range=1h").json()
    tokens = next(trace for trace in figure["data"] if trace["name"] == "Tokens/s")
    assert len(tokens["y"]) == 60 and None in tokens["y"]
    assert "note" not in figure
    Source.objects.all().delete()
    figure = mine.get(f"{CHART}?range=6h").json()
    assert "No reading in this time" in figure["note"]


def test_strangers_see_nothing(client: Client, mallory: Any, source: Source) -> None:
    client.force_login(mallory)
    assert client.get(LIVE).status_code == 404
    assert client.get(CHART).status_code == 404


@pytest.mark.parametrize("odd", ["-1", "²", "x", "9" * 40, ""])
def test_odd_numbers_in_the_address_are_no_fault(mine: Client, source: Source, odd: str) -> None:
    assert mine.get(f"{LIVE}?expected={odd}&range={odd}").status_code == 200
    assert mine.get(f"{CHART}?range={odd}").status_code == 200
