"""Selectors that are always true or always false.

An expression that reads nothing is simply evaluated. One that only compares values
for equality with constants is tried on every combination of those constants, of
some other value, and of no value at all: it cannot tell more cases apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import Any

from domain.placement.cel.device import DeviceView, Path
from domain.placement.cel.errors import SelectorError
from domain.placement.cel.lint.findings import ERROR, WARNING, Finding, Subject
from domain.placement.cel.syntax import (
    Call,
    Comprehension,
    Expr,
    ListLiteral,
    Literal,
    MapLiteral,
    StructLiteral,
    UInt,
    walk,
)

EQUALITY = frozenset(["_&&_", "_||_", "!_", "_==_", "_!=_", "@in", "_[_]", "_?_:_"])
KINDS: dict[type, str] = {bool: "bool", int: "int", UInt: "int", str: "string"}
MOST_CASES = 4096
OTHER = "none-of-the-named"
OTHER_NUMBER = 7_919_000_000_000_001


def always(subject: Subject) -> list[Finding]:
    reads = subject.program.reads
    if reads is None or not (reads == frozenset() or _only_equality(subject.root)):
        return []
    outcomes = {_outcome(subject, view) for view in _views(subject)}
    if outcomes == {True}:
        return [Finding(WARNING, "always", "is true for every device")]
    if outcomes == {False}:
        return [Finding(WARNING, "always", "is false for every device, whatever it has")]
    if not reads and outcomes == {None}:
        return [Finding(ERROR, "always", f"fails on every device: {_failure(subject)}")]
    return []


def _only_equality(root: Expr) -> bool:
    for expr in walk(root):
        if isinstance(expr, Call) and expr.function not in EQUALITY:
            return False
        if isinstance(expr, Comprehension | MapLiteral | StructLiteral):
            return False
        if isinstance(expr, ListLiteral) and expr.optional:
            return False
        if isinstance(expr, Literal) and isinstance(expr.value, float | bytes | None):
            return False
    return True


def _outcome(subject: Subject, view: DeviceView) -> bool | None:
    try:
        return subject.program.evaluate(view)
    except SelectorError:
        return None


def _failure(subject: Subject) -> str:
    try:
        subject.program.evaluate(next(_views(subject)))
    except SelectorError as error:
        return error.message
    return ""


def _views(subject: Subject) -> Iterator[DeviceView]:
    """Devices that differ in everything that the expression can tell apart."""
    reads = sorted(subject.program.reads or ())
    constants = _constants(subject.root)
    choices = [_choices(path, constants) for path in reads]
    total = 1
    for choice in choices:
        total *= len(choice)
    if total > MOST_CASES:
        choices = [[None]]
        reads = []
    for case in islice(product(*choices), MOST_CASES):
        yield _view(dict(zip(reads, case, strict=False)))
    if total > MOST_CASES:
        yield _view({Path("driver"): OTHER})


def _constants(root: Expr) -> list[Any]:
    found = [expr.value for expr in walk(root) if isinstance(expr, Literal)]
    return list({(type(value), value): value for value in found}.values())


def _choices(path: Path, constants: list[Any]) -> list[Any]:
    texts = [value for value in constants if isinstance(value, str)]
    if path.part == "driver":
        return [*texts, OTHER]
    if path.part == "allowMultipleAllocations":
        return [True, False]
    if path.part == "capacity":
        return [None, {"value": "7919"}]
    values = [{KINDS[type(value)]: value} for value in constants if type(value) in KINDS]
    others = [{"string": OTHER}, {"int": OTHER_NUMBER}, {"bool": True}, {"bool": False}]
    return [None, *values, *others]


def _view(case: dict[Path, Any]) -> DeviceView:
    device: dict[str, Any] = {"attributes": {}, "capacity": {}}
    for path, value in case.items():
        if path.part == "allowMultipleAllocations":
            device["allowMultipleAllocations"] = value
        elif path.part != "driver" and value is not None:
            domain = path.domain or case.get(Path("driver"), OTHER)
            device[path.part][f"{domain}/{path.name or OTHER}"] = value
    return DeviceView(case.get(Path("driver"), OTHER), device)
