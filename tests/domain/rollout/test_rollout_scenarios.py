from datetime import timedelta

import pytest

from domain.gates import Gate
from domain.rollout.actions import Kind
from domain.rollout.words import ENDS, Phase, State
from tests.domain.rollout.scenarios import TABLE, Scenario
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
