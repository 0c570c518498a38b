"""Which parts of a device an expression reads.

Two devices that agree on those parts get the same verdict, so a selector needs to
be evaluated once per distinct set of values. The walk follows constant domains and
names through binds and through macros over constant lists; what it cannot follow
makes the answer None: anything may be read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from domain.placement.cel.device import OWN_DOMAIN, Path
from domain.placement.cel.syntax import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    Select,
    children,
)

MAPS = frozenset(("attributes", "capacity"))
SCALARS = frozenset(("driver", "allowMultipleAllocations"))
INDEXING = frozenset(("_[_]", "_?._", "_[?_]"))
DRIVER = object()  # the constant "the device's own driver" as an index
MOST_PATHS = 256


class Untraceable(Exception):
    """Something of the device is read in a way that cannot be followed."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the device that is not read yet: the steps from `device` to it."""

    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Constants:
    """Any of these values; DRIVER stands for the name of the driver."""

    values: tuple[object, ...]


type Known = tuple[Part, ...] | Constants | None


def reads_of(expr: Expr) -> frozenset[Path] | None:
    walk = _Walk()
    try:
        walk.use(expr)
    except Untraceable:
        return None
    return frozenset(walk.paths)


@dataclass(slots=True)
class _Walk:
    paths: set[Path] = field(default_factory=set)
    variables: list[tuple[str, Known]] = field(default_factory=list)

    def use(self, expr: Expr) -> None:
        """The value of the expression is looked at."""
        known = self.trace(expr)
        if isinstance(known, tuple):
            for part in known:
                self._read(part)

    def trace(self, expr: Expr) -> Known:
        """What the expression stands for; what it reads on the way is recorded."""
        match expr:
            case Literal():
                return Constants((expr.value,))
            case Ident():
                return self._variable(expr.name)
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
            case ListLiteral():
                return self._list(expr)
            case Comprehension():
                return self._comprehension(expr)
        self._use_all(children(expr))
        return None

    def _use_all(self, exprs: Iterable[Expr]) -> None:
        for expr in exprs:
            self.use(expr)

    def _variable(self, name: str) -> Known:
        for known_name, known in reversed(self.variables):
            if known_name == name:
                return known
        return (Part(),) if name in ("device", ".device") else None

    def _select(self, expr: Select) -> Known:
        operand = self.trace(expr.operand)
        if not isinstance(operand, tuple):
            return None
        found = self._step(operand, (expr.field,))
        if expr.test_only and isinstance(found, tuple):
            for part in found:
                self._test(part)
            return None
        return found

    def _call(self, expr: Call) -> Known:
        if expr.function in INDEXING:
            return self._index(expr.args[0], expr.args[1])
        if expr.function == "@in":
            self._in(expr.args[0], expr.args[1])
            return None
        if expr.function == "hasValue" and expr.target is not None:
            self._tested(expr.target)
            return None
        if expr.target is not None:
            self.use(expr.target)
        self._use_all(expr.args)
        return None

    def _index(self, operand_expr: Expr, key_expr: Expr) -> Known:
        operand, key = self.trace(operand_expr), self._key(key_expr)
        if not isinstance(operand, tuple):
            if key is None:
                self.use(key_expr)
            return None
        if key is None:
            if any(len(part.steps) < 3 for part in operand):
                raise Untraceable
            self.use(key_expr)
            return operand
        return self._step(operand, key)

    def _key(self, expr: Expr) -> tuple[object, ...] | None:
        """The values that an index may have, where they are constants or the driver's name."""
        known = self.trace(expr)
        if isinstance(known, Constants):
            return known.values
        if isinstance(known, tuple) and all(part.steps == ("driver",) for part in known):
            return (DRIVER,)
        return None

    def _step(self, parts: tuple[Part, ...], keys: tuple[object, ...]) -> tuple[Part, ...]:
        found = []
        for part in parts:
            for key in keys:
                if len(part.steps) >= 3 or part.steps[:1] in (
                    ("driver",),
                    ("allowMultipleAllocations",),
                ):
                    found.append(part)  # inside a value: the whole value is what is read
                    continue
                if key is DRIVER and part.steps[:1] and len(part.steps) == 1:
                    found.append(Part((*part.steps, OWN_DOMAIN)))
                elif isinstance(key, str) and (key or not part.steps):
                    found.append(Part((*part.steps, key)))
                else:
                    raise Untraceable
        if len(found) > MOST_PATHS:
            raise Untraceable
        return tuple(dict.fromkeys(found))

    def _in(self, item: Expr, container: Expr) -> None:
        held, keys = self.trace(container), self._key(item)
        if isinstance(held, tuple) and any(len(part.steps) < 3 for part in held):
            if keys is None:
                raise Untraceable
            for part in self._step(held, keys):
                self._test(part)
            return
        if isinstance(held, tuple):
            for part in held:
                self._read(part)
        if keys is None or DRIVER in keys:
            self.use(item)

    def _tested(self, expr: Expr) -> None:
        known = self.trace(expr)
        if isinstance(known, tuple):
            for part in known:
                self._test(part)

    def _list(self, expr: ListLiteral) -> Known:
        known = [self.trace(item) for item in expr.items]
        if known and all(isinstance(item, Constants) for item in known):
            return Constants(tuple(expr.items))
        for item in expr.items:
            self.use(item)
        return None

    def _comprehension(self, expr: Comprehension) -> Known:
        if expr.is_bind:
            self.variables.append((expr.accu_var, self.trace(expr.accu_init)))
            result = self.trace(expr.result)
            self.variables.pop()
            return result
        item = self._items(expr)
        self.use(expr.accu_init)
        names = [expr.accu_var, expr.iter_var, *([expr.iter_var2] if expr.iter_var2 else [])]
        index = None if expr.iter_var2 else item
        self.variables += zip(names, (None, index, item), strict=False)
        self.use(expr.condition)
        self.use(expr.step)
        self.use(expr.result)
        del self.variables[-len(names) :]
        return None

    def _items(self, expr: Comprehension) -> Known:
        """What the loop's variable stands for: a constant, or a part of what is walked."""
        if isinstance(expr.iter_range, ListLiteral):
            traced = [self.trace(item) for item in expr.iter_range.items]
            if all(isinstance(item, Constants) for item in traced):
                values = [item.values for item in traced if isinstance(item, Constants)]
                return Constants(tuple(value for group in values for value in group))
            if all(isinstance(item, tuple) for item in traced):
                parts = tuple(part for item in traced if isinstance(item, tuple) for part in item)
                for part in parts:
                    if len(part.steps) != 2:  # a whole domain is always there, a value is not
                        self._read(part)
                return parts
        self.use(expr.iter_range)
        return None

    def _read(self, part: Part) -> None:
        steps = part.steps
        if len(steps) == 1 and steps[0] in SCALARS:
            self.paths.add(Path(steps[0]))
        elif len(steps) == 3 and steps[0] in MAPS:
            self.paths.add(Path(steps[0], steps[1], steps[2]))
        else:
            raise Untraceable

    def _test(self, part: Part) -> None:
        """Only whether the part is there is asked."""
        steps = part.steps
        if len(steps) == 3 and steps[0] in MAPS:
            self.paths.add(Path(steps[0], steps[1], steps[2], presence=True))
        elif len(steps) == 2 and steps[0] in MAPS:
            self.paths.add(Path(steps[0], steps[1], presence=True))
        elif len(steps) == 1 and steps[0] in MAPS | SCALARS:
            pass  # always there
        else:
            raise Untraceable
