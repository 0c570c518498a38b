"""What the page of a migration shows, from its rows."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.deployments import routing as deployed
from apps.deployments.models import ModelPool
from apps.rollouts import selectors, shares
from apps.rollouts.gathering import SHARE_SECONDS
from apps.rollouts.models import GateSample, Migration, Stage, State, Workload
from domain.figures import Figure
from domain.gates import METRICS, Gate
from domain.rollout.settings import Settings, settings_from
from domain.rollout.words import BACKWARD, MOVE_ENDS, Phase


@dataclass(frozen=True, slots=True)
class MoveShown:
    row: Workload
    old: ModelPool | None
    new: ModelPool | None
    old_ready: int
    new_ready: int
    share: Figure | None
    is_routed: bool
    step: str


@dataclass(frozen=True, slots=True)
class GateShown:
    """A gate with its newest sample of each move."""

    gate: Gate
    title: str
    limits: str
    samples: list[GateSample]


def page_of(migration: Migration) -> dict[str, Any]:
    settings = settings_from(migration.settings)
    rows = selectors.moves_of(migration)
    drill = migration.drills.first()
    return {
        "migration": migration,
        "state": State(migration.state).label.lower(),
        "stages": Stage.choices,
        "passed": _passed(migration),
        "moves": [_shown(row, settings) for row in rows if row.deployment_id],
        "foreign": [row for row in rows if row.deployment_id is None],
        "gates": [_gate(migration, gate) for gate in settings.gates],
        "decisions": migration.decisions.select_related("workload")[:60],
        "drill": drill,
        "can": _can(migration),
        "back": _back(migration, rows),
        "settings": settings,
    }


def _passed(migration: Migration) -> list[str]:
    names = list(Stage.values)
    if migration.state == State.DONE:
        return names
    return names[: names.index(migration.stage)] if migration.started_at else []


def _shown(row: Workload, settings: Settings) -> MoveShown:
    assert row.deployment is not None
    pools = {pool.name: pool for pool in row.deployment.pools.all()}
    old, new = pools.get(row.old_pool), pools.get(row.new_pool)
    share = None
    if new is not None and row.phase not in (Phase.WAITING, Phase.CAPACITY):
        now = timezone.now()
        since = max(row.step_since or now, now - timedelta(seconds=SHARE_SECONDS))
        found = shares.share_of(row.deployment, new, since, now)
        share = found.figure if found else None
    return MoveShown(
        row=row,
        old=old,
        new=new,
        old_ready=_ready(old),
        new_ready=_ready(new),
        share=share,
        is_routed=deployed.is_routed(row.deployment),
        step=_step(row, settings),
    )


def _ready(pool: ModelPool | None) -> int:
    return sum(pod["state"] == "Ready" for pod in pool.pods) if pool else 0


def _step(row: Workload, settings: Settings) -> str:
    if row.phase == Phase.WEIGHING:
        return f"step {row.step + 1} of {len(settings.steps)}"
    return ""


def limits_of(gate: Gate) -> str:
    """The limits in words."""
    parts = []
    if gate.at_most is not None:
        parts.append(f"at most {gate.at_most:g}")
    if gate.at_least is not None:
        parts.append(f"at least {gate.at_least:g}")
    if gate.ratio_at_most is not None:
        parts.append(f"at most {gate.ratio_at_most:g} times the old pool")
    if gate.ratio_at_least is not None:
        parts.append(f"at least {gate.ratio_at_least:g} times the old pool")
    return ", ".join(parts)


def _gate(migration: Migration, gate: Gate) -> GateShown:
    newest = (
        migration.samples.filter(gate=gate.name)
        .order_by("workload_id", "-at")
        .distinct("workload_id")
        .select_related("workload")
    )
    return GateShown(gate, METRICS[gate.metric].title, limits_of(gate), list(newest[:20]))


def judged_moves(migration: Migration) -> list[Workload]:
    return list(migration.workloads.filter(samples__isnull=False).distinct())


def _can(migration: Migration) -> dict[str, str]:
    """Why each action is not possible now; "" when it is."""
    if migration.is_over:
        text = "It is over."
        again = "" if migration.state == State.ROLLED_BACK else text
        names = ("start", "pause", "resume", "approve", "roll_back", "freeze", "leave", "retire")
        return dict.fromkeys(names, text) | {"retry": again}
    if migration.started_at is None:
        text = "It has not been started."
        names = ("pause", "resume", "approve", "roll_back", "freeze", "leave", "retire", "retry")
        return dict.fromkeys(names, text) | {"start": ""}
    held = bool(migration.wanted.get("paused") or migration.wanted.get("frozen"))
    back = "It rolls back." if migration.state == State.ROLLING_BACK else ""
    asks = migration.waiting_for.endswith(("-approval", "-open", "-no-data", "metrics-missing"))
    asks = asks and migration.waiting_for != "pattern-approval"
    return {
        "start": "It was started already.",
        "pause": back or ("It is held already." if held else ""),
        "resume": back or ("" if held or migration.state == State.FROZEN else "It is not held."),
        "approve": "" if asks else "It asks for nothing now.",
        "roll_back": back or _past_return(migration),
        "freeze": back or ("It is held already." if held else ""),
        "leave": back,
        "retire": "" if migration.waiting_for == "retire" else "It does not ask for that now.",
        "retry": back,
    }


def _past_return(migration: Migration) -> str:
    gone = (Phase.RETIRING.value, Phase.RETIRED.value)
    if migration.workloads.filter(phase__in=gone).exists():
        return "The old path is being retired: there is no way back."
    return ""


def _back(migration: Migration, rows: list[Workload]) -> dict[str, Any]:
    """Could we go back now, and how long would it take?"""
    moves = [row for row in rows if row.deployment_id and row.phase not in MOVE_ENDS]
    short = [
        row.name
        for row in moves
        if row.deployment is not None
        and _ready({one.name: one for one in row.deployment.pools.all()}.get(row.old_pool))
        < row.replicas
    ]
    drill = migration.drills.exclude(seconds=None).first()
    if migration.is_over:
        took = None
        if migration.rollback_began_at and migration.rollback_ended_at:
            took = (migration.rollback_ended_at - migration.rollback_began_at).total_seconds()
        return {"possible": False, "why": "It is over.", "took": took, "drill": drill}
    why = _past_return(migration)
    if not why and short:
        why = f"First the old pool of {', '.join(short)} must be ready again; that is done for you."
    going = any(row.phase in BACKWARD for row in rows)
    return {"possible": not _past_return(migration), "why": why, "drill": drill, "going": going}
