from datetime import datetime, timedelta

import pytest

from domain.gates import Gate
from domain.rollout.actions import Kind
from domain.rollout.words import ENDS, Phase, State
from tests.domain.rollout.scenario import Scenario
from tests.domain.rollout.scenarios import TABLE
from tests.domain.rollout.world import ERRORS, GATE, World, live, quick

MORE = (
    Gate(name="cache-hit", metric="cache_hit", ratio_at_least=0.85, window_seconds=5),
    Gate(name="unschedulable", metric="alloc_failures", at_most=0, window_seconds=5),
    Gate(name="pending-p95", metric="pending", statistic="p95", at_most=60, window_seconds=5),
)
FINE = {
    "ttft": (live(0.1), live(0.1)),
    "errors": (live(0.0), live(0.0)),
    "cache_hit": (live(0.8), live(0.8)),
    "alloc_failures": (live(0.0), live(0.0)),
    "pending": (live(4.0), live(4.0)),
}


def play(scenario: Scenario) -> World:
    """Sweep until it is over, or has waited for the same person for a long time."""
    world = World(settings=quick(gates=(GATE, ERRORS, *MORE)), figures=dict(FINE))
    looks = 0
    for _ in range(300):
        looks += world.moves[0].new.weight > 0
        scenario.happens(world, looks)
        action = world.look()
        still = [one.waiting_for for one in world.log[-40:]]
        if world.state in ENDS or (len(set(still)) == 1 and len(still) == 40):
            break
        if (
            action.kind is Kind.WAIT
            and action.waiting_for == "retire"
            and still[-3:-1]
            == [
                "retire",
                "retire",
            ]
        ):
            break
        world.now += timedelta(seconds=5)
    return world


@pytest.mark.parametrize("scenario", TABLE, ids=lambda one: one.name)
def test_each_scenario_ends_where_the_table_says(scenario: Scenario) -> None:
    world = play(scenario)
    last = world.log[-1]
    assert (world.state, last.waiting_for) == (scenario.ends, scenario.waits), last.reason
    assert world.moves[0].new.weight == scenario.weight
    told = [action.reason for action in world.log if action.kind is Kind.ROLL_BACK]
    assert bool(told) == (scenario.ends in (State.ROLLED_BACK, State.ROLLING_BACK))
    assert scenario.why in "".join(told)
    verdicts = {one[0] for held in world.moves[0].samples.values() for one in held}
    assert scenario.verdict is None or scenario.verdict in verdicts


def test_the_warm_up_is_not_judged() -> None:
    cold = next(one for one in TABLE if one.name == "a cold canary")
    world = play(cold)
    phases = [action.phase for action in world.log if action.kind is Kind.ADVANCE]
    assert phases.index(Phase.WARMING) < phases.index(Phase.WEIGHING)
    assert all(one[0] == "pass" for one in world.moves[0].samples["ttft-p95"])


def going_back() -> World:
    """A regression that is found at the first step."""
    settings = quick(drain_seconds=30, gates=(GATE,))
    return World(settings=settings, figures={"ttft": (live(0.2), live(0.1))})


def test_weight_goes_first_then_streams_finish_then_the_pool_goes() -> None:
    """A backend that is removed while it has streams cuts them all."""
    world = going_back()
    acts: list[tuple[object, datetime]] = []
    while world.state not in ENDS:
        before = len(world.log)
        world.look()
        acts += [
            (one.phase or one.kind, world.now)
            for one in world.log[before:]
            if one.kind is not Kind.WAIT
        ]
        world.now += timedelta(seconds=5)
    names = [name for name, _ in acts]
    back = acts[names.index(Kind.ROLL_BACK) :]
    wanted = [Kind.ROLL_BACK, Phase.RETURNING, Kind.WEIGH, Phase.DRAINING, Phase.REMOVING]
    assert [name for name, _ in back] == [*wanted, Kind.REMOVE_POOL, Phase.BACK, Kind.END]
    when = dict(back)
    drained = when[Kind.REMOVE_POOL] - when[Phase.DRAINING]
    assert timedelta(seconds=30) < drained <= timedelta(seconds=40)


@pytest.mark.parametrize(
    ("ends_after", "least", "most"),
    [(0, 30, 40), (60, 60, 75), (10_000, 300, 315)],
    ids=["none in flight", "a long stream", "a stream without end"],
)
def test_streams_hold_the_drain_but_not_for_ever(ends_after: int, least: int, most: int) -> None:
    world = going_back()
    since = None
    while world.state not in ENDS:
        if world.moves[0].phase is Phase.DRAINING:
            since = since or world.now
            is_open = world.now - since < timedelta(seconds=ends_after)
            world.moves[0].new.running = float(is_open)
        world.look()
        world.now += timedelta(seconds=5)
    assert since is not None
    assert timedelta(seconds=least) < world.now - since <= timedelta(seconds=most)
