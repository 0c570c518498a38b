"""CEL's type checker: what each part of an expression is, and which overloads a call may take.

It follows the rules of cel-go as Kubernetes configures them (homogeneous list and
map literals, comparisons across number types), so that an expression is refused
here exactly when the API server refuses it.
"""

from functools import cache
from itertools import count

from domain.placement.cel import types
from domain.placement.cel.checked import Checked
from domain.placement.cel.declarations import (
    LITERAL_TYPES,
    TYPE_NAMES,
    Overload,
    device_fields,
    functions,
)
from domain.placement.cel.environment import Environment
from domain.placement.cel.errors import Unsupported
from domain.placement.cel.source import Problem, Source
from domain.placement.cel.syntax import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
    StructLiteral,
)
from domain.placement.cel.types import Substitutions, Type, shown

Signature = tuple[str, bool, tuple[Type, ...]]
"""A function, whether it is called on its first operand, and the types of all operands."""

Resolved = tuple[tuple[str, ...], Type]
"""The overloads that a call may take, and its result."""

MOST_RESOLVED = 10_000
PROTOBUF = "google.protobuf."


def check(root: Expr, source: Source, environment: Environment) -> Checked:
    """Checks the tree; namespaced names in it are resolved in place."""
    checker = _Checker(Checked(root, source, environment))
    checker.check(root)
    found = checker.checked
    for expr_id, type_ in found.types.items():
        if types.has_parameters(type_):
            found.types[expr_id] = checker.known.apply(type_, free_as_dyn=True)
    return found


@cache
def _resolved(environment: Environment) -> dict[Signature, Resolved]:
    """What calls resolved to that depend on nothing but the types of their operands."""
    return {}


class _Checker:
    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self.functions = functions(checked.environment)
        self.fields = device_fields(checked.environment)
        self.resolved = _resolved(checked.environment)
        self.known = Substitutions()
        self.scopes: list[dict[str, Type]] = []
        self.fresh = count()

    def check(self, expr: Expr) -> None:
        match expr:
            case Call(function="_?._"):
                self._optional_select(expr)
            case Call():
                self._call(expr)
            case Literal():
                self._set(expr, LITERAL_TYPES[type(expr.value)])
            case Select():
                self._select(expr)
            case Ident():
                self._ident(expr)
            case ListLiteral():
                self._list(expr)
            case MapLiteral():
                self._map(expr)
            case StructLiteral():
                self._struct(expr)
            case Comprehension():
                self._comprehension(expr)

    # Bookkeeping

    def _set(self, expr: Expr, type_: Type) -> None:
        self.checked.types[expr.id] = type_

    def _type(self, expr: Expr) -> Type:
        return self.checked.types[expr.id]

    def _problem(self, expr_id: int, text: str) -> None:
        self.checked.problems.append(Problem(self.checked.source.position(expr_id), text))

    def _mismatch(self, expr: Expr, expected: Type, found: Type) -> None:
        self._problem(expr.id, f"expected type '{shown(expected)}' but found '{shown(found)}'")

    def _undeclared(self, expr: Expr, name: str) -> None:
        self._set(expr, types.ERROR)
        if name.startswith(PROTOBUF):
            self.checked.unsupported = Unsupported(f"{name} cannot be judged here")
        self._problem(expr.id, f"undeclared reference to '{name}' (in container '')")

    def _assign(self, target: Type, value: Type) -> bool:
        trial = self.known.assignable(target, value)
        if trial is None:
            return False
        self.known = trial
        return True

    # Names

    def _local(self, name: str) -> Type | None:
        if not self.scopes:
            return None
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def _global(self, expr: Expr, name: str) -> Type | None:
        if name == "device":
            return types.DEVICE
        if name in TYPE_NAMES:
            self.checked.type_names[expr.id] = TYPE_NAMES[name]
            return types.type_of(TYPE_NAMES[name])
        return None

    def _ident(self, expr: Ident) -> None:
        found = None if expr.name.startswith(".") else self._local(expr.name)
        if found is None:
            plain = expr.name.removeprefix(".")
            found = self._global(expr, plain)
            if found is not None and self._local(plain) is None:
                expr.name = plain
        if found is None:
            self._undeclared(expr, expr.name)
        else:
            self._set(expr, found)

    def _qualified(self, expr: Expr) -> str | None:
        """`a.b.c` as a name, where it is nothing but names and `a` is no local variable."""
        if isinstance(expr, Ident):
            return expr.name
        if isinstance(expr, Select) and not expr.test_only:
            prefix = self._qualified(expr.operand)
            return None if prefix is None else f"{prefix}.{expr.field}"
        return None

    # Selections

    def _select(self, expr: Select) -> None:
        name = self._qualified(expr)
        if name is not None and self._local(name.partition(".")[0]) is None:
            found = self._global(expr, name.removeprefix("."))
            if found is not None:
                self._set(expr, found)
                return
            if name.startswith(PROTOBUF):
                self.checked.unsupported = Unsupported(f"{name} cannot be judged here")
        result = self._field(expr, expr.operand, expr.field, optional=False)
        result = types.BOOL if expr.test_only else result
        self._set(expr, self.known.apply(result))

    def _optional_select(self, expr: Call) -> None:
        name = expr.args[1]
        if not isinstance(name, Literal) or not isinstance(name.value, str):
            self._problem(name.id, "unsupported optional field selection")
            self._set(expr, types.ERROR)
            return
        self._set(name, types.STRING)
        result = self._field(expr, expr.args[0], name.value, optional=True)
        self._set(expr, self.known.apply(result))
        self.checked.overloads[expr.id] = ("select_optional_field",)

    def _field(self, expr: Expr, operand: Expr, name: str, *, optional: bool) -> Type:
        self.check(operand)
        target, was_optional = types.unwrap_optional(self.known.apply(self._type(operand)))
        result = types.ERROR
        match target.kind:
            case "map":
                result = target.params[1]
            case "struct":
                result = self._struct_field(expr, target, name)
            case "param":
                self._assign(types.DYN, target)
                result = types.DYN
            case "dyn" | "any" | "error":
                result = types.DYN
            case _:
                self._problem(expr.id, f"type '{shown(target)}' does not support field selection")
                result = types.DYN
        return types.optional_of(result) if optional or was_optional else result

    def _struct_field(self, expr: Expr, target: Type, name: str) -> Type:
        if target == types.DEVICE:
            found = self.fields.get(name)
            if found is None:
                self._problem(expr.id, f"undefined field '{name}'")
            return found or types.ERROR
        self._problem(expr.id, f"unexpected failed resolution of '{target.name}'")
        return types.ERROR

    # Calls

    def _call(self, expr: Call) -> None:
        for arg in expr.args:
            self.check(arg)
        if expr.target is not None:
            prefix = self._qualified(expr.target)
            qualified = f"{prefix}.{expr.function}".removeprefix(".")
            if prefix is not None and qualified in self.functions:
                expr.function, expr.target = qualified, None
            else:
                self.check(expr.target)
        candidates = self.functions.get(expr.function.removeprefix("."))
        if candidates is None:
            self._undeclared(expr, expr.function)
            return
        expr.function = expr.function.removeprefix(".")
        self._resolve(expr, candidates)

    def _resolve(self, expr: Call, candidates: tuple[Overload, ...]) -> None:
        if expr.function in ("_&&_", "_||_"):
            self._logical(expr, candidates[0])
            return
        operands = [*([expr.target] if expr.target is not None else []), *expr.args]
        found = [self._type(operand) for operand in operands]
        signature = (expr.function, expr.target is not None, tuple(found))
        known = self.resolved.get(signature)
        if known is not None:
            self.checked.overloads[expr.id], result = known
            self._set(expr, result)
            return
        self._search(expr, candidates, found)
        self._remember(expr, signature)

    def _remember(self, expr: Call, signature: Signature) -> None:
        """Of a call without type parameters that resolved: it would again, and binds nothing."""
        overloads, result = self.checked.overloads[expr.id], self._type(expr)
        if not overloads or self.checked.unsupported or len(self.resolved) >= MOST_RESOLVED:
            return
        if not any(map(types.has_parameters, (result, *signature[2]))):
            self.resolved[signature] = overloads, result

    def _search(self, expr: Call, candidates: tuple[Overload, ...], found: list[Type]) -> None:
        member = expr.target is not None
        result: Type | None = None
        resolved: list[str] = []
        for overload in candidates:
            if overload.member != member or len(overload.args) != len(found):
                continue
            if any(map(types.never_fits, found, overload.args)):
                continue
            signature = self._instance(overload)
            trial = self.known.assignable_all(found, signature[1:])
            if trial is None:
                continue
            self.known = trial
            resolved.append(overload.id)
            own = self.known.apply(signature[0])
            if result is None:
                result = own
            elif not types.is_dynamic(result) and own != result:
                result = types.DYN
        if result is None:
            self._no_overload(expr, found, member=member)
            result = types.ERROR
        self.checked.overloads[expr.id] = tuple(resolved)
        if resolved == ["string_format"]:
            self.checked.unsupported = Unsupported("formatted text cannot be judged here")
        self._set(expr, result)

    def _logical(self, expr: Call, overload: Overload) -> None:
        wrong = [arg for arg in expr.args if not self._assign(self._type(arg), types.BOOL)]
        for arg in wrong:
            self._mismatch(arg, types.BOOL, self._type(arg))
        self.checked.overloads[expr.id] = (overload.id,)
        self._set(expr, types.ERROR if wrong else types.BOOL)

    def _no_overload(self, expr: Call, found: list[Type], *, member: bool) -> None:
        names = [shown(self.known.apply(type_, free_as_dyn=True)) for type_ in found]
        receiver = f"{names.pop(0)}." if member else ""
        signature = f"{receiver}({', '.join(names)})"
        self._problem(
            expr.id, f"found no matching overload for '{expr.function}' applied to '{signature}'"
        )

    def _instance(self, overload: Overload) -> list[Type]:
        """Result and arguments, with fresh type parameters."""
        signature = [overload.result, *overload.args]
        if not overload.params:
            return signature
        fresh = Substitutions({param: self._new_parameter() for param in overload.params})
        return [fresh.apply(type_) for type_ in signature]

    def _new_parameter(self) -> Type:
        return types.parameter(f"_var{next(self.fresh)}")

    # Literals

    def _list(self, expr: ListLiteral) -> None:
        joined: Type | None = None
        for index, item in enumerate(expr.items):
            self.check(item)
            found = self._type(item)
            if index in expr.optional:
                found = self._unwrapped(item, found)
            joined = self._join(joined, found)
        self._set(expr, types.list_of(joined or self._new_parameter()))

    def _map(self, expr: MapLiteral) -> None:
        key_type: Type | None = None
        value_type: Type | None = None
        for entry in expr.entries:
            self.check(entry.key)
            key_type = self._join(key_type, self._type(entry.key))
            self.check(entry.value)
            found = self._type(entry.value)
            if entry.optional:
                found = self._unwrapped(entry.value, found)
            value_type = self._join(value_type, found)
        self._set(
            expr,
            types.map_of(key_type or self._new_parameter(), value_type or self._new_parameter()),
        )

    def _unwrapped(self, expr: Expr, found: Type) -> Type:
        inner, optional = types.unwrap_optional(found)
        if not optional and not types.is_dynamic(inner):
            self._mismatch(expr, types.optional_of(inner), inner)
        return inner

    def _join(self, previous: Type | None, found: Type) -> Type:
        """The type of a literal's items; that they must agree is for the validators to say."""
        if previous is None:
            return found
        if self._assign(previous, found):
            return previous if types.less_specific(previous, found) else found
        return types.DYN

    def _struct(self, expr: StructLiteral) -> None:
        if expr.name == types.DEVICE.name:
            self.checked.unsupported = Unsupported("messages cannot be built here")
        if expr.name in TYPE_NAMES:
            self._problem(expr.id, f"'{TYPE_NAMES[expr.name].name}' is not a message type")
            self._set(expr, types.ERROR)
        else:
            self._undeclared(expr, expr.name)

    # Comprehensions

    def _comprehension(self, expr: Comprehension) -> None:
        self.check(expr.iter_range)
        self.check(expr.accu_init)
        range_type = self.known.apply(self._type(expr.iter_range))
        accu_type = self._type(expr.accu_init)
        first, second = self._iterated(expr, range_type)
        self.scopes.append({expr.accu_var: accu_type})
        inner = {expr.iter_var: first}
        if expr.iter_var2:
            inner[expr.iter_var2] = second
        self.scopes.append(inner)
        self.check(expr.condition)
        self._expect(expr.condition, types.BOOL)
        self.check(expr.step)
        self._expect(expr.step, accu_type)
        self.scopes.pop()
        self.check(expr.result)
        self.scopes.pop()
        self._set(expr, self.known.apply(self._type(expr.result)))

    def _iterated(self, expr: Comprehension, range_type: Type) -> tuple[Type, Type]:
        """The types of the loop's variables."""
        match range_type.kind:
            case "list":
                item = range_type.params[0]
                return (types.INT, item) if expr.iter_var2 else (item, item)
            case "map":
                return range_type.params[0], range_type.params[1]
            case "dyn" | "error" | "param":
                self._assign(types.DYN, range_type)
                return types.DYN, types.DYN
        self._problem(
            expr.iter_range.id,
            f"expression of type '{shown(range_type)}' cannot be range of a comprehension "
            "(must be list, map, or dynamic)",
        )
        return types.ERROR, types.ERROR

    def _expect(self, expr: Expr, expected: Type) -> None:
        if not self._assign(expected, self._type(expr)):
            self._mismatch(expr, expected, self._type(expr))
