"""Where things stand in an expression, and compile errors worded as CEL words them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from domain.placement.cel.errors import CompileFailure, Position

# CEL's messages use full-width signs below characters that are not ASCII.
WIDE_DOT, WIDE_POINTER = "\uff0e", "\uff3e"


class Problem(NamedTuple):
    position: Position
    text: str


class Source:
    """The text, and the offset of each node in it, read from the parser's answer when needed."""

    def __init__(self, text: str, read_offsets: Callable[[], Mapping[int, int]]) -> None:
        self.text = text
        self._read_offsets = read_offsets

    @cached_property
    def offsets(self) -> Mapping[int, int]:
        return self._read_offsets()

    def position(self, expr_id: int) -> Position:
        offset = self.offsets.get(expr_id)
        if offset is None:
            return Position(1, 1)
        before = self.text[:offset]
        return Position(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)


def failure(text: str, problems: Iterable[Problem]) -> CompileFailure:
    """All problems in one message, in the order of the text, each with a pointer to its place."""
    ordered = sorted(
        problems, key=lambda problem: problem.position.line * 10**6 + problem.position.column
    )
    shown = "\n".join(_pointed(text, problem) for problem in ordered)
    return CompileFailure(f"compilation failed: {shown}", ordered[0].position)


def _pointed(text: str, problem: Problem) -> str:
    line, column = problem.position.line, problem.position.column
    lines = text.split("\n")
    head = f"ERROR: <input>:{line}:{column}: {problem.text}"
    if not 1 <= line <= len(lines):
        return head
    snippet = lines[line - 1].replace("\t", " ")
    dots = "".join("." if len(char.encode()) == 1 else WIDE_DOT for char in snippet[: column - 1])
    pad = "." * (column - 1 - len(dots))
    under = snippet[column - 1 : column]
    return f"{head}\n | {snippet}\n | {dots}{pad}{WIDE_POINTER if len(under.encode()) > 1 else '^'}"
