"""Faults that tests and scenarios ask for: what goes wrong, where, and how often."""

import fnmatch
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

KINDS = (
    "latency",
    "429",
    "500",
    "drop-watch",
    "half-watch",
    "410",
    "conflict",
    "expired-token",
    "away",
)


@dataclass(slots=True)
class Fault:
    """`match` is "METHOD /path" with shell wildcards, "*" for everything; a watch is a WATCH.

    `times` < 0 means until it is cleared. `seconds` is how long latency takes, what Retry-After
    says, and when a watch is dropped; `after` lets that many matching requests pass first. Watches
    that are open are dropped too, at once: by `drop-watch`, up to its `times`, and by `away`.
    """

    kind: str
    match: str = "*"
    times: int = 1
    seconds: float = 0.0
    after: int = 0
    seen: int = field(default=0)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown fault {self.kind!r}; known are: {', '.join(KINDS)}")

    def concerns(self, method: str, path: str) -> bool:
        return self.match == "*" or fnmatch.fnmatchcase(f"{method} {path}", self.match)


class Faults:
    """The faults in force. Safe to use from a test's thread."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lock = threading.Lock()
        self.added: Callable[[Fault], None] = lambda fault: None

    def add(self, fault: Fault) -> Fault:
        with self._lock:
            self._faults.append(fault)
        self.added(fault)
        return fault

    def clear(self) -> None:
        with self._lock:
            self._faults.clear()

    def listed(self) -> list[dict[str, Any]]:
        with self._lock:
            return [asdict(fault) for fault in self._faults]

    def take(self, method: str, path: str, *kinds: str) -> Fault | None:
        """The first fault of these kinds that strikes this request; it is used up by one."""
        if not self._faults:
            return None
        with self._lock:
            for fault in self._faults:
                if fault.kind in kinds and fault.concerns(method, path) and self._strikes(fault):
                    return fault
        return None

    def _strikes(self, fault: Fault) -> bool:
        fault.seen += 1
        if fault.seen <= fault.after:
            return False
        if fault.times > 0:
            fault.times -= 1
            if fault.times == 0:
                self._faults.remove(fault)
        return True
