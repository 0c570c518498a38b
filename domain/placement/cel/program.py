"""Compiling a selector and asking it about devices."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from domain.placement.cel import everyday, types
from domain.placement.cel.checked import Checked
from domain.placement.cel.checker import check
from domain.placement.cel.cost import estimate
from domain.placement.cel.declarations import attribute_type
from domain.placement.cel.device import DeviceView, Path, reader
from domain.placement.cel.environment import COST_LIMIT, SCHEDULER, Environment
from domain.placement.cel.errors import CompileFailure, SelectorError, Unsupported, runtime_message
from domain.placement.cel.evaluator import Planned, plan
from domain.placement.cel.reads import reads_of
from domain.placement.cel.source import failure
from domain.placement.cel.syntax import parse
from domain.placement.cel.types import Type
from domain.placement.cel.validators import Unjudgeable, validate
from domain.placement.cel.values import Aborted, CelError
from domain.placement.cel.verdict import as_attribute, as_bool

DERIVED_TYPES = (types.BOOL, types.INT, types.STRING, types.ANY, types.DYN, types.SEMVER)


def _projector(reads: frozenset[Path] | None) -> Callable[[DeviceView], Hashable]:
    """What of a device is read; the device itself where that is not known."""
    if reads is None:
        return lambda view: view
    readers = [reader(path) for path in sorted(reads)]
    if len(readers) == 1:
        only = readers[0]
        return lambda view: (view.fault, only(view))
    return lambda view: (view.fault, *[read(view) for read in readers])


@dataclass(frozen=True, eq=False)
class Compiled:
    """An expression ready to be evaluated.

    `reads` are the paths on which its outcome depends, None where it may depend on
    anything of the device. Devices with equal projections by `project` get the same
    outcome, error included.
    """

    checked: Checked
    planned: Planned
    reads: frozenset[Path] | None
    project: Callable[[DeviceView], Hashable]

    @cached_property
    def paths(self) -> tuple[Path, ...] | None:
        """`reads` in the order of a projection."""
        return None if self.reads is None else tuple(sorted(self.reads))

    @property
    def expression(self) -> str:
        return self.checked.source.text

    @cached_property
    def cost(self) -> int | None:
        """The API server's worst-case estimate; None where there is no upper bound."""
        return estimate(self.checked)

    @property
    def over_limit(self) -> bool:
        """Whether the API server would refuse a new object with this expression for its cost."""
        return self.cost is None or self.cost > COST_LIMIT

    def value(self, view: DeviceView) -> Any:
        """The CEL value. Raises SelectorError where the scheduler's evaluation fails."""
        if view.fault is not None:
            raise SelectorError(view.fault)
        try:
            return self.planned.run(view)
        except (CelError, Aborted) as error:
            raise SelectorError(runtime_message(str(error))) from None


class Program(Compiled):
    """A selector."""

    def evaluate(self, view: DeviceView) -> bool:
        """Raises SelectorError where the scheduler's evaluation fails."""
        return as_bool(self.value(view))


class DerivedProgram(Compiled):
    """A derived attribute of a request: like a selector, with an attribute as its result."""

    def evaluate(self, view: DeviceView) -> tuple[str, Any]:
        """(kind, value) as the API writes an attribute. Raises SelectorError."""
        return as_attribute(self.value(view))


@lru_cache(maxsize=8192)
def compile_selector(
    expression: str, environment: Environment = SCHEDULER
) -> Program | CompileFailure | Unsupported:
    """The selector as Kubernetes compiles it. The cost limit is for the caller to apply."""
    checked = _checked(expression, environment)
    if not isinstance(checked, Checked):
        return checked
    result, unknown = checked.result, attribute_type(environment)
    if result not in (types.BOOL, unknown):
        return CompileFailure(
            f"must evaluate to bool or the unknown type, not {_named(result)}", None
        )
    planned = _planned(checked)
    if not isinstance(planned, Planned):
        return planned
    reads = reads_of(checked.root)
    return Program(checked, planned, reads, _projector(reads))


@lru_cache(maxsize=1024)
def compile_derived(
    expression: str, environment: Environment = SCHEDULER
) -> DerivedProgram | CompileFailure | Unsupported:
    """The expression of a derived attribute of a request."""
    checked = _checked(expression, environment)
    if not isinstance(checked, Checked):
        return checked
    result = checked.result
    scalars = "a primitive scalar (string, integer, boolean, semver)"
    inner = result.params[0] if result.kind == "list" and environment.lists else result
    if inner not in DERIVED_TYPES:
        wanted = f"{scalars} or a list of these scalars" if environment.lists else scalars
        return CompileFailure(f"must evaluate to {wanted}, not {_named(result)}", None)
    planned = _planned(checked)
    if not isinstance(planned, Planned):
        return planned
    reads = reads_of(checked.root)
    return DerivedProgram(checked, planned, reads, _projector(reads))


def _checked(expression: str, environment: Environment) -> Checked | CompileFailure | Unsupported:
    parsed = everyday.parse(expression) or parse(expression)
    if isinstance(parsed, CompileFailure | Unsupported):
        return parsed
    root, source = parsed
    checked = check(root, source, environment)
    if checked.unsupported:
        return checked.unsupported
    try:
        problems = checked.problems or validate(checked)
    except Unjudgeable:
        return Unsupported("Kubernetes' own compiler breaks off on an optional entry of no type")
    return failure(expression, problems) if problems else checked


def _planned(checked: Checked) -> Planned | CompileFailure | Unsupported:
    try:
        return plan(checked)
    except CelError as error:
        return CompileFailure(f"program instantiation failed: {error}", None)
    except Aborted as error:
        return Unsupported(f"Kubernetes' own compiler breaks off: {error}")


def _named(type_: Type) -> str:
    if not type_.params:
        return type_.name
    return f"{type_.name}({', '.join(_named(param) for param in type_.params)})"
