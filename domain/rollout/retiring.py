"""After everything moved: the recovery drill, the question, and the end of the old path."""

from datetime import datetime, timedelta

from domain.rollout.actions import PLATFORM, Action, Kind, Side, wait
from domain.rollout.seen import MoveSeen, Plan, Seen
from domain.rollout.words import Phase, State


def retiring(plan: Plan, seen: Seen, now: datetime) -> Action:
    """The next step once every move stands at 100 %."""
    if seen.conversion:
        return wait("node-conversion", seen.conversion, owner=PLATFORM)
    moved = [move for move in seen.moves if move.phase is Phase.MOVED]
    if plan.settings.drill and moved and not seen.wishes.skip_drill:
        action = _drill(plan, seen, moved[0], now)
        if action is not None:
            return action
    if moved and not seen.wishes.retire:
        text = "Everything runs on the new path and the way back is open. Retire the old path?"
        return wait("retire", text, owner=moved[0].owner or PLATFORM)
    for move in seen.moves:
        if move.phase is Phase.MOVED:
            return _begin(move)
        if move.phase is Phase.RETIRING:
            return _retire(move)
    return Action(kind=Kind.END, state=State.DONE, reason="The old path is retired.")


def _begin(move: MoveSeen) -> Action:
    if not _may_stand_alone(move):
        text = f"{move.name}: the new pool must have {move.replicas} ready servers first"
        return wait("new-capacity", text, owner=PLATFORM, move=move.key)
    text = f"{move.name}: the old pool goes"
    return Action(kind=Kind.ADVANCE, move=move.key, phase=Phase.RETIRING, reason=text)


def _may_stand_alone(move: MoveSeen) -> bool:
    return move.new.weight == 100 and (move.new.ready or 0) >= move.replicas


def _retire(move: MoveSeen) -> Action:
    if not move.old.exists:
        text = f"{move.name}: the old pool is gone"
        return Action(kind=Kind.ADVANCE, move=move.key, phase=Phase.RETIRED, reason=text)
    if not _may_stand_alone(move):
        text = f"{move.name}: the new pool must have {move.replicas} ready servers first"
        return wait("new-capacity", text, owner=PLATFORM, move=move.key)
    if move.old.going:
        text = f"{move.name}: something of the old pool is left in the cluster. {move.old.problem}"
        return wait("pool-gone", text.strip(), owner=PLATFORM, move=move.key)
    text = f"{move.name}: remove the old pool"
    return Action(kind=Kind.REMOVE_POOL, move=move.key, side=Side.OLD, reason=text)


def _drill(plan: Plan, seen: Seen, move: MoveSeen, now: datetime) -> Action | None:
    """A timed rehearsal with real requests: everything back to the old pool and forth again."""
    drill = seen.drill
    if drill.state == "passed":
        return None
    if drill.state == "failed":
        text = f"The recovery drill of {move.name} failed: repeat it, or roll back."
        return wait("drill-failed", text, owner=PLATFORM, move=move.key)
    if drill.state != "running":
        text = f"{move.name}: rehearse the way back, timed, before the old path may retire"
        return Action(kind=Kind.DRILL, move=move.key, drill="back", reason=text)
    weight = 0 if drill.step == "back" else 100
    if action := _drill_weight(move, weight):
        return action
    if move.share_follows or move.is_idle:
        then = "forth" if drill.step == "back" else "passed"
        text = f"{move.name}: the drill's way {drill.step} is confirmed"
        return Action(kind=Kind.DRILL, move=move.key, drill=then, reason=text)
    late = timedelta(seconds=plan.settings.ready_seconds)
    if drill.started_at is not None and now - drill.started_at > late and drill.step == "forth":
        text = f"{move.name}: the measured share did not follow in time"
        return Action(kind=Kind.DRILL, move=move.key, drill="failed", reason=text)
    text = f"{move.name}: drill, way {drill.step}: the measured share does not agree yet"
    return wait("drill", text, move=move.key)


def _drill_weight(move: MoveSeen, weight: int) -> Action | None:
    """Move the weight if the pool that is to get it has what the plan accepted."""
    if move.new.weight == weight:
        return None
    target = move.old if weight == 0 else move.new
    if target.wanted < move.replicas:
        side = Side.OLD if weight == 0 else Side.NEW
        text = f"{move.name}: {move.replicas} replicas for the drill"
        return Action(
            kind=Kind.SCALE, move=move.key, side=side, replicas=move.replicas, reason=text
        )
    if (target.ready or 0) < move.replicas:
        text = f"{move.name}: {target.ready or 0} of {move.replicas} are ready for the drill. "
        text += target.problem
        return wait("drill", text.strip(), owner=PLATFORM, move=move.key)
    where = "old" if weight == 0 else "new"
    text = f"{move.name}: drill, all requests to the {where} pool"
    return Action(kind=Kind.WEIGH, move=move.key, weight=weight, reason=text)
