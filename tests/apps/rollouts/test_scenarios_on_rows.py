"""The table of scenarios once more, on rows: sampling, budgets, decisions and what carries them out
are those of the product; only what is measured is told.
"""

from datetime import timedelta

import pytest

from apps.deployments.models import Deployment
from apps.tenancy.models import User
from domain.rollout.words import ENDS, State
from tests.apps.rollouts.rowsworld import RowsWorld
from tests.domain.rollout.scenario import Scenario
from tests.domain.rollout.scenarios import TABLE
from tests.domain.rollout.test_rollout_scenarios import FINE, MORE
from tests.domain.rollout.world import ERRORS, GATE, quick

MOST_LOOKS = 120


def play(scenario: Scenario, world: RowsWorld) -> None:
    """Until it is over, or has waited as the table says for three looks."""
    looks, still = 0, 0
    for _ in range(MOST_LOOKS):
        looks += world.moves[0].new.weight > 0
        scenario.happens(world, looks)
        action = world.look()
        as_told = (world.state, action.waiting_for) == (scenario.ends, scenario.waits)
        still = still + 1 if as_told else 0
        if world.state in ENDS or still == 3:
            return
        world.now += timedelta(seconds=5)


@pytest.mark.parametrize("scenario", TABLE, ids=lambda one: one.name)
def test_each_scenario_ends_on_rows_where_the_table_says(
    scenario: Scenario, chat: Deployment, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = RowsWorld(settings=quick(gates=(GATE, ERRORS, *MORE)), figures=dict(FINE))
    world.begin(chat, admin, monkeypatch)
    play(scenario, world)
    last = world.log[-1]
    assert (world.state, last.waiting_for) == (scenario.ends, scenario.waits), last.reason
    assert world.moves[0].new.weight == scenario.weight
    cause = world.migration.cause
    assert bool(cause) == (scenario.ends in (State.ROLLED_BACK, State.ROLLING_BACK))
    assert scenario.why in cause
    verdicts = {one[0] for held in world.moves[0].samples.values() for one in held}
    assert scenario.verdict is None or scenario.verdict in verdicts
