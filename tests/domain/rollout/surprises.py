"""What parts of a real data path do that nobody expects, as scenarios of the table: pickers,
gateways, streams, caches, and figures that are not what they seem.
"""

from collections.abc import Callable

from domain.figures import Figure
from domain.figures import State as FigureState
from domain.gates import Verdict
from domain.rollout.words import Phase, State
from tests.domain.rollout.scenario import Scenario, figures
from tests.domain.rollout.world import World, live, none


def _told_late(looks_until: int | None) -> Callable[[World, int], None]:
    """The gateway's controller says nothing of the newest weights for so long, or for ever."""

    def happen(world: World, looks: int) -> None:
        new = world.moves[0].new
        if looks == 1:
            new.untold = looks_until

    return happen


def _never_told_going_back(world: World, looks: int) -> None:
    world.figures["ttft"] = (live(0.2), live(0.1))
    verdicts = [one[0] for one in world.moves[0].samples.get("ttft-p95", [])]
    world.moves[0].old.untold = None if Verdict.FAIL in verdicts else 0


def _mirrored(world: World, looks: int) -> None:
    """Copies of requests reach the new pool, where they are counted as requests."""
    world.moves[0].copies = 300.0


def _picker_dead(world: World, looks: int) -> None:
    """The gateway's attempts tell the share, and that all of them failed; servers tell nothing."""
    if world.moves[0].phase is Phase.WEIGHING:
        idle = none(FigureState.NO_TRAFFIC, "no request in this time")
        refused = live(1.0, detail="the gateway sent 250 requests, and no server had one of them")
        world.figures |= {"ttft": (idle, live(0.1)), "errors": (refused, live(0.0))}


def _picker_dead_untold(world: World, looks: int) -> None:
    """The same where no gateway counts: the pool under test is silent."""
    if world.moves[0].phase is Phase.WEIGHING:
        idle = none(FigureState.NO_TRAFFIC, "no request in this time")
        world.figures |= {name: (idle, good) for name, (_, good) in world.figures.items()}


def _dead_but_ready(world: World, looks: int) -> None:
    """One of two servers refuses connections, its pod stays Ready and draws most requests."""
    if looks >= 2:
        half = Figure(0.1, FigureState.PARTIAL, "dra-1: connection refused", known=1, total=2)
        some = Figure(0.0, FigureState.PARTIAL, "dra-1: connection refused", known=1, total=2)
        world.figures |= {"ttft": (half, live(0.1)), "errors": (some, live(0.0))}


def _smaller(world: World, looks: int) -> None:
    """One of two new servers is away for a while: fewer prefixes fit, nothing got worse."""
    new, figures = world.moves[0].new, world.figures
    if world.moves[0].phase is Phase.WEIGHING and figures["cache_hit"][0].value == 0.8:
        if not world.moves[0].samples:
            new.ready, new.ready_in = 1, 8
            figures["cache_hit"] = (live(0.56), live(0.8))
    elif new.ready == 2:
        figures["cache_hit"] = (live(0.8), live(0.8))


def _released_and_bad(world: World, looks: int) -> None:
    """The second release is the bad one: back is to the old pool, whatever was tried since."""
    world.moves[0].released = looks == 2
    if looks >= 3:
        world.figures["errors"] = (live(0.02), live(0.0))


def _idle_at_first(world: World, looks: int) -> None:
    """An idle pool's figures are no good ones; they are waited for."""
    world.traffic = 0.0 if looks < 12 else 1000.0


def _reads_zero(world: World, looks: int) -> None:
    """The renamed counter is not there: what it counts is not zero."""
    zero = Figure(0.0, FigureState.NOT_EXPORTED, "names tried: http_requests_total")
    world.figures["errors"] = (zero, live(0.0))


def _not_a_number(world: World, looks: int) -> None:
    world.figures["errors"] = (live(float("nan")), live(0.0))


SURPRISES: tuple[Scenario, ...] = (
    Scenario("the route's status comes late", _told_late(5), State.WAITING, "retire", weight=100),
    Scenario(
        "the route's status never comes",
        _told_late(None),
        State.WAITING,
        "route-applied",
        weight=1,
    ),
    Scenario(
        "the route's status never comes during the rollback",
        _never_told_going_back,
        State.ROLLING_BACK,
        "route-applied",
        Verdict.FAIL,
        why="ttft-p95",
    ),
    Scenario(
        "copies of a mirror reach the new pool",
        _mirrored,
        State.WAITING,
        "measured-share",
        weight=25,
    ),
    Scenario(
        "the picker of the new pool is dead",
        _picker_dead,
        State.ROLLED_BACK,
        verdict=Verdict.FAIL,
        why="errors",
    ),
    Scenario(
        "the picker is dead and nobody counts what it refuses",
        _picker_dead_untold,
        State.ROLLED_BACK,
        verdict=Verdict.NO_DATA,
        why="nothing could be judged",
    ),
    Scenario(
        "a dead server stays Ready and draws requests",
        _dead_but_ready,
        State.ROLLED_BACK,
        verdict=Verdict.INCONCLUSIVE,
        why="1 of 2 servers told",
    ),
    Scenario(
        "a smaller pool hits its cache less often",
        _smaller,
        State.WAITING,
        "retire",
        Verdict.INCONCLUSIVE,
        weight=100,
    ),
    Scenario(
        "streams are cut and answered 200",
        figures(errors=(live(0.2, detail="finished_reason"), live(0.0))),
        State.ROLLED_BACK,
        verdict=Verdict.FAIL,
        why="errors",
    ),
    Scenario(
        "a second release is the bad one",
        _released_and_bad,
        State.ROLLED_BACK,
        verdict=Verdict.FAIL,
        why="errors",
    ),
    Scenario(
        "nobody asks anything for a while",
        _idle_at_first,
        State.WAITING,
        "retire",
        weight=100,
    ),
    Scenario(
        "an absent counter that reads as zero",
        _reads_zero,
        State.ROLLED_BACK,
        verdict=Verdict.NO_DATA,
        why="not exported",
    ),
    Scenario(
        "a figure is no number",
        _not_a_number,
        State.ROLLED_BACK,
        verdict=Verdict.NO_DATA,
        why="no number",
    ),
)
