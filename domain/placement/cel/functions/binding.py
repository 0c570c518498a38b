"""How a call finds its implementation at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from domain.placement.cel import types
from domain.placement.cel.arguments import Step, call, values
from domain.placement.cel.declarations import Overload, functions
from domain.placement.cel.environment import SCHEDULER
from domain.placement.cel.quantity import Quantity
from domain.placement.cel.semver import Semver
from domain.placement.cel.syntax import UInt
from domain.placement.cel.types import Type
from domain.placement.cel.values import (
    MAPS,
    Aborted,
    Address,
    CelError,
    Duration,
    Format,
    Network,
    Optional,
    Timestamp,
    Url,
    go_type,
    no_overload,
)

Implementation = Callable[..., Any]
type Guard = Callable[[Any], bool]

CLASSES: dict[str, type] = {
    "bool": bool,
    "int": int,
    "uint": UInt,
    "double": float,
    "string": str,
    "bytes": bytes,
    types.DURATION.name: Duration,
    types.TIMESTAMP.name: Timestamp,
    types.QUANTITY.name: Quantity,
    types.SEMVER.name: Semver,
    types.URL.name: Url,
    types.FORMAT.name: Format,
    types.IP.name: Address,
    types.CIDR.name: Network,
    "optional_type": Optional,
}
CONVERSIONS = frozenset(
    ("bool", "bytes", "double", "dyn", "duration", "int", "string", "timestamp", "type", "uint")
)

SELF_COMPARING = frozenset(("distinct", "sort", "@sortByAssociatedKeys"))
BROKEN = "internal error: interface conversion: {} is not traits.Lister: missing method Add"

_by_overload: dict[str, Implementation] = {}
_by_name: dict[str, Implementation] = {}


def overload[F: Implementation](*ids: str) -> Callable[[F], F]:
    """Registers an implementation for overloads; it is called with values of the declared types."""

    def register(implementation: F) -> F:
        for overload_id in ids:
            _by_overload[overload_id] = implementation
        return implementation

    return register


def singleton[F: Implementation](name: str) -> Callable[[F], F]:
    """Registers one implementation for all overloads of a function; it looks at types itself."""

    def register(implementation: F) -> F:
        _by_name[name] = implementation
        return implementation

    return register


def implemented() -> frozenset[str]:
    """Names and overload ids that can be evaluated."""
    return frozenset(_by_overload) | frozenset(_by_name)


def is_conversion(function: str) -> bool:
    return function in CONVERSIONS


def bind_call(
    function: str, resolved: Sequence[str], steps: Sequence[Step]
) -> Callable[[Any], Any]:
    """The step that evaluates the arguments and calls what fits them."""
    if function in SELF_COMPARING and len(resolved) == 1:
        steps = _listed(steps)
    if function in _by_name:
        return call(_by_name[function], steps)
    choices = [
        (_guard(declared), _by_overload[declared.id])
        for declared in functions(SCHEDULER).get(function, ())
        if declared.id in resolved and declared.id in _by_overload
    ]
    if len(choices) == 1 and len(steps) <= 2:
        return call(_guarded(function, *choices[0]), steps)

    def dispatch(frame: Any) -> Any:
        args = values(steps, frame)
        for guard, implementation in choices:
            if guard(args):
                return implementation(*args)
        raise no_overload(function, *args)

    return dispatch


def _listed(steps: Sequence[Step]) -> list[Any]:
    """Steps of a call whose cost upstream counts in a way that breaks off without a list."""
    last = len(steps) - 1

    def step(frame: Any) -> Any:
        try:
            value = steps[last](frame)
        except CelError:
            raise Aborted(BROKEN.format("*types.Err")) from None
        if value.__class__ is not list:
            raise Aborted(BROKEN.format(go_type(value)))
        return value

    if not last:
        return [step]
    # Upstream knows both values before it counts, so a bad last one comes before a bad first one.
    return [lambda frame: (step(frame), steps[0](frame))[1], step]


def _guarded(
    function: str, guard: Callable[[Sequence[Any]], bool], implementation: Implementation
) -> Implementation:
    def checked(*args: Any) -> Any:
        if guard(args):
            return implementation(*args)
        raise no_overload(function, *args)

    return checked


@cache
def _guard(declared: Overload) -> Callable[[Sequence[Any]], bool]:
    guards = [_accepts(type_) for type_ in declared.args]
    if not guards:
        return lambda args: not args
    if len(guards) == 1:
        only = guards[0]
        return lambda args: len(args) == 1 and only(args[0])
    if len(guards) == 2:
        first, second = guards
        return lambda args: len(args) == 2 and first(args[0]) and second(args[1])
    return lambda args: (
        len(args) == len(guards)
        and all(guard(arg) for guard, arg in zip(guards, args, strict=True))
    )


def _accepts(type_: Type) -> Guard:
    if type_.kind in ("dyn", "any", "param"):
        return lambda value: True
    if type_.kind == "list":
        inner = _accepts(type_.params[0])
        return lambda value: value.__class__ is list and (not value or inner(value[0]))
    if type_.kind == "map":
        return lambda value: value.__class__ in MAPS
    kind = CLASSES.get(type_.name)
    return lambda value: value.__class__ is kind
