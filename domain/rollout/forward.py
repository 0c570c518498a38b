"""A move on its way to the new pool: capacity first, then warm, then weight by steps."""

from datetime import datetime, timedelta

from domain.gates import Verdict
from domain.rollout.actions import PLATFORM, Action, Kind, Side, wait
from domain.rollout.seen import MoveSeen, Plan, Seen
from domain.rollout.settings import Step
from domain.rollout.words import Phase


def trouble(plan: Plan, move: MoveSeen, now: datetime) -> str:
    """Why this move has to go back; "" while it need not. Asked in every phase before retiring."""
    if move.phase not in (Phase.CAPACITY, Phase.WARMING, Phase.WEIGHING, Phase.MOVED):
        return ""
    if move.phase is Phase.CAPACITY and _late(move.phase_since, plan.settings.ready_seconds, now):
        return (
            f"the new pool of {move.name} was not ready within {plan.settings.ready_seconds} s: "
            f"{move.new.problem or 'no reason is known'}"
        )
    if move.phase is not Phase.CAPACITY and move.new.weight > 0 and move.new.ready == 0:
        return f"no server of the new pool of {move.name} is ready: {move.new.problem}"
    for one in move.standings:
        if one.breached:
            return f"{move.name}, gate {one.gate}: {one.reason}"
    return ""


def _late(since: datetime | None, seconds: int, now: datetime) -> bool:
    return since is not None and now - since > timedelta(seconds=seconds)


def begin(plan: Plan, move: MoveSeen) -> Action:
    """Make the new pool beside the old one, which goes on serving."""
    size = move.required(plan.settings, plan.settings.steps[0].weight)
    return Action(
        kind=Kind.ADD_POOL,
        move=move.key,
        replicas=size,
        reason=f"{move.name}: make the new pool with {size} of {move.replicas} replicas, no weight",
    )


def forward(plan: Plan, seen: Seen, move: MoveSeen, now: datetime) -> Action:
    """The next step of a move that is under way, or what it waits for."""
    if not move.new.exists:
        return begin(plan, move)
    if move.released:
        text = f"{move.name} was changed while it moves: this step is judged anew"
        return Action(kind=Kind.RESTART_STEP, move=move.key, reason=text)
    if move.phase is Phase.CAPACITY:
        return _capacity(plan, move)
    if move.phase is Phase.WARMING:
        return _warming(plan, move, now)
    return _weighing(plan, seen, move, now)


def _ready(plan: Plan, move: MoveSeen, weight: int) -> Action | None:
    """None when the new pool may get `weight`; else what makes it so, or the wait for it."""
    size = move.required(plan.settings, weight)
    if move.new.wanted < size:
        text = f"{move.name}: {size} replicas before {weight} % of the requests"
        return Action(kind=Kind.SCALE, move=move.key, side=Side.NEW, replicas=size, reason=text)
    if move.new.ready is None or move.new.ready < size:
        known = "an unknown number" if move.new.ready is None else str(move.new.ready)
        text = f"{move.name}: {known} of {size} new servers are ready. {move.new.problem}".strip()
        return wait("new-capacity", text, owner=move.owner or PLATFORM, move=move.key)
    if not move.new.settled:
        text = f"{move.name}: the cluster has not taken the newest change yet. {move.new.problem}"
        return wait("route-applied", text.strip(), owner=PLATFORM, move=move.key)
    return None


def _capacity(plan: Plan, move: MoveSeen) -> Action:
    if action := _ready(plan, move, plan.settings.warm_weight):
        return action
    return Action(
        kind=Kind.ADVANCE,
        move=move.key,
        phase=Phase.WARMING,
        reason=f"{move.name}: the new pool is loaded and ready",
    )


def _warming(plan: Plan, move: MoveSeen, now: datetime) -> Action:
    """A little traffic that is not judged: a cold cache is no regression."""
    settings = plan.settings
    if action := _ready(plan, move, settings.warm_weight):
        return action
    if move.new.weight != settings.warm_weight:
        text = f"{move.name}: {settings.warm_weight} % to warm up, not judged"
        return Action(kind=Kind.WEIGH, move=move.key, weight=settings.warm_weight, reason=text)
    if not _late(move.phase_since, settings.warm_seconds, now):
        return wait(
            "warm-up", f"{move.name}: warms up for {settings.warm_seconds} s", move=move.key
        )
    return Action(
        kind=Kind.ADVANCE,
        move=move.key,
        phase=Phase.WEIGHING,
        step=0,
        reason=f"{move.name}: warm",
    )


def _weighing(plan: Plan, seen: Seen, move: MoveSeen, now: datetime) -> Action:
    step = plan.settings.steps[min(move.step, len(plan.settings.steps) - 1)]
    if action := _ready(plan, move, step.weight):
        return action
    if action := hooked(plan, seen, "before", f"{move.key}:{move.step}", move):
        return action
    if move.new.weight != step.weight:
        text = f"{move.name}: step {move.step + 1}, {step.weight} % to the new pool"
        return Action(kind=Kind.WEIGH, move=move.key, weight=step.weight, reason=text)
    return (
        _share(move)
        or _gates(move)
        or _time(move, step, now)
        or hooked(plan, seen, "after", f"{move.key}:{move.step}", move)
        or _person(seen, move, step)
        or _next(plan, move)
    )


def _share(move: MoveSeen) -> Action | None:
    if move.edited:
        text = f"{move.name}: {move.edited}. Put it back, or roll back."
        return wait("route-edited", text, owner=move.owner or PLATFORM, move=move.key)
    if move.share_follows:
        return None
    if move.share_follows is None:
        detail = (
            "nothing is known"
            if move.share is None
            else move.share.state.words + (f" ({move.share.detail})" if move.share.detail else "")
        )
        text = f"{move.name}: the share of requests that the new pool gets is not known: {detail}"
        name = "no-traffic" if move.is_idle else "measured-share"
        return wait(name, text, owner=move.owner or PLATFORM, move=move.key)
    assert move.share is not None and move.share.value is not None and move.wished is not None
    text = (
        f"{move.name}: the new pool gets {move.share.value:.1%} of {move.requests:.0f} requests; "
        f"{move.wished:.0%} is wished"
    )
    return wait("measured-share", text, owner=PLATFORM, move=move.key)


_WAITS = {
    Verdict.NO_DATA: "no-data",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.ERROR: "metrics-error",
}


def _gates(move: MoveSeen) -> Action | None:
    for one in move.standings:
        if not one.ready:
            name = _WAITS.get(one.verdict, "gates") if one.verdict else "gates"
            owner = PLATFORM if name == "metrics-error" else move.owner or PLATFORM
            text = f"{move.name}, gate {one.gate}: {one.reason}"
            return wait(name, text, owner=owner if name != "gates" else "claimyard", move=move.key)
    return None


def _time(move: MoveSeen, step: Step, now: datetime) -> Action | None:
    if _late(move.step_since, step.hold_seconds, now):
        return None
    text = f"{move.name}: stays at {step.weight} % for {step.hold_seconds} s"
    return wait("step-time", text, move=move.key)


def _person(seen: Seen, move: MoveSeen, step: Step) -> Action | None:
    if not step.manual or f"step:{move.key}:{move.step}" in seen.wishes.approved:
        return None
    text = f"{move.name}: step {move.step + 1} ({step.weight} %) has passed and asks to go on"
    return wait("step-approval", text, owner=move.owner or PLATFORM, move=move.key)


def _next(plan: Plan, move: MoveSeen) -> Action:
    last = move.step + 1 >= len(plan.settings.steps)
    text = f"{move.name}: every gate passed"
    return Action(
        kind=Kind.ADVANCE,
        move=move.key,
        phase=Phase.MOVED if last else Phase.WEIGHING,
        step=move.step if last else move.step + 1,
        reason=text if not last else f"{text}; all requests go to the new pool",
    )


def hooked(plan: Plan, seen: Seen, point: str, key: str, move: MoveSeen | None) -> Action | None:
    """None when every webhook of this point agreed; else the call, or the wait for its answer."""
    for hook in plan.settings.hooks:
        if hook.point != point:
            continue
        name, whose = f"{hook.name}:{point}:{key}", move.key if move else ""
        state = seen.hooks.get(name, "")
        if state == "accepted":
            continue
        if not state:
            text = f"ask {hook.name} ({point})"
            return Action(kind=Kind.CALL, move=whose, point=name, reason=text)
        if state == "refused" and point in ("before", "after"):
            return Action(kind=Kind.ROLL_BACK, reason=f"webhook {hook.name} refused ({point})")
        text = f"webhook {hook.name} ({point}): {state}"
        return wait("webhook", text, owner=move.owner if move else PLATFORM, move=whose)
    return None
