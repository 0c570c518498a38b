"""What the type checker found out about an expression."""

from __future__ import annotations

from dataclasses import dataclass, field

from domain.placement.cel.environment import Environment
from domain.placement.cel.errors import Unsupported
from domain.placement.cel.source import Problem, Source
from domain.placement.cel.syntax import Expr
from domain.placement.cel.types import Type


@dataclass(slots=True)
class Checked:
    """A type-checked expression. `overloads` holds the candidates that each call may resolve to."""

    root: Expr
    source: Source
    environment: Environment
    types: dict[int, Type] = field(default_factory=dict)
    overloads: dict[int, tuple[str, ...]] = field(default_factory=dict)
    type_names: dict[int, Type] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    unsupported: Unsupported | None = None

    @property
    def result(self) -> Type:
        return self.types[self.root.id]
