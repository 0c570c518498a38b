"""Compiling a selector and asking it about devices."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from domain.placement.cel import types
from domain.placement.cel.checker import Checked, check
from domain.placement.cel.cost import estimate
from domain.placement.cel.declarations import attribute_type
from domain.placement.cel.device import DeviceView, Path, reader
from domain.placement.cel.environment import COST_LIMIT, SCHEDULER, Environment
from domain.placement.cel.errors import CompileFailure, SelectorError, Unsupported, runtime_message
from domain.placement.cel.evaluator import Planned, plan
from domain.placement.cel.reads import reads_of
from domain.placement.cel.semver import Semver
from domain.placement.cel.source import failure
from domain.placement.cel.syntax import parse
from domain.placement.cel.types import Type
from domain.placement.cel.validators import Unjudgeable, validate
from domain.placement.cel.values import Aborted, CelError, type_name
from domain.placement.cel.verdict import as_bool

DERIVED_KINDS = {bool: "bool", int: "int", str: "string", Semver: "version"}
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


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A compiled selector.

    `reads` are the paths on which its verdict depends, None where it may depend
    on anything of the device. `cost` is the API server's worst-case estimate,
    None where there is no upper bound.
    """

    expression: str
    checked: Checked
    planned: Planned
    reads: frozenset[Path] | None
    cost: int | None
    projector: Callable[[DeviceView], Hashable]

    @property
    def over_limit(self) -> bool:
        """Whether the API server would refuse a new object with this selector for its cost."""
        return self.cost is None or self.cost > COST_LIMIT

    def project(self, view: DeviceView) -> Hashable:
        """Devices with equal projections get the same verdict, error included."""
        return self.projector(view)

    def evaluate(self, view: DeviceView) -> bool:
        """Raises SelectorError where the scheduler's evaluation fails."""
        return as_bool(_value(self.planned, view))


@dataclass(frozen=True, slots=True, eq=False)
class DerivedProgram:
    """A compiled derived attribute: like a selector, with an attribute as its result."""

    expression: str
    planned: Planned
    reads: frozenset[Path] | None
    cost: int | None
    projector: Callable[[DeviceView], Hashable]

    def project(self, view: DeviceView) -> Hashable:
        return self.projector(view)

    def evaluate(self, view: DeviceView) -> tuple[str, Any]:
        """(kind, value) as the API writes an attribute. Raises SelectorError."""
        value = _value(self.planned, view)
        if value.__class__ is not list:
            return _derived(value, f"unsupported CEL return type: {type_name(value)}")
        if not value:
            raise SelectorError("derived attribute evaluated to an empty list")
        kind, _ = _derived(value[0], f"unsupported list element type: {type_name(value[0])}")
        contents = []
        for at, item in enumerate(value):
            if DERIVED_KINDS.get(item.__class__) != kind:
                raise SelectorError(
                    f"expected list element at index {at} to be {kind}, got {type_name(item)}"
                )
            contents.append(_content(item))
        return kind + "s", contents


def _derived(value: Any, problem: str) -> tuple[str, Any]:
    kind = DERIVED_KINDS.get(value.__class__)
    if kind is None:
        raise SelectorError(problem)
    return kind, _content(value)


def _content(value: Any) -> Any:
    return value.text if value.__class__ is Semver else value


def _value(planned: Planned, view: DeviceView) -> Any:
    if view.fault is not None:
        raise SelectorError(view.fault)
    try:
        return planned.run(view)
    except (CelError, Aborted) as error:
        raise SelectorError(runtime_message(str(error))) from None


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
    return Program(
        expression, checked, planned, reads, estimate(checked), projector=_projector(reads)
    )


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
    return DerivedProgram(
        expression, planned, reads, estimate(checked), projector=_projector(reads)
    )


def _checked(expression: str, environment: Environment) -> Checked | CompileFailure | Unsupported:
    parsed = parse(expression)
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


def _named(type_: Type) -> str:
    if not type_.params:
        return type_.name
    return f"{type_.name}({', '.join(_named(param) for param in type_.params)})"
