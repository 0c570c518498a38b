"""The upstream allocator as a process that answers JSON cases, one line each."""

import json
import os
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from domain.placement import Features
from embedded import gobuild

SOURCE = Path(__file__).with_name("allocator")
PIPE = 48 * 1024
"""Bytes that any system lets a process write before the other side reads."""

TIMEOUT = 0.2
"""Seconds per search; what takes longer upstream is no expectation."""

Case = dict[str, Any]
_ASKED = (
    "id",
    "mode",
    "nodes",
    "slices",
    "classes",
    "claims",
    "groups",
    "allocated_claims",
    "allocated_state",
    "no_defaults",
    "timeout",
    "channel",
)
_NOT_THE_ALLOCATOR_S = {"device_taint_rules", "extended_resources"}


def features_of(case: Case) -> Features:
    """A preset's name, or the Go structure of one of upstream's cases."""
    asked = case.get("features", "1.37")
    if isinstance(asked, str):
        return Features.preset(asked)
    return Features.from_names({**asked, "device_taint_rules": True})


def in_go(features: Features) -> dict[str, bool]:
    return {
        "".join(part.capitalize() for part in one.name.split("_")): getattr(features, one.name)
        for one in fields(features)
        if one.name not in _NOT_THE_ALLOCATOR_S and not one.name.startswith("fixed_")
    }


def question(case: Case) -> bytes:
    """A case as the program reads it; taint rules act before the allocator, so they may go."""
    features = features_of(case)
    asked = {key: case[key] for key in _ASKED if case.get(key) is not None}
    asked.setdefault("timeout", TIMEOUT)
    asked["features"] = in_go(features)
    if features.device_taint_rules and case.get("taint_rules"):
        asked["taint_rules"] = case["taint_rules"]
    return json.dumps(asked, separators=(",", ":")).encode() + b"\n"


class Oracle:
    """Use as a context manager. Raises ProcessFailedError if Go is missing or does not build."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [gobuild.binary(SOURCE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "GOMAXPROCS": "2", "GOGC": "400"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        if self._process.stdout:
            self._process.stdout.close()
        self._process.wait(timeout=30)

    def ask(self, case: Case) -> dict[str, Any]:
        (answer,) = self.answers([case])
        return answer[1]

    def answers(self, cases: Iterable[Case]) -> Iterator[tuple[Case, dict[str, Any]]]:
        """Answers in order. A few questions are sent ahead, so that both sides work at once.

        Never more than a pipe holds: a process that waits for its answers to be read reads none.
        """
        waiting: deque[tuple[Case, int]] = deque()
        ahead = 0
        for case in cases:
            asked = question(case)
            while waiting and ahead + len(asked) > PIPE:
                ahead -= waiting[0][1]
                yield waiting.popleft()[0], self._receive()
            self._send(asked)
            waiting.append((case, len(asked)))
            ahead += len(asked)
        for case, _ in waiting:
            yield case, self._receive()

    def _send(self, asked: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(asked)
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the allocator process ended with {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if answer.get("error"):
            raise RuntimeError(f"case {answer['id']} cannot be asked: {answer['error']}")
        return answer
