"""What holds whatever happens: the properties of the decision, on random histories."""

from dataclasses import replace
from datetime import timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from domain.figures import State as FigureState
from domain.rollout.actions import Kind
from domain.rollout.deciding import decide
from domain.rollout.seen import Plan
from domain.rollout.words import ENDS, Phase, State
from tests.domain.rollout.world import ASKS, GOOD, Move, Pool, World, live, none, quick

BAD = (live(0.5), live(0.1))
BLIND = (none(FigureState.TARGET_DOWN), none(FigureState.TARGET_DOWN))
EVENTS = (
    "quiet",
    "slow",
    "blind",
    "fine",
    "no-traffic",
    "traffic",
    "uncounted",
    "counted",
    "new-lost",
    "new-all-lost",
    "old-lost",
    "never-ready",
    "ready-again",
    "held",
    "free",
    "away",
    "back",
    "pause",
    "resume",
    "freeze",
    "release",
    "edit",
    "mend",
    "retire",
    "roll-back",
)
histories = st.lists(st.sampled_from(EVENTS), max_size=40)
capacities = st.sampled_from(["full", "by-weight"])


def world(capacity: str, moves: int) -> World:
    rows = [Move(f"m{number}", wave=number, replicas=2 + number) for number in range(moves)]
    for row in rows:
        row.old.wanted = row.old.ready = row.replicas
    return World(settings=quick(capacity=capacity), figures=dict(GOOD), moves=rows)


def happen(at: World, event: str) -> None:
    """One turn of fate."""
    figures = {"slow": BAD, "blind": BLIND, "fine": GOOD["ttft"]}
    if event in figures:
        at.figures["ttft"] = figures[event]
    elif event in ("no-traffic", "traffic"):
        at.traffic = 0.0 if event == "no-traffic" else 1000.0
    elif event in ("uncounted", "counted"):
        at.counted = event == "counted"
    elif event in ("held", "free"):
        at.held = "All writes are stopped." if event == "held" else ""
    elif event in ("away", "back"):
        at.away = "The cluster is not heard." if event == "away" else ""
    elif event in WISHES:
        at.wishes = replace(at.wishes, **WISHES[event])  # type: ignore[arg-type]
        if event == "resume" and at.state is State.FROZEN:
            at.state = State.RUNNING
    else:
        for move in at.moves:
            _to_move(event, move)


WISHES: dict[str, dict[str, object]] = {
    "pause": {"paused": True},
    "resume": {"paused": False, "frozen": False},
    "freeze": {"frozen": True},
    "roll-back": {"rollback": "a person wanted it"},
}


def _to_move(event: str, move: Move) -> None:
    if event == "new-lost" and move.new.ready:
        move.new.ready -= 1
    elif event == "new-all-lost":
        move.new.ready = 0
    elif event == "old-lost" and move.old.ready:
        move.old.ready -= 1
    elif event == "never-ready":
        move.new.ready_in = move.old.ready_in = None
    elif event == "ready-again":
        move.new.ready_in = move.old.ready_in = 2
    elif event == "release":
        move.released = move.phase in (Phase.WARMING, Phase.WEIGHING)
    elif event in ("edit", "mend"):
        move.edited = "somebody changed HTTPRoute chat" if event == "edit" else ""


def live_through(at: World, history: list[str]) -> None:
    for event in history:
        if at.state in ENDS:
            return
        if event == "retire" and at.log and at.log[-1].waiting_for == "retire":
            at.wishes = replace(at.wishes, retire=True)
        happen(at, event)
        at.now += timedelta(seconds=5)
        at.look()


def all_good(at: World) -> None:
    for event in ("fine", "traffic", "counted", "ready-again", "free", "back", "mend"):
        happen(at, event)


ROOM = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)


@ROOM
@given(history=histories, capacity=capacities, moves=st.integers(1, 3))
def test_it_never_does_what_it_must_not_and_every_wait_is_named(
    history: list[str], capacity: str, moves: int
) -> None:
    """No weight to a pool that is not ready, no capacity taken, nothing done while it is held."""
    at = world(capacity, moves)
    live_through(at, history)
    last = at.log[-1] if at.log else None
    assert last is None or last.kind is not Kind.WAIT or (last.waiting_for and last.owner)


@ROOM
@given(history=histories, capacity=capacities, moves=st.integers(1, 3))
def test_it_ends_or_asks_once_nothing_is_in_its_way(
    history: list[str], capacity: str, moves: int
) -> None:
    at = world(capacity, moves)
    live_through(at, history)
    all_good(at)
    last = at.run(100)
    assert at.state in ENDS or last.waiting_for in ASKS, last


@ROOM
@given(history=histories, capacity=capacities, moves=st.integers(1, 3))
def test_every_state_before_retiring_has_a_way_back(
    history: list[str], capacity: str, moves: int
) -> None:
    at = world(capacity, moves)
    live_through(at, history)
    if at.state in ENDS or any(one.phase in (Phase.RETIRING, Phase.RETIRED) for one in at.moves):
        return
    all_good(at)
    happen(at, "roll-back")
    at.run(100)
    assert at.state is State.ROLLED_BACK
    for move in at.moves:
        assert move.phase is Phase.BACK
        assert move.old.weight == 100
        assert move.old.wanted >= move.replicas
        assert not move.new.exists


@ROOM
@given(history=histories, capacity=capacities)
def test_deciding_twice_on_the_same_is_the_same(history: list[str], capacity: str) -> None:
    """A crash before an action was carried out, and the next run, come to the same action."""
    at = world(capacity, 1)
    live_through(at, history)
    plan, seen = Plan(at.settings, at.waves), at.seen()
    assert decide(plan, seen, at.now) == decide(plan, seen, at.now)


@ROOM
@given(dies_at=st.frozensets(st.integers(1, 60), max_size=30), regress=st.booleans())
def test_a_worker_killed_at_any_decision_comes_to_the_same_end(
    dies_at: frozenset[int], regress: bool
) -> None:
    ends = []
    for deaths in (frozenset[int](), dies_at):
        at = world("full", 2)
        at.dies_at = deaths
        if regress:
            at.figures["ttft"] = BAD
        at.run(150)
        at.dies_at = frozenset()
        last = at.run(20)
        pools = [(one.phase, one.old.exists, one.new.exists, one.new.weight) for one in at.moves]
        ends.append((at.state, last.waiting_for, pools))
    assert ends[0] == ends[1]


def test_a_pool_that_lost_all_its_servers_takes_nothing_further() -> None:
    at = world("full", 1)
    while at.moves[0].new.weight != 25:
        at.now += timedelta(seconds=5)
        at.look()
    at.moves[0].new = Pool(wanted=2, ready=0, weight=25, ready_in=None)
    at.look()
    assert at.state is State.ROLLING_BACK
    assert at.moves[0].new.weight == 0
