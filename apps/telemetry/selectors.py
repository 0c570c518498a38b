"""Figures of a deployment's model servers, each with its state: a number never comes alone."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Literal

from django.db.models import Count, Max

from apps.telemetry import store
from apps.telemetry.models import Source
from apps.telemetry.packing import Timed
from domain import metrics
from domain.metrics import Flow

State = Literal["live", "stale", "partial", "no-traffic", "not-reported", "not-configured", "error"]
STALE_AFTER = timedelta(seconds=60)
WINDOW = timedelta(minutes=5)
STEP_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Figure:
    """A value, or None with the state that says why; `heard` of `expected` servers reported."""

    value: float | None
    state: State
    at: datetime | None = None
    heard: int = 0
    expected: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Live:
    """What a deployment does now, over the last five minutes. Seconds and shares, not ms or %."""

    tokens_per_second: Figure
    requests_per_second: Figure
    cache_hit: Figure
    ttft_p50: Figure
    ttft_p90: Figure
    queue_p50: Figure
    prefill_p50: Figure
    running: Figure
    queued: Figure
    kv_use: Figure


@dataclass(frozen=True, slots=True)
class Point:
    """One minute of a deployment; None where nothing can be said."""

    at: float
    tokens_per_second: float | None
    cache_hit: float | None
    ttft_p50: float | None
    ttft_p90: float | None


def sources_of(tenant: str, deployment: str, *, since: datetime) -> list[Source]:
    """Servers of the deployment that were read, or tried, since then."""
    rows = Source.objects.filter(tenant=tenant, deployment=deployment)
    return list(rows.filter(first_at__gte=since) | rows.filter(read_at__gte=since))


def live(tenant: str, deployment: str, *, now: datetime, expected: int) -> Live:
    """The figures of now. `expected` is how many servers ought to report."""
    sources = sources_of(tenant, deployment, since=now - WINDOW)
    readings = store.between(sources, now - WINDOW, now)
    latest = {pk: timed[-1] for pk, timed in readings.items()}
    fresh = {pk for pk, (at, _) in latest.items() if now.timestamp() - at < 60}
    newest = max((at for at, _ in latest.values()), default=None)
    problem = next((source.problem for source in sources if source.problem), "")
    base = _Base(
        at=None if newest is None else datetime.fromtimestamp(newest, now.tzinfo),
        heard=len(fresh),
        expected=max(expected, len(fresh)),
        problem=problem,
    )
    flow = metrics.together([metrics.flow(timed) for timed in readings.values() if len(timed) > 1])
    gauges = [latest[pk][1].gauges for pk in fresh]
    return Live(
        tokens_per_second=base.figure(flow.rate("tokens")),
        requests_per_second=base.figure(flow.rate("requests")),
        cache_hit=base.figure(flow.ratio("cache_hit"), idle=flow.tells("cache_hit")),
        ttft_p50=base.figure(flow.quantile("ttft", 0.5), idle="ttft" in flow.histograms),
        ttft_p90=base.figure(flow.quantile("ttft", 0.9), idle="ttft" in flow.histograms),
        queue_p50=base.figure(
            flow.quantile("queue_time", 0.5), idle="queue_time" in flow.histograms
        ),
        prefill_p50=base.figure(
            flow.quantile("prefill_time", 0.5), idle="prefill_time" in flow.histograms
        ),
        running=base.figure(_total(gauges, "running")),
        queued=base.figure(_total(gauges, "queue")),
        kv_use=base.figure(_mean(gauges, "kv_usage")),
    )


@dataclass(frozen=True, slots=True)
class _Base:
    at: datetime | None
    heard: int
    expected: int
    problem: str

    def figure(self, value: float | None, *, idle: bool = False) -> Figure:
        return Figure(
            value, self._state(value, idle), self.at, self.heard, self.expected, self.problem
        )

    def _state(self, value: float | None, idle: bool) -> State:
        if self.at is None:
            return "error" if self.problem else "not-configured"
        if self.heard == 0:
            return "stale"
        if value is None:
            return "no-traffic" if idle else "not-reported"
        return "partial" if self.heard < self.expected else "live"


def _total(gauges: list[dict[str, float]], concept: str) -> float | None:
    found = [values[concept] for values in gauges if concept in values]
    return sum(found) if found else None


def _mean(gauges: list[dict[str, float]], concept: str) -> float | None:
    found = [values[concept] for values in gauges if concept in values]
    return sum(found) / len(found) if found else None


def revision(tenant: str, deployment: str, *, now: datetime) -> str:
    """A text that changes with every reading of the deployment's servers, and as they grow old."""
    since = now - WINDOW
    found = Source.objects.filter(tenant=tenant, deployment=deployment, read_at__gte=since)
    seen = found.aggregate(newest=Max("read_at"), count=Count("pk"), problem=Max("problem"))
    stale = seen["newest"] is not None and now - seen["newest"] > STALE_AFTER
    return f"{seen} {stale}"


def points(tenant: str, deployment: str, *, since: datetime, until: datetime) -> list[Point]:
    """A point a minute. A minute in which nobody was heard has a point without values."""
    sources = sources_of(tenant, deployment, since=since)
    readings = store.between(sources, since - timedelta(seconds=STEP_SECONDS), until)
    first = int(since.timestamp() // STEP_SECONDS)
    last = int(until.timestamp() // STEP_SECONDS)
    by_minute = _flows_by_minute(readings)
    return [_point(minute, by_minute.get(minute)) for minute in range(first, last)]


def _flows_by_minute(readings: dict[int, list[Timed]]) -> dict[int, Flow]:
    """Increments of each minute, all servers together; a reading belongs to the minute it ends."""
    parts: dict[int, list[Flow]] = {}
    for timed in readings.values():
        minutes: dict[int, list[Timed]] = {}
        for before, after in pairwise(timed):
            if after[0] - before[0] > 3 * STEP_SECONDS:
                continue  # a gap: what happened in it cannot be given to one minute
            held = minutes.setdefault(int(after[0] // STEP_SECONDS), [before])
            held.append(after)
        for minute, inside in minutes.items():
            parts.setdefault(minute, []).append(metrics.flow(inside))
    return {minute: metrics.together(flows) for minute, flows in parts.items()}


def _point(minute: int, flow: Flow | None) -> Point:
    at = float((minute + 1) * STEP_SECONDS)
    if flow is None:
        return Point(at, None, None, None, None)
    return Point(
        at,
        flow.rate("tokens"),
        flow.ratio("cache_hit"),
        flow.quantile("ttft", 0.5),
        flow.quantile("ttft", 0.9),
    )
