"""One thing that happens to a migration, and where it has to end."""

from collections.abc import Callable
from dataclasses import dataclass

from domain.figures import Figure
from domain.gates import Verdict
from domain.rollout.words import State
from tests.domain.rollout.world import World


@dataclass(frozen=True)
class Scenario:
    """`happens` is called before each look, with the number of looks since the first weight.

    `ends` is the state it comes to, `waits` what it waits for then ("" when it is over), `verdict`
    one that a gate must have given, `weight` that of the new pool in the end.
    """

    name: str
    happens: Callable[[World, int], None]
    ends: State
    waits: str = ""
    verdict: Verdict | None = None
    why: str = ""
    weight: int = 0


def figures(**given: tuple[Figure, Figure]) -> Callable[[World, int], None]:
    def happen(world: World, looks: int) -> None:
        world.figures |= given

    return happen
