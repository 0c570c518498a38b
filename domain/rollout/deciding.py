"""decide(): from what is seen to the one next action. Pure, so that a crash, a second run or a late
one comes to the same end; and recorded, so that anybody can read why.
"""

from collections.abc import Iterable
from datetime import datetime

from domain.rollout.actions import PLATFORM, Action, Kind, wait
from domain.rollout.backward import backward
from domain.rollout.forward import begin, forward, hooked, trouble
from domain.rollout.retiring import retiring
from domain.rollout.seen import MoveSeen, Plan, Seen
from domain.rollout.words import BACKWARD, ENDS, MOVE_ENDS, Phase, Stage, State

PAST_RETURN = frozenset({Phase.RETIRING, Phase.RETIRED})


def decide(plan: Plan, seen: Seen, now: datetime) -> Action:
    """The next action of a migration, with its reason.

    Safety comes first: a breach is acted on in every state, whoever it waits for. Then what nobody
    may act against (no writes, no cluster), then the way back, then people's wishes, then stages.
    """
    if seen.state in ENDS:
        return Action(kind=Kind.NOTHING, reason="It is over.")
    if seen.wishes.leave and seen.state is not State.ROLLING_BACK:
        text = "Left as it is: pools and weights stay, and nothing more is done."
        return Action(kind=Kind.END, state=State.LEFT, reason=text)
    if action := _safety(plan, seen, now):
        return action
    rolling = seen.state is State.ROLLING_BACK
    if seen.held and (rolling or seen.stage in (Stage.CANARY, Stage.EXPAND)):
        loud = "THE ROLLBACK IS HELD: " if rolling else ""
        return wait("writes-stopped", f"{loud}{seen.held}", owner="platform admin")
    if seen.away and (rolling or seen.stage in (Stage.CANARY, Stage.EXPAND)):
        return wait("cluster-away", seen.away, owner=PLATFORM)
    if rolling:
        return _going_back(plan, seen, now)
    if seen.state is State.FROZEN or seen.wishes.frozen:
        return wait("frozen", seen.reason or "Frozen by a person.", owner=PLATFORM)
    if seen.wishes.paused:
        return wait("paused", "Paused by a person; gates are judged on.", owner=PLATFORM)
    return _STAGES[seen.stage](plan, seen, now)


def _safety(plan: Plan, seen: Seen, now: datetime) -> Action | None:
    """Whatever ends in going back or freezing, from every state before the old path retires."""
    if seen.state is State.ROLLING_BACK or _is_past_return(seen):
        return None
    if seen.wishes.rollback:
        return Action(kind=Kind.ROLL_BACK, reason=seen.wishes.rollback)
    if seen.state is State.FROZEN or seen.drill.state == "running":
        found = (_lost(move) for move in seen.moves)
    else:
        found = (trouble(plan, move, now) for move in seen.moves)
    why = next((text for text in found if text), "")
    if not why:
        return None
    if plan.settings.on_breach == "freeze" and seen.state is not State.FROZEN:
        return Action(kind=Kind.FREEZE, reason=why)
    return Action(kind=Kind.ROLL_BACK, reason=why)


def _lost(move: MoveSeen) -> str:
    """Frozen or rehearsing, only a pool that serves nobody is worse than standing still."""
    if move.phase in (Phase.WEIGHING, Phase.MOVED) and move.new.weight and move.new.ready == 0:
        return f"no server of the new pool of {move.name} is ready: {move.new.problem}"
    return ""


def _is_past_return(seen: Seen) -> bool:
    return any(move.phase in PAST_RETURN for move in seen.moves)


def _going_back(plan: Plan, seen: Seen, now: datetime) -> Action:
    action = hooked(plan, seen, "rollback", "start", None)
    if action is not None and action.kind is Kind.CALL:
        return action
    under_way = [move for move in seen.moves if move.phase in BACKWARD]
    if not under_way:
        text = "Everything is as it was before."
        return Action(kind=Kind.END, state=State.ROLLED_BACK, reason=text)
    return _first(backward(plan, move, now) for move in under_way)


#: When several moves wait, the migration shows the one that wants somebody soonest.
_URGENT = ("old-capacity", "route-edited", "new-capacity", "measured-share", "no-data")


def _first(actions: Iterable[Action]) -> Action:
    """The first that does something; else the most urgent wait."""
    waits = []
    for action in actions:
        if action.kind is not Kind.WAIT:
            return action
        waits.append(action)
    return min(
        waits,
        key=lambda one: _URGENT.index(one.waiting_for) if one.waiting_for in _URGENT else 99,
    )


def _enter(seen: Seen, plan: Plan, stage: Stage, reason: str) -> Action:
    """Begin the next stage, if a person has to agree and did, or need not."""
    if stage in plan.settings.approvals and stage.value not in seen.wishes.approved:
        return wait("stage-approval", f"{reason} Begin the stage {stage.value}?", owner=PLATFORM)
    return Action(kind=Kind.ENTER, stage=stage, reason=reason)


def _study(seen: Seen, kind: str, name: str) -> Action | None:
    """None when the look of a stage is done and leaves nothing open."""
    study = seen.studies.get(kind)
    if study is None or study.state in ("waiting", "running"):
        return wait(name, f"{name} is being looked at", owner="claimyard")
    if study.state == "failed":
        return wait(f"{name}-failed", study.summary or "It failed.", owner=PLATFORM)
    if study.open and f"accept:{kind}" not in seen.wishes.approved:
        return wait(f"{name}-open", study.summary, owner=PLATFORM)
    return None


def _inventory(plan: Plan, seen: Seen, now: datetime) -> Action:
    if action := _study(seen, "plan", "inventory"):
        return action
    if all(move.phase in MOVE_ENDS for move in seen.moves):
        text = "Nothing of the scope can move; each workload says why."
        return wait("nothing-to-move", text, owner=PLATFORM)
    return _enter(seen, plan, Stage.CLASSES, "The scope is known.")


def _classes(plan: Plan, seen: Seen, now: datetime) -> Action:
    if action := _study(seen, "preflight", "preflight"):
        return action
    for move in _to_move(seen):
        if not move.approved:
            text = f"{move.name}: its class and pattern must be approved and offered here first"
            return wait("pattern-approval", text, owner="approver", move=move.key)
        if move.unresolved and "accept:metrics" not in seen.wishes.approved:
            text = f"{move.name}: its servers do not tell of {', '.join(move.unresolved)}"
            return wait("metrics-missing", text, owner=PLATFORM, move=move.key)
    return _enter(seen, plan, Stage.SHADOW, "Classes and patterns are approved.")


def _shadow(plan: Plan, seen: Seen, now: datetime) -> Action:
    if action := _study(seen, "shadow", "shadow"):
        return action
    study = seen.studies["shadow"]
    if study.state == "no-data" and "accept:shadow" not in seen.wishes.approved:
        text = f"It could not be told whether everything fits: {study.summary}"
        return wait("shadow-no-data", text, owner=PLATFORM)
    action = _enter(seen, plan, Stage.CANARY, f"Shadow: {study.summary.rstrip('.') or 'all fits'}.")
    if action.kind is Kind.WAIT:
        return action
    return hooked(plan, seen, "confirm", "canary", None) or action


def _canary(plan: Plan, seen: Seen, now: datetime) -> Action:
    first = min((move.wave for move in _to_move(seen)), default=0)
    if action := _wave(plan, seen, first, now):
        return action
    return _enter(seen, plan, Stage.EXPAND, "The canary stands at 100 %.")


def _expand(plan: Plan, seen: Seen, now: datetime) -> Action:
    for number in sorted({move.wave for move in _to_move(seen)}):
        if action := _wave(plan, seen, number, now):
            return action
    return retiring(plan, seen, now)


def _to_move(seen: Seen) -> list[MoveSeen]:
    return [move for move in seen.moves if move.phase is not Phase.UNSUPPORTED]


def _wave(plan: Plan, seen: Seen, number: int, now: datetime) -> Action | None:
    """None when every move of the wave stands at 100 %."""
    moves = [move for move in _to_move(seen) if move.wave == number]
    under_way = [move for move in moves if move.is_under_way]
    waiting = [move for move in moves if move.phase is Phase.WAITING]
    actions = [forward(plan, seen, move, now) for move in under_way]
    found = _first(actions) if actions else None
    if found is not None and found.kind is not Kind.WAIT:
        return found
    if not waiting or len(under_way) >= plan.wave(number).concurrency:
        return found
    return found if plan.wave(number).blackout and found else _start(plan, number, waiting[0])


def _start(plan: Plan, number: int, move: MoveSeen) -> Action:
    if plan.wave(number).blackout:
        text = f"{move.name}: nothing new begins in these hours"
        return wait("blackout", text, owner="claimyard", move=move.key)
    if not move.old.exists:
        text = f"{move.name}: has no pool on the old path any more"
        return wait("old-capacity", text, owner=PLATFORM, move=move.key)
    if (move.old.ready or 0) < move.replicas:
        text = (
            f"{move.name}: {move.old.ready or 0} of {move.replicas} old servers are ready; "
            f"a move begins from a whole pool. {move.old.problem}"
        )
        return wait("old-capacity", text.strip(), owner=move.owner or PLATFORM, move=move.key)
    return begin(plan, move)


_STAGES = {
    Stage.INVENTORY: _inventory,
    Stage.CLASSES: _classes,
    Stage.SHADOW: _shadow,
    Stage.CANARY: _canary,
    Stage.EXPAND: _expand,
}
