"""Taking samples: both pools over the same window, judged by every gate, kept with what was asked.

One sample a gate and interval. A window never reaches back before the present weight: it would
judge the step before.
"""

import math
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from apps.deployments.models import ModelPool
from apps.deployments.routing import BY_GATEWAY
from apps.rollouts import asking, figures
from apps.rollouts.models import GateSample, Migration, Workload
from apps.rollouts.shares import share_of
from apps.telemetry import measure as telemetry
from apps.telemetry.scopes import Scope
from domain.figures import Figure, State
from domain.gates import METRICS, PROMQL, Gate, Side, judge
from domain.rollout.settings import Settings
from domain.rollout.words import Phase

JUDGED = (Phase.WEIGHING, Phase.MOVED)


def gates_at(settings: Settings, weight: int) -> tuple[Gate, ...]:
    """The gates that can be judged at a weight.

    At 100 % the old pool gets nothing to compare with: only absolute limits are left there.
    """
    if weight < 100:
        return settings.gates
    alone = (replace(gate, ratio_at_most=None, ratio_at_least=None) for gate in settings.gates)
    return tuple(gate for gate in alone if (gate.at_most, gate.at_least) != (None, None))


def take(
    migration: Migration,
    settings: Settings,
    move: Workload,
    pools: dict[str, ModelPool],
    now: datetime,
) -> int:
    """Store the samples of a move that are due; returns how many. Repeatable."""
    new, old = pools.get(move.new_pool), pools.get(move.old_pool)
    if move.phase not in JUDGED or new is None or move.step_since is None:
        return 0
    if not new.weight:
        return 0
    last = move.samples.order_by("-at").values_list("at", flat=True).first()
    if last is not None and now - last < timedelta(seconds=settings.interval_seconds):
        return 0
    samples = [
        sample
        for gate in gates_at(settings, new.weight)
        if (sample := _sample(migration, gate, move, new, old, now)) is not None
    ]
    if samples and move.deployment is not None:
        share = share_of(move.deployment, new, samples[0].start, now)
        for sample in samples:
            sample.candidate["share"] = share.figure.value if share else None
    GateSample.objects.bulk_create(samples, ignore_conflicts=True)
    return len(samples)


def _sample(
    migration: Migration,
    gate: Gate,
    move: Workload,
    new: ModelPool,
    old: ModelPool | None,
    now: datetime,
) -> GateSample | None:
    """One gate's sample of the window that ends now; None while the window is not whole yet."""
    assert move.step_since is not None
    start = now - timedelta(seconds=gate.window_seconds)
    if start < move.step_since + timedelta(seconds=gate.delay_seconds):
        return None
    candidate = _side(migration, gate, new, start, now)
    candidate = _unanswered(migration, gate, new, candidate, start, now)
    current = _side(migration, gate, old, start, now) if gate.is_relative and old else None
    judged = judge(gate, candidate, current)
    return GateSample(
        migration=migration,
        workload=move,
        gate=gate.name,
        stage=migration.stage,
        step=move.step,
        weight=new.weight,
        at=now,
        start=start,
        end=now,
        verdict=judged.verdict,
        reason=judged.reason,
        dry_run=gate.dry_run,
        candidate=_plain(candidate) | {"worst_pod": judged.worst_pod},
        current=_plain(current) if current else {},
        query=candidate.figure.query,
    )


def _side(
    migration: Migration, gate: Gate, pool: ModelPool, start: datetime, end: datetime
) -> Side:
    cluster, statistic = migration.cluster, gate.chosen_statistic
    if gate.metric == PROMQL:
        query = resolved(gate.query, pool)
        return Side(asking.figure(lambda: telemetry.promql(cluster, query, end)))
    known = METRICS[gate.metric]
    scope = Scope.of_pool(pool) if known.of_pool else Scope()
    asked: dict[str, Any] = {"statistic": statistic}
    window = (cluster, gate.metric, scope, start, end)
    figure = asking.figure(lambda: figures.measure(*window, **asked))
    requests = None
    if known.per_request:
        requests = asking.figure(lambda: telemetry.requests(cluster, scope, start, end))
    pods: dict[str, Figure] = {}
    if gate.worst_pod and known.of_pool:
        pods = asking.figures(lambda: figures.per_pod(*window, **asked))
    return Side(figure, requests, pods, _ready(pool))


def _ready(pool: ModelPool) -> int:
    return sum(pod["state"] == "Ready" for pod in pool.pods)


def _unanswered(
    migration: Migration, gate: Gate, pool: ModelPool, side: Side, start: datetime, end: datetime
) -> Side:
    """What the gateway sent into a pool whose servers had none of it has failed: without its
    picker a pool refuses everything, and only the gateway's attempts tell.
    """
    requests = side.requests
    if gate.metric != figures.ERRORS or requests is None or requests.value or not _silent(requests):
        return side
    share = share_of(pool.deployment, pool, start, end)
    sent = share.figure.known if share and BY_GATEWAY in share.figure.detail else 0
    if not sent or sent < gate.min_requests:
        return side
    window = (migration.cluster, "running", Scope.of_pool(pool), start, end)
    running = asking.figure(lambda: telemetry.measure(*window, statistic="max"))
    if not running.usable or running.value:
        return side
    detail = f"the gateway sent {sent} requests, and no server had one of them"
    attempts = Figure(float(sent), State.LIVE, BY_GATEWAY)
    return Side(Figure(1.0, State.LIVE, detail, at=end), attempts, servers=side.servers)


def _silent(requests: Figure) -> bool:
    return requests.state in (State.LIVE, State.NO_TRAFFIC)


def resolved(query: str, pool: ModelPool) -> str:
    """The owner's query with the names of the pool filled in."""
    deployment = pool.deployment
    names = {
        "$pool": pool.name,
        "$deployment": deployment.name,
        "$namespace": deployment.namespace,
        "$tenant": deployment.tenant.slug,
    }
    for name, value in names.items():
        query = query.replace(name, value)
    return query


def _plain(side: Side) -> dict[str, Any]:
    requests = side.requests
    return {
        "value": _number(side.figure.value),
        "state": side.figure.state.value,
        "detail": side.figure.detail,
        "unit": side.figure.unit,
        "requests": _number(requests.value) if requests else None,
        "pods": {name: _number(one.value) for name, one in list(side.pods.items())[:50]},
    }


def _number(value: float | None) -> float | None:
    """None for what is no number: JSON has none such, and the verdict has said so."""
    return value if value is not None and math.isfinite(value) else None
