"""From the text of an expression to its syntax tree.

The parser is Google's own (cel-cpp through cel-expr-python), so that grammar and
syntax errors are those of Kubernetes; its answer comes as a ParsedExpr message of
the CEL protocol, read here without generated code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from cel_expr_python import cel

from domain.placement.cel.errors import CompileFailure, Position, Unsupported
from domain.placement.cel.source import Problem, Source, failure
from domain.placement.cel.wire import double, fields, signed, varints

MACRO_LIBRARIES = """
name: selectors
extensions:
- name: optional
- name: bindings
- name: two-var-comprehensions
- name: lists
"""
MACROS = frozenset(
    (
        "has",
        "all",
        "exists",
        "exists_one",
        "existsOne",
        "filter",
        "map",
        "bind",
        "optMap",
        "optFlatMap",
        "sortBy",
        "transformList",
        "transformMap",
        "transformMapEntry",
    )
)
TOO_DEEP = re.compile(r"recursion|nesting", re.IGNORECASE)
REPORTED = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*?)(?: \[INVALID_ARGUMENT\])?$", re.M)
WORDING = (
    (
        re.compile(r"^has\(\) argument must be a field selection$"),
        "invalid argument to has() macro",
    ),
    (
        re.compile(r"^cel\.bind\(\) variable name must be a simple identifier$"),
        "cel.bind() variable names must be simple identifiers",
    ),
    (
        re.compile(r"^\w+\(\) (?:\w+ )?variable name must be a simple identifier$"),
        "argument must be a simple name",
    ),
    (re.compile(r"'\\u003F'"), "'?'"),
)
TOO_DEEP_HERE = Unsupported("the expression is nested too deeply to be judged here")
MOST_LEVELS = 120  # well inside Python's own stack, also when evaluated far from the bottom
NO_PLACE = 2**32 - 1  # the line of what the parser says of itself


class UInt(int):
    """A CEL uint; equal to the int of the same value, as CEL has it."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class Expr:
    id: int


@dataclass(slots=True, eq=False)
class Literal(Expr):
    value: bool | int | float | str | bytes | None


@dataclass(slots=True, eq=False)
class Ident(Expr):
    name: str


@dataclass(slots=True, eq=False)
class Select(Expr):
    operand: Expr
    field: str
    test_only: bool


@dataclass(slots=True, eq=False)
class Call(Expr):
    function: str
    target: Expr | None
    args: list[Expr]


@dataclass(slots=True, eq=False)
class ListLiteral(Expr):
    items: list[Expr]
    optional: frozenset[int]


@dataclass(slots=True, eq=False)
class Entry:
    id: int
    key: Expr
    value: Expr
    optional: bool


@dataclass(slots=True, eq=False)
class MapLiteral(Expr):
    entries: list[Entry]


@dataclass(slots=True, eq=False)
class StructLiteral(Expr):
    name: str


@dataclass(slots=True, eq=False)
class Comprehension(Expr):
    iter_var: str
    iter_var2: str
    iter_range: Expr
    accu_var: str
    accu_init: Expr
    condition: Expr
    step: Expr
    result: Expr

    @property
    def is_bind(self) -> bool:
        """Whether this is `cel.bind`: nothing to walk, only a name for a value."""
        return (
            isinstance(self.iter_range, ListLiteral)
            and not self.iter_range.items
            and isinstance(self.condition, Literal)
            and self.condition.value is False
        )


def children(expr: Expr) -> Iterator[Expr]:
    match expr:
        case Select():
            yield expr.operand
        case Call():
            if expr.target is not None:
                yield expr.target
            yield from expr.args
        case ListLiteral():
            yield from expr.items
        case MapLiteral():
            for entry in expr.entries:
                yield entry.key
                yield entry.value
        case Comprehension():
            yield expr.iter_range
            yield expr.accu_init
            yield expr.condition
            yield expr.step
            yield expr.result


def walk(expr: Expr) -> Iterator[Expr]:
    yield expr
    for child in children(expr):
        yield from walk(child)


def nodes(root: Expr) -> list[Expr]:
    """All of them, each before those below it."""
    found = [root]
    for expr in found:
        if isinstance(expr, Call):  # by far the most; the rest goes through `children`
            if expr.target is not None:
                found.append(expr.target)
            found += expr.args
        elif not isinstance(expr, Literal | Ident):
            found += children(expr)
    return found


@cache
def _parser() -> Any:
    return cel.NewEnv(config=cel.NewEnvConfigFromYaml(MACRO_LIBRARIES))


def parse(expression: str) -> tuple[Expr, Source] | CompileFailure | Unsupported:
    """The tree with every macro expanded, and where each of its nodes stands."""
    try:
        message = _parser().compile(expression, disable_check=True).serialize()
    except (RuntimeError, ValueError) as error:
        return _refusal(expression, str(error))
    parsed = dict(fields(dict(fields(message))[2]))
    try:
        root = _expr(parsed[2])
    except RecursionError:
        return TOO_DEEP_HERE
    if _depth(root) > MOST_LEVELS:
        return TOO_DEEP_HERE
    source = Source(expression, lambda: dict(_positions(parsed.get(3, b""))))
    _restore_second_variables(root, source)
    return root, source


def _depth(root: Expr) -> int:
    depth, level = 0, [root]
    while level:
        depth, level = depth + 1, [child for expr in level for child in children(expr)]
    return depth


def _restore_second_variables(root: Expr, source: Source) -> None:
    """optMap writes its target twice, and cel-cpp's copy of a loop loses the second variable."""
    loops = [expr for expr in walk(root) if isinstance(expr, Comprehension)]
    if all(loop.iter_var2 for loop in loops) or not any(loop.iter_var2 for loop in loops):
        return
    second = {
        (source.offsets.get(loop.id), loop.iter_var): loop.iter_var2
        for loop in loops
        if loop.iter_var2
    }
    for loop in loops:
        loop.iter_var2 = loop.iter_var2 or second.get(
            (source.offsets.get(loop.id), loop.iter_var), ""
        )


def _refusal(expression: str, message: str) -> CompileFailure | Unsupported:
    if TOO_DEEP.search(message):
        return TOO_DEEP_HERE
    problems = [
        Problem(Position(int(line), int(column)), _reworded(text))
        for line, column, text in REPORTED.findall(message)
        if int(line) != NO_PLACE
    ]
    if not expression:
        return CompileFailure(f"compilation failed: ERROR: <input>:1:0: {problems[0].text}")
    if not problems:
        return Unsupported(f"the expression could not be parsed here: {message}")
    return failure(expression, problems)


def _reworded(text: str) -> str:
    """cel-go's words, where cel-cpp has others for the same fault."""
    for theirs, upstream in WORDING:
        text = theirs.sub(upstream, text)
    return text


def _positions(buffer: bytes) -> Iterator[tuple[int, int]]:
    for number, value in fields(buffer):
        if number == 4:
            entry = dict(fields(value))
            yield entry.get(1, 0), entry.get(2, 0)


def _expr(buffer: bytes) -> Expr:
    expr_id, kind, body = 0, 0, b""
    for number, value in fields(buffer):
        if number == 2:
            expr_id = value
        else:
            kind, body = number, value
    read = _READERS.get(kind)
    if read is None:
        raise ValueError(f"unknown kind of expression: {kind}")
    expr: Expr = read(expr_id, body)
    return expr


def _literal(expr_id: int, body: bytes) -> Literal:
    number, value = fields(body)[0]
    match number:
        case 1:
            return Literal(expr_id, None)
        case 2:
            return Literal(expr_id, bool(value))
        case 3:
            return Literal(expr_id, signed(value))
        case 4:
            return Literal(expr_id, UInt(value))
        case 5:
            return Literal(expr_id, double(value))
        case 6:
            return Literal(expr_id, value.decode())
        case _:
            return Literal(expr_id, value)


def _ident(expr_id: int, body: bytes) -> Ident:
    return Ident(expr_id, dict(fields(body))[1].decode())


def _select(expr_id: int, body: bytes) -> Select:
    found = dict(fields(body))
    return Select(expr_id, _expr(found[1]), found[2].decode(), bool(found.get(3)))


def _call(expr_id: int, body: bytes) -> Call:
    target, function = None, ""
    args: list[Expr] = []
    for number, value in fields(body):
        if number == 1:
            target = _expr(value)
        elif number == 2:
            function = value.decode()
        else:
            args.append(_expr(value))
    return Call(expr_id, function, target, args)


def _list(expr_id: int, body: bytes) -> ListLiteral:
    items: list[Expr] = []
    optional: list[int] = []
    for number, value in fields(body):
        if number == 1:
            items.append(_expr(value))
        else:
            optional += varints(value)
    return ListLiteral(expr_id, items, frozenset(optional))


def _struct(expr_id: int, body: bytes) -> MapLiteral | StructLiteral:
    name = ""
    entries: list[Entry] = []
    for number, value in fields(body):
        if number == 1:
            name = value.decode()
        elif number == 2:
            found = dict(fields(value))
            if 3 in found:
                entry_id, optional = found.get(1, 0), bool(found.get(5))
                entries.append(Entry(entry_id, _expr(found[3]), _expr(found[4]), optional))
    return StructLiteral(expr_id, name) if name else MapLiteral(expr_id, entries)


def _comprehension(expr_id: int, body: bytes) -> Comprehension:
    found = dict(fields(body))
    names = [found.get(number, b"").decode() for number in (1, 8, 3)]
    return Comprehension(
        expr_id,
        iter_var=names[0],
        iter_var2=names[1],
        iter_range=_expr(found[2]),
        accu_var=names[2],
        accu_init=_expr(found[4]),
        condition=_expr(found[5]),
        step=_expr(found[6]),
        result=_expr(found[7]),
    )


_READERS: dict[int, Any] = {
    3: _literal,
    4: _ident,
    5: _select,
    6: _call,
    7: _list,
    8: _struct,
    9: _comprehension,
}
