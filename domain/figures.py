"""A figure and what may be said of it. Missing is never zero: without a value there is a state.

The words are those of every page, chart, API answer and gate; they come from promise 2 of the
design: no number lies.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class State(StrEnum):
    """What a reader may conclude. Only LIVE is a whole and recent figure."""

    LIVE = "live"
    STALE = "stale"
    PARTIAL = "partial"
    NO_TRAFFIC = "no-traffic"
    NOT_EXPORTED = "not-exported"
    TARGET_DOWN = "target-down"
    NOT_KEPT = "not-kept"
    NOT_CONFIGURED = "not-configured"
    NO_PERMISSION = "no-permission"
    ERROR = "error"

    @property
    def words(self) -> str:
        """As it stands in a sentence."""
        return self.value.replace("-", " ")


# States that may come with a value: it is shown, with what is wrong with it.
WITH_VALUE = frozenset({State.LIVE, State.STALE, State.PARTIAL})


@dataclass(frozen=True, slots=True)
class Figure:
    """`value` in `unit`, or None; `known` of `total` sources contributed; `query` is its evidence.

    `detail` says in words what is missing: names tried, the cluster's answer, how old it is.
    """

    value: float | None
    state: State
    detail: str = ""
    at: datetime | None = None
    unit: str = ""
    query: str = ""
    known: int | None = None
    total: int | None = None

    @property
    def usable(self) -> bool:
        """Whether a decision may rest on it: whole and recent."""
        return self.state is State.LIVE and self.value is not None
