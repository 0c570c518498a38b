"""The way back: old capacity ready, weight back, measured share confirmed, drained, removed.

In this order, because each other one has been an outage somewhere (Argo Rollouts #3372, #2050,
#4926; Flagger #869, #635). A step that cannot be done is waited for, by name, and tried again.
"""

from datetime import datetime, timedelta

from domain.rollout.actions import PLATFORM, Action, Kind, Side, wait
from domain.rollout.seen import MoveSeen, Plan
from domain.rollout.words import Phase

#: Streams that do not end hold a drain no longer than so many times its seconds.
MOST_DRAINS = 10


def backward(plan: Plan, move: MoveSeen, now: datetime) -> Action:
    """The next step back of one move, or what it waits for."""
    if move.phase is Phase.RESTORING:
        return _restoring(move)
    if move.phase is Phase.RETURNING:
        return _returning(move)
    if move.phase is Phase.DRAINING:
        return _draining(plan, move, now)
    return _removing(move)


def may_take_all(move: MoveSeen) -> bool:
    """Whether the old pool can take every request now: it has what the plan accepted, or the new
    pool has nothing ready, so that less is better than nothing.
    """
    if not move.old.ready:
        return False
    return move.old.ready >= move.replicas or (move.new.ready == 0 and move.new.weight > 0)


def _restoring(move: MoveSeen) -> Action:
    if move.old.wanted < move.replicas:
        text = f"{move.name}: {move.replicas} replicas of the old pool before its weight comes back"
        return Action(
            kind=Kind.SCALE, move=move.key, side=Side.OLD, replicas=move.replicas, reason=text
        )
    if move.new.weight == 0 and move.step_since is None:
        return _to(move, Phase.REMOVING, f"{move.name}: the new pool never got a request")
    if move.new.weight == 0 or may_take_all(move):
        text = f"{move.name}: the old pool can take everything"
        if move.new.weight == 0:
            text = f"{move.name}: the new pool has no weight"
        return _to(move, Phase.RETURNING, text)
    known = "an unknown number" if move.old.ready is None else str(move.old.ready)
    text = (
        f"{move.name}: {known} of {move.replicas} old servers are ready, so the weight stays. "
        f"{move.old.problem}"
    )
    return wait("old-capacity", text.strip(), owner=PLATFORM, move=move.key)


def _returning(move: MoveSeen) -> Action:
    if move.new.weight != 0:
        if not may_take_all(move):
            return _to(move, Phase.RESTORING, f"{move.name}: the old pool lost servers again")
        text = f"{move.name}: all requests back to the old pool"
        return Action(kind=Kind.WEIGH, move=move.key, weight=0, reason=text)
    if not move.old.settled:
        text = f"{move.name}: the cluster has not taken the weights yet. {move.old.problem}"
        return wait("route-applied", text.strip(), owner=PLATFORM, move=move.key)
    if move.edited:
        text = f"{move.name}: {move.edited}. The weights cannot be trusted until that is put back."
        return wait("route-edited", text, owner=PLATFORM, move=move.key)
    if move.share_follows or move.is_idle:
        how = "nobody asks anything" if move.is_idle else "the measured share agrees"
        return _to(move, Phase.DRAINING, f"{move.name}: {how}; the new pool drains")
    text = f"{move.name}: that no request reaches the new pool is not confirmed yet"
    if move.share is not None and move.share.detail:
        text += f" ({move.share.detail})"
    return wait("measured-share", text, owner=PLATFORM, move=move.key)


def _draining(plan: Plan, move: MoveSeen, now: datetime) -> Action:
    seconds = plan.settings.drain_seconds
    waited = now - move.phase_since if move.phase_since is not None else timedelta(0)
    running = "" if move.new.running is None else f", {move.new.running:.0f} requests run"
    if waited <= timedelta(seconds=seconds):
        return wait("drain", f"{move.name}: drains for {seconds} s{running}", move=move.key)
    if move.new.running and waited <= timedelta(seconds=seconds * MOST_DRAINS):
        text = f"{move.name}: its streams finish{running}, for {seconds * MOST_DRAINS} s at most"
        return wait("drain", text, move=move.key)
    return _to(move, Phase.REMOVING, f"{move.name}: drained")


def _removing(move: MoveSeen) -> Action:
    if not move.new.exists:
        return _to(move, Phase.BACK, f"{move.name}: is as it was before")
    if move.new.weight != 0:
        return _to(move, Phase.RESTORING, f"{move.name}: the new pool got weight again")
    if move.new.going:
        text = f"{move.name}: something of the new pool is left in the cluster. {move.new.problem}"
        return wait("pool-gone", text.strip(), owner=PLATFORM, move=move.key)
    return Action(
        kind=Kind.REMOVE_POOL,
        move=move.key,
        side=Side.NEW,
        reason=f"{move.name}: remove the new pool",
    )


def _to(move: MoveSeen, phase: Phase, reason: str) -> Action:
    return Action(kind=Kind.ADVANCE, move=move.key, phase=phase, reason=reason)
