"""What may go wrong on the way, and where it has to end: one table, read by the tests of the
decision and by those that run on rows.
"""

from collections.abc import Callable
from dataclasses import replace

from domain.figures import Figure
from domain.figures import State as FigureState
from domain.gates import Verdict
from domain.rollout.words import Phase, State
from tests.domain.rollout.scenario import Scenario, figures
from tests.domain.rollout.surprises import SURPRISES
from tests.domain.rollout.world import Move, World, live, none


def _cold(world: World, looks: int) -> None:
    """The first requests find an empty cache; what is slow for a while is not judged."""
    slow = looks < 3 and world.moves[0].phase is Phase.WARMING
    world.figures["ttft"] = (live(0.5 if slow else 0.1), live(0.1))


def _never_ready(world: World, looks: int) -> None:
    world.moves[0].new.ready_in = None


def _lost(world: World, looks: int) -> None:
    """One of two devices falls off the bus, and another one takes its place a while later."""
    if looks == 2:
        world.moves[0].new.ready, world.moves[0].new.ready_in = 1, 6


def _all_lost(world: World, looks: int) -> None:
    if looks == 2:
        world.moves[0].new.ready, world.moves[0].new.ready_in = 0, None


def _edited(world: World, looks: int) -> None:
    world.moves[0].edited = "somebody changed HTTPRoute chat in the cluster" if looks >= 1 else ""


def _edited_and_mended(world: World, looks: int) -> None:
    edited = 1 <= looks < 6
    world.moves[0].edited = "somebody changed HTTPRoute chat in the cluster" if edited else ""


def _released(world: World, looks: int) -> None:
    world.moves[0].released = looks == 2


def _idle(world: World, looks: int) -> None:
    if looks >= 1:
        world.traffic = 0.0


def _away_for(looks_away: int) -> Callable[[World, int], None]:
    def happen(world: World, looks: int) -> None:
        gone = 1 <= looks <= looks_away
        figure = none(FigureState.ERROR, "Prometheus does not answer") if gone else live(0.1)
        errors = none(FigureState.ERROR) if gone else live(0.0)
        world.figures |= {"ttft": (figure, figure), "errors": (errors, errors)}

    return happen


def _half_down(world: World, looks: int) -> None:
    half = Figure(0.1, FigureState.PARTIAL, "one server is down", known=1, total=2)
    if looks >= 1:
        world.figures["ttft"] = (half, live(0.1))


def _unreachable_going_back(world: World, looks: int) -> None:
    """The regression is found, then the cluster is gone for a while, then it is back."""
    world.figures["ttft"] = (live(0.2), live(0.1))
    if world.state is State.ROLLING_BACK:
        world.away = "The cluster is not heard." if _back_looks(world) < 8 else ""


def _back_looks(world: World) -> int:
    return sum(1 for action in world.log if action.waiting_for == "cluster-away")


def _stopped_going_back(world: World, looks: int) -> None:
    world.figures["ttft"] = (live(0.2), live(0.1))
    samples = [one[0] for one in world.moves[0].samples.get("ttft-p95", [])]
    world.held = "All writes are stopped." if Verdict.FAIL in samples else ""


def _old_lost_going_back(world: World, looks: int) -> None:
    """Servers of the old pool are gone when they are needed: weight stays until they are back."""
    world.figures["ttft"] = (live(0.2), live(0.1))
    move: Move = world.moves[0]
    if world.state is State.ROLLING_BACK and not hasattr(world, "lost"):
        world.lost = True  # type: ignore[attr-defined]
        move.old.ready, move.old.ready_in = 0, 5


def _person_while_waiting(world: World, looks: int) -> None:
    """A regression that comes while a person is asked whether the old path may go."""
    if world.log and world.log[-1].waiting_for == "retire":
        world.figures["errors"] = (live(0.02), live(0.0))


def _paused_and_bad(world: World, looks: int) -> None:
    if world.moves[0].phase is Phase.WEIGHING:
        world.wishes = replace(world.wishes, paused=True)
        world.figures["errors"] = (live(0.02), live(0.0))


GONE = none(FigureState.NOT_EXPORTED, "vllm:time_to_first_token_seconds is not there")
DOWN = none(FigureState.TARGET_DOWN, "no server was heard")

TABLE: tuple[Scenario, ...] = (
    Scenario("all is well", figures(), State.WAITING, "retire", Verdict.PASS, weight=100),
    Scenario(
        "TTFT p95 is 40 % worse",
        figures(ttft=(live(0.14), live(0.1))),
        State.ROLLED_BACK,
        verdict=Verdict.FAIL,
        why="ttft-p95",
    ),
    Scenario(
        "cache hit is 30 % lower",
        figures(cache_hit=(live(0.56), live(0.8))),
        State.ROLLED_BACK,
        verdict=Verdict.FAIL,
        why="cache-hit",
    ),
    Scenario(
        "2 % of requests fail",
        figures(errors=(live(0.02), live(0.0))),
        State.ROLLED_BACK,
        verdict=Verdict.FAIL,
        why="errors",
    ),
    Scenario(
        "claims are unschedulable",
        figures(alloc_failures=(live(3), live(0))),
        State.ROLLED_BACK,
        verdict=Verdict.FAIL,
        why="unschedulable",
    ),
    Scenario(
        "scheduling is slow",
        figures(pending=(live(95), live(4))),
        State.ROLLED_BACK,
        verdict=Verdict.FAIL,
        why="pending-p95",
    ),
    Scenario("no traffic", _idle, State.ROLLED_BACK, verdict=Verdict.NO_DATA, why="nothing could"),
    Scenario(
        "a metric was renamed",
        figures(ttft=(GONE, live(0.1))),
        State.ROLLED_BACK,
        verdict=Verdict.NO_DATA,
        why="not exported",
    ),
    Scenario(
        "/metrics is empty",
        figures(ttft=(GONE, GONE), errors=(GONE, GONE)),
        State.ROLLED_BACK,
        verdict=Verdict.NO_DATA,
        why="nothing could be judged",
    ),
    Scenario(
        "half of the targets are down",
        _half_down,
        State.ROLLED_BACK,
        verdict=Verdict.INCONCLUSIVE,
        why="1 of 2 servers told",
    ),
    Scenario(
        "all targets are down",
        figures(ttft=(DOWN, DOWN)),
        State.ROLLED_BACK,
        verdict=Verdict.NO_DATA,
        why="target down",
    ),
    Scenario(
        "Prometheus is away for twenty intervals",
        _away_for(20),
        State.WAITING,
        "retire",
        Verdict.ERROR,
        weight=100,
    ),
    Scenario(
        "Prometheus stays away",
        _away_for(1000),
        State.ROLLED_BACK,
        verdict=Verdict.ERROR,
        why="nothing could be judged",
    ),
    Scenario("a cold canary", _cold, State.WAITING, "retire", Verdict.PASS, weight=100),
    Scenario("the pool never gets ready", _never_ready, State.ROLLED_BACK, why="was not ready"),
    Scenario("a device is lost and replaced", _lost, State.WAITING, "retire", weight=100),
    Scenario("all devices are lost", _all_lost, State.ROLLED_BACK, why="no server of the new pool"),
    Scenario("somebody edits the HTTPRoute", _edited, State.WAITING, "route-edited", weight=25),
    Scenario(
        "somebody edits the HTTPRoute and mends it",
        _edited_and_mended,
        State.WAITING,
        "retire",
        weight=100,
    ),
    Scenario("a second release during the canary", _released, State.WAITING, "retire", weight=100),
    Scenario(
        "the cluster is unreachable during the rollback",
        _unreachable_going_back,
        State.ROLLED_BACK,
        verdict=Verdict.FAIL,
        why="ttft-p95",
    ),
    Scenario(
        "writes are stopped during the rollback",
        _stopped_going_back,
        State.ROLLING_BACK,
        "writes-stopped",
        Verdict.FAIL,
        weight=25,
    ),
    Scenario(
        "the old pool has lost its servers",
        _old_lost_going_back,
        State.ROLLED_BACK,
        verdict=Verdict.FAIL,
        why="ttft-p95",
    ),
    Scenario(
        "errors begin while a person is asked",
        _person_while_waiting,
        State.ROLLED_BACK,
        verdict=Verdict.FAIL,
        why="errors",
    ),
    Scenario(
        "errors begin during a pause",
        _paused_and_bad,
        State.ROLLED_BACK,
        verdict=Verdict.FAIL,
        why="errors",
    ),
    *SURPRISES,
)
