"""The names of where a migration and each of its moves can be. One word, one meaning."""

from enum import StrEnum


class Stage(StrEnum):
    """In this order; Canary and Expand move pools, the earlier ones only look."""

    INVENTORY = "inventory"
    CLASSES = "define-classes"
    SHADOW = "shadow"
    CANARY = "canary"
    EXPAND = "expand"


STAGES = tuple(Stage)


class State(StrEnum):
    """Of a migration. The last four are ends; `waiting` names cause and owner."""

    DRAFT = "draft"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    FROZEN = "frozen"
    ROLLING_BACK = "rolling-back"
    ROLLED_BACK = "rolled-back"
    LEFT = "left"
    FAILED = "failed"
    DONE = "done"


ENDS = frozenset({State.ROLLED_BACK, State.LEFT, State.FAILED, State.DONE})


class Phase(StrEnum):
    """Of one move, which takes one deployment from its old pool to its new one.

    Forward: waiting, capacity, warming, weighing, moved, retiring, retired.
    Back: restoring, returning, draining, removing, back.
    """

    WAITING = "waiting"
    CAPACITY = "capacity"
    WARMING = "warming"
    WEIGHING = "weighing"
    MOVED = "moved"
    RETIRING = "retiring"
    RETIRED = "retired"
    RESTORING = "restoring"
    RETURNING = "returning"
    DRAINING = "draining"
    REMOVING = "removing"
    BACK = "back"
    UNSUPPORTED = "unsupported"


FORWARD = (Phase.CAPACITY, Phase.WARMING, Phase.WEIGHING, Phase.MOVED)
BACKWARD = (Phase.RESTORING, Phase.RETURNING, Phase.DRAINING, Phase.REMOVING)
MOVE_ENDS = frozenset({Phase.RETIRED, Phase.BACK, Phase.UNSUPPORTED})
