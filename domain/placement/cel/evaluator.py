"""From a checked expression to a function that evaluates it.

Each node becomes a closure that takes the frame, a list whose first slot is
`device`, whose second counts, and whose others are the variables of loops and binds. Errors
travel as CelError; `&&`, `||` and comprehensions absorb them where CEL says so.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from domain.placement.cel import access
from domain.placement.cel.arguments import Constant, Frame, Step, call, values
from domain.placement.cel.checked import Checked
from domain.placement.cel.device import DeviceView
from domain.placement.cel.environment import COST_LIMIT
from domain.placement.cel.functions import bind_call, is_conversion
from domain.placement.cel.logic import both, choice, either, not_strictly_false, or_else
from domain.placement.cel.shortcuts import (
    PATTERNED,
    device_path,
    is_text,
    patterned,
    value_step,
)
from domain.placement.cel.syntax import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
)
from domain.placement.cel.values import (
    MAPS,
    Aborted,
    CelError,
    LiteralMap,
    Optional,
    as_key,
    go_type,
    items,
    shown,
    type_value,
)

UNSET = object()
ROUNDS = 1  # the slot that counts the rounds of all loops
MOST_ROUNDS = COST_LIMIT // 3  # a round costs three units at the least


class Planned:
    """The whole expression: `step` evaluates it in a frame of `slots` slots."""

    __slots__ = ("slots", "step")

    def __init__(self, step: Step, slots: int) -> None:
        self.step = step
        self.slots = slots

    def run(self, device: DeviceView) -> Any:
        """Raises CelError."""
        return self.step([device, 0, *[UNSET] * (self.slots - 2)])


def plan(checked: Checked) -> Planned:
    """Raises CelError where a conversion of a literal fails: Kubernetes refuses that at compile."""
    planner = _Planner(checked)
    return Planned(planner.step(checked.root), planner.slots)


class _Planner:
    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self.slots = 2
        self.variables: list[tuple[str, Step]] = []
        self.kept: dict[Hashable, int] = {}

    def step(self, expr: Expr) -> Step:
        match expr:
            case Literal():
                return Constant(expr.value)
            case Ident():
                return self._ident(expr)
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
            case ListLiteral():
                return self._list(expr)
            case MapLiteral():
                return self._map(expr)
            case Comprehension():
                return self._bind(expr) if expr.is_bind else self._fold(expr)
        raise CelError("messages cannot be built")

    # Names and selections

    def _ident(self, expr: Ident) -> Step:
        if expr.id in self.checked.type_names:
            if expr.name.startswith("."):  # written past a variable of the same name
                raise CelError(f"reference to undefined type: {expr.name}")
            return Constant(type_value(self.checked.type_names[expr.id]))
        for name, read in reversed(self.variables):
            if name == expr.name:
                return read
        return self._kept("device", lambda view: view.fields)

    def _kept(self, key: Hashable, read: Callable[[DeviceView], Any]) -> Step:
        """A part of the device that is made once per evaluation."""
        slot = self.kept.get(key)
        if slot is None:
            slot = self.kept[key] = self._slot()

        def part(frame: Frame) -> Any:
            value = frame[slot]
            if value is UNSET:
                value = frame[slot] = read(frame[0])
            return value

        return part

    def _device_step(self, expr: Expr) -> Step | None:
        """The quick way to a field, a domain or a value of the device, if that is what is read."""
        if self._shadowed("device"):
            return None
        match device_path(expr):
            case ("driver",):
                return lambda frame: frame[0].driver
            case ("allowMultipleAllocations",):
                return lambda frame: frame[0].allows_multiple
            case ("attributes" | "capacity" as part, domain):
                return self._kept((part, domain), lambda view: view.domain(part, domain))
            case ("attributes" | "capacity" as part, domain, name) if domain:
                return value_step(part, domain, name)
        return None

    def _shadowed(self, name: str) -> bool:
        return any(known == name for known, _ in self.variables)

    def _select(self, expr: Select) -> Step:
        if expr.id in self.checked.type_names:
            return Constant(type_value(self.checked.type_names[expr.id]))
        quick = None if expr.test_only else self._device_step(expr)
        if quick:
            return quick
        operand, field = self.step(expr.operand), expr.field
        if expr.test_only:
            return lambda frame: access.has(operand(frame), field)

        def select(frame: Frame) -> Any:
            value = operand(frame)
            if value.__class__ is dict:
                found = value.get(field, UNSET)
                if found is not UNSET:
                    return found
            return access.index(value, field)

        return select

    def _slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    # Calls

    def _call(self, expr: Call) -> Step:
        quick = self._device_step(expr) if expr.function == "_[_]" else None
        if quick:
            return quick
        operands = [*([expr.target] if expr.target is not None else []), *expr.args]
        steps = [self.step(operand) for operand in operands]
        return self._operator(expr, steps) or self._function(expr, steps)

    def _operator(self, expr: Call, steps: list[Step]) -> Step | None:
        """The step of what is no ordinary function."""
        if expr.function in ("_[_]", "_[?_]") and isinstance(steps[1], Constant):
            access.check_index(steps[1].value)
        match expr.function:
            case "_&&_":
                return both(*steps)
            case "_||_":
                return either(*steps)
            case "_?_:_":
                return choice(*steps)
            case "_[_]":
                return call(access.index, steps)
            case "_[?_]" | "_?._":
                return call(access.optional_index, steps)
            case "@not_strictly_false":
                return not_strictly_false(steps[0])
            case "or" | "orValue":
                return or_else(*steps, unwrap=expr.function == "orValue")
            case "@in":
                return self._in(expr, *steps)
        return None

    def _function(self, expr: Call, steps: list[Step]) -> Step:
        if expr.function in PATTERNED and is_text(steps[1]):
            return patterned(expr.function, steps)
        function = bind_call(expr.function, self.checked.overloads[expr.id], steps)
        if is_conversion(expr.function) and len(steps) == 1 and isinstance(steps[0], Constant):
            return Constant(function([]))
        return function

    def _in(self, expr: Call, item: Step, container: Step) -> Step:
        if isinstance(container, Constant) and self.checked.overloads[expr.id] == ("in_list",):
            if not container.value:
                return Constant(False)
            members = access.members(container.value)
            if members is not None:
                return lambda frame: access.is_member(item(frame), members)
        return call(access.contains, (item, container))

    # Literals

    def _list(self, expr: ListLiteral) -> Step:
        steps = [self.step(item) for item in expr.items]
        if not expr.optional:
            if all(isinstance(step, Constant) for step in steps):
                return Constant([step([]) for step in steps])
            return lambda frame: values(steps, frame)
        optional = [index in expr.optional for index in range(len(steps))]

        def build(frame: Frame) -> list[Any]:
            kept = []
            for value, is_optional in zip(values(steps, frame), optional, strict=True):
                if not is_optional:
                    kept.append(value)
                elif value.__class__ is not Optional:
                    raise CelError(
                        "cannot initialize optional list element from non-optional value "
                        + shown(value)
                    )
                elif value.present:
                    kept.append(value.value)
            return kept

        return build

    def _map(self, expr: MapLiteral) -> Step:
        entries = [
            (self.step(entry.key), self.step(entry.value), entry.optional) for entry in expr.entries
        ]

        def build(frame: Frame) -> dict[Any, Any]:
            found = LiteralMap()
            for key_of, value_of, optional in entries:
                key, value = key_of(frame), value_of(frame)
                if optional:
                    if value.__class__ is not Optional:
                        raise CelError(
                            f"cannot initialize optional entry '{shown(key)}' "
                            f"from non-optional value {shown(value)}"
                        )
                    if not value.present:
                        continue
                    value = value.value
                found[as_key(key)] = value
            return found

        if all(isinstance(k, Constant) and isinstance(v, Constant) for k, v, _ in entries):
            return Constant(build([]))
        return build

    # Comprehensions

    def _bind(self, expr: Comprehension) -> Step:
        """`cel.bind`: the value is found when first used, and an error is kept like a value."""
        slot, initial = self._slot(), self.step(expr.accu_init)

        def read(frame: Frame) -> Any:
            value = frame[slot]
            if value is UNSET:
                try:
                    value = initial(frame)
                except CelError as error:
                    value = error
                frame[slot] = value
            if value.__class__ is CelError:
                raise value
            return value

        self.variables.append((expr.accu_var, read))
        result = self.step(expr.result)
        self.variables.pop()

        def bind(frame: Frame) -> Any:
            frame[slot] = UNSET
            return result(frame)

        return bind

    def _fold(self, expr: Comprehension) -> Step:
        source, initial = self.step(expr.iter_range), self.step(expr.accu_init)
        accu, first, second = self._slot(), self._slot(), self._slot()
        self.variables.append((expr.accu_var, _read_accumulator(accu)))
        self.variables.append((expr.iter_var, _read(first)))
        if expr.iter_var2:
            self.variables.append((expr.iter_var2, _read(second)))
        condition, step = self.step(expr.condition), self.step(expr.step)
        del self.variables[-2 if expr.iter_var2 else -1 :]
        result = self.step(expr.result)
        self.variables.pop()
        pairs = bool(expr.iter_var2)

        def fold(frame: Frame) -> Any:
            walked = _pairs(source(frame)) if pairs else _singles(source(frame))
            if frame[ROUNDS] > MOST_ROUNDS:
                raise Aborted("operation cancelled: actual cost limit exceeded")
            frame[accu] = initial(frame)
            rounds = 0
            for frame[first], frame[second] in walked:
                rounds += 1
                if not _goes_on(condition, frame):
                    break
                try:
                    frame[accu] = step(frame)
                except CelError as error:
                    frame[accu] = error
            frame[ROUNDS] += rounds
            return result(frame)

        return fold


def _read(slot: int) -> Step:
    return lambda frame: frame[slot]


def _read_accumulator(slot: int) -> Step:
    def read(frame: Frame) -> Any:
        value = frame[slot]
        if value.__class__ is CelError:
            raise value
        return value

    return read


def _goes_on(condition: Step, frame: Frame) -> bool:
    """A loop ends when its condition is false; an error in it does not end it."""
    try:
        return condition(frame) is not False
    except CelError:
        return True


def _singles(value: Any) -> list[tuple[Any, None]]:
    if value.__class__ is list:
        return [(item, None) for item in value]
    if value.__class__ in MAPS:
        return [(key, None) for key, _ in items(value)]
    raise CelError(f"got '{go_type(value)}', expected iterable type")


def _pairs(value: Any) -> list[tuple[Any, Any]]:
    if value.__class__ is list:
        return list(enumerate(value))
    if value.__class__ in MAPS:
        return items(value)
    raise CelError(f"unsupported comprehension range type: {go_type(value)}")
