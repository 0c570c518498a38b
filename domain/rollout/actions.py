"""What a decision may be. Every one is safe to carry out twice."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from domain.rollout.words import Phase, Stage, State


class Kind(StrEnum):
    NOTHING = "nothing"
    WAIT = "wait"
    ENTER = "enter-stage"
    ADD_POOL = "add-pool"
    SCALE = "scale"
    WEIGH = "set-weight"
    REMOVE_POOL = "remove-pool"
    ADVANCE = "advance"
    RESTART_STEP = "restart-step"
    CALL = "call-webhook"
    ROLL_BACK = "roll-back"
    FREEZE = "freeze"
    DRILL = "drill"
    END = "end"


class Side(StrEnum):
    OLD = "old"
    NEW = "new"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One step, with its reason for people. Which fields matter follows from `kind`.

    WAIT names `waiting_for` and `owner`, who can end it. WEIGH gives `weight` percent to the new
    pool and the rest to the old one.
    """

    kind: Kind
    reason: str
    move: str = ""
    stage: Stage | None = None
    state: State | None = None
    phase: Phase | None = None
    step: int = 0
    side: Side | None = None
    replicas: int = 0
    weight: int = 0
    waiting_for: str = ""
    owner: str = ""
    point: str = ""
    drill: str = ""

    def argument(self) -> dict[str, Any]:
        """What was decided besides kind and reason, for the record."""
        skipped = ("kind", "reason", "owner")
        return {key: value for key, value in asdict(self).items() if value and key not in skipped}


PORTAL, PLATFORM = "claimyard", "platform team"


def wait(waiting_for: str, reason: str, *, owner: str = PORTAL, move: str = "") -> Action:
    return Action(kind=Kind.WAIT, reason=reason, waiting_for=waiting_for, owner=owner, move=move)
