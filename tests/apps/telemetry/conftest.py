"""Tracks with readings, as the collector would have left them."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from apps.inventory.models import Cluster
from apps.telemetry import store
from apps.telemetry.models import Track
from domain.metrics import Reading

BOUNDS = (0.1, 0.5, 1.0, float("inf"))


def make_track(cluster: Cluster, pod: str = "p1", *, first: datetime, **names: Any) -> Track:
    given = {"tenant": "vision", "deployment": "llama", "pool": "main"} | names
    return Track.objects.create(
        cluster=cluster,
        key=f"uid-{pod}",
        namespace=given.pop("namespace", "tenant-vision"),
        pod=pod,
        first_at=first,
        tried_at=first,
        **given,
    )


def reading(step: int, *, slow: bool = False) -> Reading:
    """The `step`th reading: 30 tokens and 2 requests a step, a quarter of the prompt cached."""
    count = 2.0 * step
    buckets = dict.fromkeys(BOUNDS, count)
    if slow:
        buckets |= {0.1: 0.0, 0.5: 0.0}
    return Reading(
        gauges={"running": 2.0, "kv_usage": 0.5},
        counters={
            "tokens": 30.0 * step,
            "requests": count,
            "cache_hit/part": 1.0 * step,
            "cache_hit/whole": 4.0 * step,
        },
        histograms={"ttft": buckets},
        sums={"ttft": 0.3 * count},
    )


def fill(
    track: Track,
    end: datetime,
    *,
    count: int = 20,
    every: int = 15,
    make: Callable[[int], Reading] = reading,
) -> None:
    """`count` readings, the last one at `end`."""
    start = end - timedelta(seconds=(count - 1) * every)
    store.write(
        [(track.pk, start.timestamp() + index * every, make(index)) for index in range(count)]
    )
    Track.objects.filter(pk=track.pk).update(first_at=start, tried_at=end, read_at=end)
    track.refresh_from_db()


@pytest.fixture
def cluster(db: None) -> Cluster:
    return Cluster.objects.create(
        slug="east", name="East", server="https://east.example", credentials=b""
    )
