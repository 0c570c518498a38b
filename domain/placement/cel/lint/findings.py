"""One remark on a selector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from domain.placement.cel.checked import Checked
from domain.placement.cel.device import Path
from domain.placement.cel.errors import Position
from domain.placement.cel.lint.published import Published
from domain.placement.cel.program import Program
from domain.placement.cel.syntax import Expr

ERROR, WARNING, NOTE = "error", "warning", "note"
RANKS = {ERROR: 0, WARNING: 1, NOTE: 2}


@dataclass(frozen=True, slots=True)
class Finding:
    """`code` names the rule; `advice` says what to write instead, if that is known."""

    severity: str
    code: str
    message: str
    position: Position | None = None
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """The selector that a rule looks at.

    `places` tells which part of the device each expression stands for, binds
    followed: ("attributes", "gpu.example.com", "model").
    """

    program: Program
    published: Published | None
    places: Mapping[int, tuple[str, ...]]

    @property
    def checked(self) -> Checked:
        return self.program.checked

    @property
    def root(self) -> Expr:
        return self.checked.root

    def at(self, expr: Expr) -> Position:
        return self.checked.source.position(expr.id)

    def value_path(self, expr: Expr) -> Path | None:
        """The attribute or capacity that the expression reads, if it is one."""
        place = self.places.get(expr.id, ())
        if len(place) == 3 and place[0] in ("attributes", "capacity"):
            return Path(*place)
        return None


type Rule = Callable[[Subject], list[Finding]]


def shown(path: Path) -> str:
    """The path as an expression reads it."""
    if not path.name:
        return f'device.{path.part}["{path.domain}"]' if path.domain else f"device.{path.part}"
    return f'device.{path.part}["{path.domain}"].{path.name}'
