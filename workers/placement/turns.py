"""Long answers let short ones pass, and end when nobody wants them any more.

There is one process and one thread: a shadow of a whole cluster may take ten seconds, a count while
somebody types takes milliseconds. So whatever looks at its deadline now and then lets others have
a turn there; the time that they take is not counted against it. Snapshots are never changed in
place, so an answer goes on with the one that it began with.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from domain.errors import DomainError

EVERY_SECONDS = 0.1
DEEPEST = 2


class Cancelled(DomainError):
    """Who asked has taken the question back, or it has expired."""

    code = "cancelled"


@dataclass(slots=True)
class Turn:
    """One answer under way. `is_wanted` asks whether it still is; `let_pass` serves others."""

    is_wanted: Callable[[], bool]
    let_pass: Callable[[], None]
    looked_at: float = field(default_factory=time.monotonic)

    def pause(self) -> float:
        """Seconds that others took. Raises Cancelled."""
        began = time.monotonic()
        if began - self.looked_at < EVERY_SECONDS:
            return 0.0
        if not self.is_wanted():
            raise Cancelled("It was taken back before it was answered.")
        if len(_UNDER_WAY) < DEEPEST:
            self.let_pass()
        self.looked_at = time.monotonic()
        return self.looked_at - began


_UNDER_WAY: list[Turn] = []


@contextmanager
def under_way(turn: Turn) -> Iterator[None]:
    _UNDER_WAY.append(turn)
    try:
        yield
    finally:
        _UNDER_WAY.pop()


def pause() -> float:
    """Called from where an answer can be interrupted. Raises Cancelled."""
    return _UNDER_WAY[-1].pause() if _UNDER_WAY else 0.0
