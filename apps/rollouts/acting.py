"""Carrying one action out: the change of pools and the rows that say so, in one transaction.

A crash before it leaves nothing, a crash after it leaves everything; so the next run decides on
what is really there. Refusals of services are noted on the decision and waited for by name.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from apps.audit import services as audit
from apps.common.refusals import sentence
from apps.deployments import pools
from apps.deployments.models import ModelPool
from apps.rollouts import selectors, webhooks
from apps.rollouts.gathering import Gathered, release_of
from apps.rollouts.models import Decision, Drill, Migration, Workload
from domain.errors import DomainError, IllegalTransition
from domain.rollout.actions import Action, Kind, Side
from domain.rollout.words import FORWARD, Phase, State


def carry_out(migration: Migration, gathered: Gathered, action: Action, now: datetime) -> bool:
    """Do it and record it; False when a service refused. Safe to run twice."""
    try:
        with transaction.atomic():
            _HANDLERS[action.kind](migration, gathered, action, now)
            record(migration, action, now, seen=summary_of(gathered))
    except (DomainError, ValidationError) as refusal:
        record(migration, action, now, seen=summary_of(gathered), problem=sentence(refusal))
        _wait(migration, _refused(action, sentence(refusal)), now)
        return False
    return True


def _refused(action: Action, text: str) -> Action:
    reason = f"{action.reason}: {text}"
    return Action(kind=Kind.WAIT, waiting_for="refused", owner="platform team", reason=reason)


def _set(migration: Migration, now: datetime, **changes: Any) -> None:
    if "state" in changes and changes["state"] != migration.state:
        changes["state_since"] = now
    if "stage" in changes and changes["stage"] != migration.stage:
        changes["stage_since"] = now
    for name, value in changes.items():
        setattr(migration, name, value)
    Migration.objects.filter(pk=migration.pk).update(**changes, updated_at=now)


def _nothing(migration: Migration, gathered: Gathered, action: Action, now: datetime) -> None:
    """An ended migration stays as it is."""


def _waits(migration: Migration, gathered: Gathered, action: Action, now: datetime) -> None:
    _wait(migration, action, now)


def _wait(migration: Migration, action: Action, now: datetime) -> None:
    """A rollback that waits is a rollback still; a wait for ourselves is no more than running."""
    state: str = migration.state
    if state == State.ROLLING_BACK:
        pass
    elif action.waiting_for in ("paused", "frozen"):
        state = action.waiting_for
    elif action.owner == "claimyard":
        state = State.RUNNING
    else:
        state = State.WAITING
    wanted = {
        "state": state,
        "waiting_for": action.waiting_for,
        "owner": action.owner,
        "reason": action.reason,
    }
    if any(getattr(migration, name) != value for name, value in wanted.items()):
        _set(migration, now, **wanted)


def _runs(migration: Migration, now: datetime, reason: str, **changes: Any) -> None:
    if migration.state not in (State.ROLLING_BACK,):
        changes.setdefault("state", State.RUNNING)
    _set(migration, now, waiting_for="", owner="", reason=reason, **changes)


def _enter(migration: Migration, gathered: Gathered, action: Action, now: datetime) -> None:
    assert action.stage is not None
    _runs(migration, now, action.reason, stage=action.stage.value)


def _row(gathered: Gathered, action: Action) -> Workload:
    return gathered.moves[action.move]


def _pool(row: Workload, side: Side | None) -> ModelPool | None:
    assert row.deployment is not None
    name = row.old_pool if side is Side.OLD else row.new_pool
    return row.deployment.pools.select_related("deployment__tenant").filter(name=name).first()


def _add_pool(migration: Migration, gathered: Gathered, action: Action, now: datetime) -> None:
    row = _row(gathered, action)
    assert row.deployment is not None and row.pattern_version is not None
    held = selectors.open_move_of(row.deployment, besides=migration)
    if held is not None:
        raise IllegalTransition(f"{row.deployment} is moved by {held.migration} already.")
    pools.add_pool(
        actor=None,
        deployment=row.deployment,
        name=row.new_pool,
        path="dra",
        pattern_version=row.pattern_version,
        parameters=row.params,
        replicas=action.replicas,
    )
    if row.phase == Phase.WAITING:
        _phase(row, now, Phase.CAPACITY, began_at=now, release=release_of(row.deployment))
    _runs(migration, now, action.reason)


def _scale(migration: Migration, gathered: Gathered, action: Action, now: datetime) -> None:
    pool = _pool(_row(gathered, action), action.side)
    if pool is not None:
        pools.set_replicas(actor=None, pool=pool, replicas=action.replicas)
    _runs(migration, now, action.reason)


def _weigh(migration: Migration, gathered: Gathered, action: Action, now: datetime) -> None:
    row = _row(gathered, action)
    assert row.deployment is not None
    weights = {row.new_pool: action.weight, row.old_pool: 100 - action.weight}
    pools.set_weights(actor=None, deployment=row.deployment, weights=weights)
    _change(row, step_since=now)
    _runs(migration, now, action.reason)


def _remove_pool(migration: Migration, gathered: Gathered, action: Action, now: datetime) -> None:
    pool = _pool(_row(gathered, action), action.side)
    if pool is not None:
        pools.remove_pool(actor=None, pool=pool)
    _runs(migration, now, action.reason)


def _advance(migration: Migration, gathered: Gathered, action: Action, now: datetime) -> None:
    assert action.phase is not None
    row = _row(gathered, action)
    changes: dict[str, Any] = {}
    if action.phase in FORWARD:
        changes["step"] = action.step
    if row.step != action.step or action.phase is Phase.RETURNING:
        changes["step_since"] = now
    _phase(row, now, action.phase, **changes)
    _runs(migration, now, action.reason)


def _restart_step(migration: Migration, gathered: Gathered, action: Action, now: datetime) -> None:
    row = _row(gathered, action)
    assert row.deployment is not None
    _change(row, release=release_of(row.deployment), step_since=now)
    _runs(migration, now, action.reason)


def _call(migration: Migration, gathered: Gathered, action: Action, now: datetime) -> None:
    webhooks.put(migration, gathered.plan.settings, action.point, action.reason, now)
    _runs(migration, now, action.reason)


def _roll_back(migration: Migration, gathered: Gathered, action: Action, now: datetime) -> None:
    for row in gathered.moves.values():
        if row.phase in FORWARD:
            _phase(row, now, Phase.RESTORING)
        elif row.phase == Phase.WAITING:
            _phase(row, now, Phase.BACK)
    Drill.objects.filter(migration=migration, state=Drill.State.RUNNING).update(
        state=Drill.State.LEFT, finished_at=now, cause="The migration rolls back."
    )
    _set(
        migration,
        now,
        state=State.ROLLING_BACK.value,
        reason=action.reason,
        cause=action.reason,
        waiting_for="",
        owner="",
        rollback_began_at=now,
    )
    audit.record(actor=None, verb="rolls back", subject=migration, message=action.reason)


def _freeze(migration: Migration, gathered: Gathered, action: Action, now: datetime) -> None:
    wanted = migration.wanted | {"frozen": True}
    changes = {"reason": action.reason, "cause": action.reason}
    _set(migration, now, state=State.FROZEN.value, wanted=wanted, **changes)
    audit.record(actor=None, verb="froze", subject=migration, message=action.reason)


def _drill(migration: Migration, gathered: Gathered, action: Action, now: datetime) -> None:
    row = Drill.objects.filter(migration=migration, state=Drill.State.RUNNING).first()
    if action.drill == "back":
        row = Drill(migration=migration, step="back", started_at=now)
    elif row is None:
        return
    elif action.drill == "forth":
        row.step = "forth"
        row.seconds = (now - (row.started_at or now)).total_seconds()
    else:
        row.state, row.finished_at = action.drill, now
    row.log = [*row.log, {"at": now.isoformat(), "text": action.reason}]
    row.save()
    _change(_row(gathered, action), step_since=now)
    _runs(migration, now, action.reason)


def _end(migration: Migration, gathered: Gathered, action: Action, now: datetime) -> None:
    assert action.state is not None
    changes: dict[str, Any] = {"state": action.state.value, "ended_at": now, "waiting_for": ""}
    if action.state is State.ROLLED_BACK:
        changes["rollback_ended_at"] = now
    changes["reason"] = action.reason
    _set(migration, now, owner="", **changes)
    audit.record(actor=None, verb=f"ended {action.state}", subject=migration, message=action.reason)


def _phase(row: Workload, now: datetime, phase: Phase, **changes: Any) -> None:
    _change(row, phase=phase.value, phase_since=now, **changes)


def _change(row: Workload, **changes: Any) -> None:
    for name, value in changes.items():
        setattr(row, name, value)
    row.save(update_fields=[*changes, "updated_at"])


def record(
    migration: Migration,
    action: Action,
    now: datetime,
    *,
    seen: dict[str, Any],
    problem: str = "",
    actor_name: str = "claimyard",
) -> None:
    """Note a decision. The same wait again only counts up on the row that is there."""
    newest = migration.decisions.order_by("-id").first()
    same = newest is not None and (
        newest.action,
        newest.reason,
        newest.problem,
        newest.actor_name,
    ) == (action.kind.value, action.reason, problem, actor_name)
    if same and newest is not None:
        newest.times += 1
        newest.last_at, newest.seen = now, seen
        newest.save(update_fields=["times", "last_at", "seen"])
        return
    Decision.objects.create(
        migration=migration,
        workload_id=int(action.move) if action.move else None,
        at=now,
        last_at=now,
        actor_name=actor_name,
        action=action.kind.value,
        argument=action.argument(),
        reason=action.reason,
        stage=migration.stage,
        seen=seen,
        problem=problem,
    )


def summary_of(gathered: Gathered) -> dict[str, Any]:
    """What was seen, as it is kept with a decision."""
    seen = gathered.seen
    return {
        "stage": seen.stage.value,
        "state": seen.state.value,
        "held": seen.held,
        "away": seen.away,
        "moves": [
            {
                "name": move.name,
                "phase": move.phase.value,
                "step": move.step,
                "replicas": move.replicas,
                "old": [move.old.ready, move.old.wanted, move.old.weight],
                "new": [move.new.ready, move.new.wanted, move.new.weight],
                "share": move.share.value if move.share else None,
                "share_state": move.share.state.value if move.share else "",
                "requests": move.requests,
                "gates": {
                    one.gate: [one.verdict.value if one.verdict else None, one.reason]
                    for one in move.standings
                },
            }
            for move in seen.moves
            if move.phase not in (Phase.UNSUPPORTED, Phase.WAITING)
        ],
    }


_Handler = Callable[[Migration, Gathered, Action, datetime], None]
_HANDLERS: dict[Kind, _Handler] = {
    Kind.NOTHING: _nothing,
    Kind.WAIT: _waits,
    Kind.ENTER: _enter,
    Kind.ADD_POOL: _add_pool,
    Kind.SCALE: _scale,
    Kind.WEIGH: _weigh,
    Kind.REMOVE_POOL: _remove_pool,
    Kind.ADVANCE: _advance,
    Kind.RESTART_STEP: _restart_step,
    Kind.CALL: _call,
    Kind.ROLL_BACK: _roll_back,
    Kind.FREEZE: _freeze,
    Kind.DRILL: _drill,
    Kind.END: _end,
}
