"""The API server's worst-case estimate of what an expression costs.

The rules are those of cel-go's estimator with Kubernetes' library; a new object is
refused above 1,000,000 units. Sizes and costs are (least, most) and saturate at 64 bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from domain.placement.cel import types
from domain.placement.cel.checked import Checked
from domain.placement.cel.cost_calls import Call as CallCost
from domain.placement.cel.cost_calls import Node, listed_cost, standard_cost
from domain.placement.cel.cost_kubernetes import kubernetes_cost
from domain.placement.cel.cost_sizes import (
    MOST,
    UNKNOWN,
    ZERO,
    Range,
    add,
    fixed,
    path_size,
    times,
    union,
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
from domain.placement.cel.types import Type

LIST_COST, MAP_COST = fixed(10), fixed(30)
ONE = fixed(1)
SCALARS = frozenset(("bool", "double", "duration", "int", "timestamp", "uint"))


@dataclass(frozen=True, slots=True)
class Entries:
    """Sizes of what a list or map holds."""

    kind: str
    key: Range
    value: Range


@dataclass(slots=True)
class Local:
    """What a variable of a comprehension or a bind stands for."""

    path: tuple[str, ...]
    size: Range | None = None
    entries: Entries | None = None


def estimate(checked: Checked) -> int | None:
    """The most that the expression can cost; None where nothing bounds it."""
    most = _Estimator(checked).cost(checked.root)[1]
    return None if most == MOST else most


@dataclass(slots=True)
class _Estimator:
    checked: Checked
    paths: dict[int, tuple[str, ...]] = field(default_factory=dict)
    sizes: dict[int, Range] = field(default_factory=dict)
    entries: dict[int, Entries] = field(default_factory=dict)
    locals: dict[str, list[Local]] = field(default_factory=dict)

    def cost(self, expr: Expr) -> Range:
        match expr:
            case Literal():
                return ZERO
            case Ident():
                local = self._local(expr.name)
                self.paths[expr.id] = local.path if local else (expr.name,)
                return ONE
            case Select() if expr.id in self.checked.type_names:
                return ONE
            case Select():
                return self._select(expr)
            case Call():
                return self._call(expr)
            case ListLiteral():
                return self._list(expr)
            case MapLiteral():
                return self._map(expr)
            case Comprehension():
                return self._bind(expr) if self._is_bind(expr) else self._fold(expr)
        return ZERO

    # What is known of an expression

    def _local(self, name: str) -> Local | None:
        stack = self.locals.get(name)
        return stack[-1] if stack else None

    def _type(self, expr: Expr) -> Type:
        return self.checked.types[expr.id]

    def _path(self, expr: Expr) -> tuple[str, ...]:
        if isinstance(expr, Ident):
            local = self._local(expr.name)
            if local:
                return local.path
        return self.paths.get(expr.id, ())

    def _size(self, expr: Expr) -> Range | None:
        if expr.id in self.sizes:
            return self.sizes[expr.id]
        own = _own_size(expr)
        if own is None:
            own = path_size(self._path(expr))
            if own is not None:
                self.sizes[expr.id] = own
        if own is None and _is_scalar(self._type(expr)):
            own = ONE
        if own is None and isinstance(expr, Ident):
            local = self._local(expr.name)
            own = local.size if local else None
        return own

    def _entries(self, expr: Expr) -> Entries | None:
        if expr.id in self.entries:
            return self.entries[expr.id]
        if isinstance(expr, Ident):
            local = self._local(expr.name)
            return local.entries if local else None
        return None

    def _node(self, expr: Expr) -> Node:
        path = self._path(expr)
        if path and path[0] in ("__result__", "@result"):
            path = ()
        literal = expr.value if isinstance(expr, Literal) else None
        return Node(path, self._type(expr), self._size(expr), literal)

    # Expressions

    def _select(self, expr: Select) -> Range:
        operand = self.cost(expr.operand)
        if expr.test_only:
            return operand
        self.paths[expr.id] = (*self._path(expr.operand), expr.field)
        priced = self._type(expr.operand).kind in ("map", "struct", "param")
        return add(operand, ONE) if priced else operand

    def _call(self, expr: Call) -> Range:
        if expr.function == "dyn":
            inner = self.cost(expr.args[0])
            self._copy(expr, expr.args[0])
            return add(ONE, inner)
        arg_costs = []
        nodes = []
        for arg in expr.args:
            arg_costs.append(self.cost(arg))
            nodes.append(self._node(arg))
        resolved = self.checked.overloads.get(expr.id, ())
        if not resolved:
            return ZERO
        total, target = ZERO, None
        if expr.target is not None:
            total, target = self.cost(expr.target), self._node(expr.target)
        call: Range = (MOST, 0)
        size: Range | None = None
        for overload in resolved:
            found = self._overload_cost(expr, overload, target, nodes, arg_costs)
            call = union(call, found.cost)
            if found.size is not None:
                size = found.size if size is None else union(size, found.size)
            size = self._indexed(expr, overload, size)
        if size is not None:
            self.sizes[expr.id] = size
        return add(total, call)

    def _indexed(self, expr: Call, overload: str, size: Range | None) -> Range | None:
        step = {"index_list": "@items", "index_map": "@values"}.get(overload)
        if step and expr.args:
            entries = self._entries(expr.args[0])
            size = entries.value if entries else None
            self.paths[expr.id] = (*self._path(expr.args[0]), step)
        return self._size(expr) if size is None else size

    def _overload_cost(
        self,
        expr: Call,
        overload: str,
        target: Node | None,
        nodes: list[Node],
        arg_costs: list[Range],
    ) -> CallCost:
        found = listed_cost(overload, target, nodes) or kubernetes_cost(
            expr.function, overload, target, nodes
        )
        args = ZERO
        for arg_cost in arg_costs:
            args = add(args, arg_cost)
        if found is not None:
            return CallCost(add(found.cost, args), found.size)
        match overload:
            case "logical_or" | "logical_and":
                left, right = arg_costs
                return CallCost((left[0], add(left, right)[1]), None)
            case "conditional":
                return self._conditional(expr, nodes, arg_costs)
            case "add_list" | "add_string" | "add_bytes":
                self._joined(expr)
        found = standard_cost(overload, target, nodes)
        return CallCost(add(found.cost, args), found.size)

    def _conditional(self, expr: Call, nodes: list[Node], arg_costs: list[Range]) -> CallCost:
        size = union(nodes[1].size or UNKNOWN, nodes[2].size or UNKNOWN)
        self._joined(expr, first=1)
        return CallCost(add(arg_costs[0], union(arg_costs[1], arg_costs[2])), size)

    def _joined(self, expr: Call, first: int = 0) -> None:
        """Entries of what may be either of two values, or their concatenation."""
        if len(expr.args) < first + 2:
            return
        a, b = (self._entries(arg) for arg in expr.args[first : first + 2])
        if a is not None and b is not None:
            self.entries[expr.id] = Entries(a.kind, union(a.key, b.key), union(a.value, b.value))

    def _list(self, expr: ListLiteral) -> Range:
        total, value = ZERO, (MOST if expr.items else 0, 0)
        for item in expr.items:
            total = add(total, self.cost(item))
            value = union(value, self._size(item) or UNKNOWN)
        self.entries[expr.id] = Entries("list", fixed(1), value)
        return add(total, LIST_COST)

    def _map(self, expr: MapLiteral) -> Range:
        total, least = ZERO, MOST if expr.entries else 0
        key: Range = (least, 0)
        value: Range = (least, 0)
        for entry in expr.entries:
            total = add(total, self.cost(entry.key))
            total = add(total, self.cost(entry.value))
            key = union(key, self._size(entry.key) or UNKNOWN)
            value = union(value, self._size(entry.value) or UNKNOWN)
        self.entries[expr.id] = Entries("map", key, value)
        return add(total, MAP_COST)

    # Comprehensions

    def _is_bind(self, expr: Comprehension) -> bool:
        return expr.is_bind and expr.accu_var != "__result__"

    def _push(self, name: str, local: Local) -> None:
        self.locals.setdefault(name, []).append(local)

    def _push_value(self, name: str, expr: Expr) -> None:
        self._push(name, Local(self._path(expr), self._size(expr), self._entries(expr)))

    def _push_item(self, name: str, source: Expr, part: str) -> None:
        """A loop variable: `part` is key, value, or single for one-variable macros."""
        entries = self._entries(source)
        kind = entries.kind if entries else self._type(source).kind
        is_list = kind == "list"
        if part == "single":
            part = "value" if is_list else "key"
            step = "@items" if is_list else "@keys"
        elif part == "key":
            step = "@indices" if is_list else "@keys"
        else:
            step = "@items" if is_list else "@values"
        size = None if entries is None else (entries.key if part == "key" else entries.value)
        self._push(name, Local((*self._path(source), step), size))

    def _bind(self, expr: Comprehension) -> Range:
        total = add(self.cost(expr.iter_range), self.cost(expr.accu_init))
        self._push_value(expr.accu_var, expr.accu_init)
        total = add(total, self.cost(expr.result))
        self.locals[expr.accu_var].pop()
        self._copy(expr, expr.result)
        return total

    def _fold(self, expr: Comprehension) -> Range:
        total = add(self.cost(expr.iter_range), self.cost(expr.accu_init))
        self._push_value(expr.accu_var, expr.accu_init)
        if expr.iter_var2:
            self._push_item(expr.iter_var, expr.iter_range, "key")
            self._push_item(expr.iter_var2, expr.iter_range, "value")
        else:
            self._push_item(expr.iter_var, expr.iter_range, "single")
        loop = self.cost(expr.condition)
        loop = add(self.cost(expr.step), loop)
        self.locals[expr.iter_var].pop()
        if expr.iter_var2:
            self.locals[expr.iter_var2].pop()
        total = add(total, self.cost(expr.result))
        self.locals[expr.accu_var].pop()
        rounds = self._size(expr.iter_range) or UNKNOWN
        self._keep_size(expr, rounds)
        return add(total, times(rounds, loop))

    def _keep_size(self, expr: Comprehension, rounds: Range) -> None:
        if isinstance(expr.accu_init, Literal):
            size = self._size(expr.accu_init)
            if size is not None:
                self.sizes[expr.id] = size
        elif isinstance(expr.accu_init, ListLiteral | MapLiteral):
            self.sizes[expr.id] = rounds
            entries = self._entries(expr.step)
            if entries is not None:
                self.entries[expr.id] = entries

    def _copy(self, to: Expr, source: Expr) -> None:
        size, entries = self._size(source), self._entries(source)
        if size is not None:
            self.sizes[to.id] = size
        if entries is not None:
            self.entries[to.id] = entries


def _own_size(expr: Expr) -> Range | None:
    match expr:
        case Literal(value=str() | bytes() as value):
            return fixed(len(value))
        case Literal():
            return ONE
        case ListLiteral():
            return fixed(len(expr.items))
        case MapLiteral():
            return fixed(len(expr.entries))
    return None


def _is_scalar(type_: Type) -> bool:
    inner, optional = types.unwrap_optional(type_)
    return _is_scalar(inner) if optional else type_.kind in SCALARS
