"""What a decision rests on: the plan that was accepted, and what was seen just now."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from domain import routing
from domain.figures import Figure
from domain.figures import State as FigureState
from domain.gates import Standing
from domain.rollout.settings import Settings
from domain.rollout.words import Phase, Stage, State


@dataclass(frozen=True, slots=True)
class Wave:
    number: int
    concurrency: int = 1
    blackout: bool = False  # now


@dataclass(frozen=True, slots=True)
class Plan:
    settings: Settings
    waves: tuple[Wave, ...] = (Wave(0),)

    def wave(self, number: int) -> Wave:
        return next((one for one in self.waves if one.number == number), Wave(number))


@dataclass(frozen=True, slots=True)
class PoolSeen:
    """One pool as it is. `ready` None: not known. `problem`: the first condition that fails."""

    exists: bool = False
    wanted: int = 0
    ready: int | None = None
    weight: int = 0
    settled: bool = False  # its newest generation is applied in the cluster, its route accepted
    problem: str = ""
    running: float | None = None  # requests in flight
    going: bool = False  # asked to go; the cluster still has something of it


@dataclass(frozen=True, slots=True)
class MoveSeen:
    """One deployment on its way from `old` to `new`.

    `replicas` is the ready capacity that the plan accepted for it: no action may leave less.
    `share` is the measured part of requests that the new pool got since its weight last changed,
    `requests` how many there were on both sides together; `wished` what it should be.
    """

    key: str
    name: str
    phase: Phase
    replicas: int
    old: PoolSeen
    new: PoolSeen
    wave: int = 0
    owner: str = ""
    phase_since: datetime | None = None
    step: int = 0
    step_since: datetime | None = None
    approved: bool = True  # class and pattern
    unresolved: tuple[str, ...] = ()  # gates whose metrics the current pool does not have
    share: Figure | None = None
    wished: float | None = None
    requests: float = 0.0
    standings: tuple[Standing, ...] = ()
    released: bool = False  # somebody changed the deployment since the move began
    edited: str = ""  # what somebody changed in the cluster, such as its route

    @property
    def is_under_way(self) -> bool:
        return self.phase in (Phase.CAPACITY, Phase.WARMING, Phase.WEIGHING)

    def required(self, settings: Settings, weight: int) -> int:
        """How many replicas the new pool needs before it may get `weight` percent."""
        if settings.capacity == "full" or weight >= 100:
            return self.replicas
        return max(1, math.ceil(self.replicas * weight / 100))

    @property
    def share_follows(self) -> bool | None:
        """Whether the measured share is what the weight leads to; None: it cannot be told."""
        if self.share is None or self.share.value is None or self.wished is None:
            return None
        return routing.follows(self.wished, self.share.value, self.requests)

    @property
    def is_idle(self) -> bool:
        """Nobody sends anything to either pool, and that is known."""
        return self.share is not None and self.share.state is FigureState.NO_TRAFFIC


@dataclass(frozen=True, slots=True)
class StudySeen:
    """What a stage's look found. `open` counts what must be solved first."""

    state: str = "waiting"
    open: int = 0
    unknown: int = 0
    summary: str = ""


@dataclass(frozen=True, slots=True)
class DrillSeen:
    """`step` is back or forth; `confirmed` whether the measured share agrees with it."""

    state: str = ""
    step: str = ""
    started_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Wishes:
    """What people asked for."""

    approved: frozenset[str] = frozenset()
    paused: bool = False
    frozen: bool = False
    rollback: str = ""
    leave: bool = False
    retire: bool = False
    skip_drill: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """`held` says why nothing may be written (the switch, the mode); `away` why nothing is known of
    the cluster now. `hooks` maps "point:key" to waiting, accepted, refused or given-up.
    """

    stage: Stage
    state: State
    moves: tuple[MoveSeen, ...]
    wishes: Wishes = Wishes()
    held: str = ""
    away: str = ""
    studies: Mapping[str, StudySeen] = field(default_factory=dict)
    conversion: str = ""
    hooks: Mapping[str, str] = field(default_factory=dict)
    drill: DrillSeen = DrillSeen()
    reason: str = ""  # why it rolls back or was frozen
