"""Selectors on devices: each is evaluated once per distinct set of values that it reads.

The seam between rules and speed: the search asks `Selector.accepts`, and whatever answers it
faster may take its place. Verdicts depend on values only, so they outlive every fleet.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache

from domain.placement.cel import (
    CompileFailure,
    Program,
    SelectorError,
    Unsupported,
    compile_selector,
)
from domain.placement.cel.device import DeviceView
from domain.placement.faults import Unknown

_MOST_VERDICTS = 200_000


class CompileError(Exception):
    """The API server accepted the expression once; this release cannot compile it."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Kept as text: an exception that is raised again and again keeps what it went through."""

    kind: type[SelectorError] | type[Unknown]
    text: str


class Selector:
    """One CEL expression with the verdicts it has given so far."""

    __slots__ = ("expression", "known", "program")

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.program: Program | CompileFailure | Unsupported = compile_selector(expression)
        # By projection; for reading only.
        self.known: dict[Hashable, bool | Failure] = {}

    def accepts(self, device: DeviceView) -> bool:
        """Raises CompileError, SelectorError as upstream would fail, or Unknown."""
        program = self.program
        projection = program.project(device) if isinstance(program, Program) else None
        verdict = self.known.get(projection)
        if verdict is None:
            verdict = self.judge(device, projection)
        if isinstance(verdict, Failure):
            raise verdict.kind(verdict.text)
        return verdict

    def judge(self, device: DeviceView, projection: Hashable) -> "bool | Failure":
        """The verdict on what is not in `known` yet. Raises CompileError."""
        if len(self.known) >= _MOST_VERDICTS:
            self.known.clear()
        verdict = self.known[projection] = self._evaluate(device)
        return verdict

    def reading(self, device: DeviceView) -> str:
        """What the selector found on a device, for a person: "model is a100"."""
        reads = self.program.reads if isinstance(self.program, Program) else None
        values = frozenset(path for path in reads or () if not path.presence)
        # Whether a value is there is told by the value, where that is read too.
        reads = values or reads
        if not reads:
            return "refused"
        return ", ".join(
            f"{path.name or path.domain or path.part} is {_shown(device.read(path))}"
            for path in sorted(reads)
        )

    def _evaluate(self, device: DeviceView) -> bool | Failure:
        if isinstance(self.program, CompileFailure):
            raise CompileError(self.program.message)
        if isinstance(self.program, Unsupported):
            reason = f"selector {self.expression!r}: {self.program.reason}"
            return Failure(Unknown, reason)
        try:
            return self.program.evaluate(device)
        except SelectorError as failure:
            return Failure(SelectorError, failure.message)


def _shown(value: Hashable) -> str:
    if value is None:
        return "not set"
    parts = value[1:] if isinstance(value, tuple) else (value,)
    return ", ".join(map(str, parts))


@lru_cache(maxsize=4096)
def selector(expression: str) -> Selector:
    return Selector(expression)
