"""Old path against new: what the move changed, measured on both pools over the same time."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from apps.claims.models import Claim, Use
from apps.rollouts import figures
from apps.rollouts.models import Drill, Migration, Workload
from apps.telemetry.scopes import Scope
from domain.evidence import Line
from domain.figures import Figure, State
from domain.gates import METRICS

Json = dict[str, Any]
#: A window in which both pools answered; a longer one would compare different hours of the day.
LONGEST = timedelta(hours=6)

_FIGURES: tuple[tuple[str, str], ...] = (
    ("ttft", "p50"),
    ("ttft", "p95"),
    ("tpot", "p95"),
    ("request_latency", "p95"),
    ("errors", "ratio"),
    ("cache_hit", "ratio"),
    ("kv_usage", "max"),
)


def compare(migration: Migration, row: Workload) -> Json:
    """Every figure of one workload on both paths; what is missing says why."""
    window = _window(migration, row)
    if window is None:
        return {"workload": str(row), "lines": [], "text": "It never carried requests on both."}
    start, end = window
    lines = [
        *_allocation(migration, row, start, end),
        *(_measured(migration, row, metric, kind, start, end) for metric, kind in _FIGURES),
    ]
    return {
        "workload": str(row),
        "start": start.isoformat(),
        "end": end.isoformat(),
        "lines": [one.as_dict() for one in lines],
        "text": "",
    }


def _window(migration: Migration, row: Workload) -> tuple[datetime, datetime] | None:
    """While both pools had a weight, in this attempt: later the old one tells nothing new."""
    samples = row.samples.filter(weight__gt=0, weight__lt=100)
    if row.began_at is not None:
        samples = samples.filter(at__gte=row.began_at)
    first, last = samples.order_by("at").first(), samples.order_by("at").last()
    if first is None or last is None:
        return None
    end = last.end
    return max(first.start, end - LONGEST), end


def _scope(row: Workload, pool: str) -> Scope:
    assert row.deployment is not None
    return Scope(pool=pool, deployment=row.deployment.name, tenant=row.deployment.tenant.slug)


def _measured(
    migration: Migration, row: Workload, metric: str, kind: str, start: datetime, end: datetime
) -> Line:
    asked: Json = {"statistic": kind}
    old, new = (
        figures.measure(migration.cluster, metric, _scope(row, pool), start, end, **asked)
        for pool in (row.old_pool, row.new_pool)
    )
    known = METRICS[metric]
    title = known.title if kind in ("ratio", "max") else f"{known.title}, {kind}"
    return _line(f"{metric}.{kind}", title, known.unit, known.better, old, new)


def _line(key: str, title: str, unit: str, better: Any, old: Figure, new: Figure) -> Line:
    return Line(key, title, unit, better, old.value, new.value, old.state.value, new.state.value)


# --- From the history of uses: created, allocated, running
def _allocation(migration: Migration, row: Workload, start: datetime, end: datetime) -> list[Line]:
    old, new = (_waits(migration, row, pool) for pool in (row.old_pool, row.new_pool))
    return [
        _line(
            "allocation.success",
            "Allocation success",
            "",
            "higher",
            _success(migration, row, row.old_pool, old),
            _success(migration, row, row.new_pool, new),
        ),
        _line("pending.p50", "Pending time, p50", "s", "lower", _rank(old, 50), _rank(new, 50)),
        _line("pending.p95", "Pending time, p95", "s", "lower", _rank(old, 95), _rank(new, 95)),
    ]


def _waits(migration: Migration, row: Workload, pool: str) -> list[float]:
    """Seconds from creation to allocation of everything that the pool ever held."""
    assert row.deployment is not None
    uses = Use.objects.filter(
        cluster=migration.cluster,
        tenant=row.deployment.tenant.slug,
        deployment=row.deployment.name,
        model_pool=pool,
    )
    spans = uses.order_by("uid").distinct("uid").values_list("created_at", "allocated_at")
    return sorted((allocated - created).total_seconds() for created, allocated in spans)


def _success(migration: Migration, row: Workload, pool: str, waits: Sequence[float]) -> Figure:
    """Of what asked for devices, the part that got them; what waits now counts as not yet."""
    assert row.deployment is not None
    waiting = Claim.objects.filter(
        cluster=migration.cluster,
        tenant=row.deployment.tenant.slug,
        deployment=row.deployment.name,
        model_pool=pool,
        state=Claim.State.PENDING,
    ).count()
    total = len(waits) + waiting
    if not total:
        return Figure(None, State.NOT_KEPT, "nothing asked for devices")
    return Figure(len(waits) / total, State.LIVE, known=len(waits), total=total)


def _rank(waits: Sequence[float], percent: int) -> Figure:
    """The nearest rank; no interpolation between two allocations that happened."""
    if not waits:
        return Figure(None, State.NOT_KEPT, "nothing was allocated")
    at = max(0, -(-len(waits) * percent // 100) - 1)
    return Figure(waits[at], State.LIVE, total=len(waits))


def rollback_seconds(migration: Migration) -> tuple[float | None, str]:
    """How long going back took, or takes by the newest drill that passed; and what says so."""
    if migration.rollback_began_at and migration.rollback_ended_at:
        took = migration.rollback_ended_at - migration.rollback_began_at
        return took.total_seconds(), "the rollback of this migration"
    drill = migration.drills.filter(state=Drill.State.PASSED).first()
    if drill is not None and drill.seconds is not None:
        return drill.seconds, f"the recovery drill of {drill.finished_at:%Y-%m-%d %H:%M} UTC"
    return None, "nothing went back yet, and no drill has passed"
