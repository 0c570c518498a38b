"""Which part of the device each expression stands for, through binds."""

from __future__ import annotations

from domain.placement.cel.syntax import (
    Call,
    Comprehension,
    Expr,
    Ident,
    Literal,
    Select,
    children,
)

INDEXING = ("_[_]", "_?._", "_[?_]")


def places(root: Expr) -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    _walk(root, {"device": (), ".device": ()}, found)
    return found


def _walk(expr: Expr, known: dict[str, tuple[str, ...]], found: dict[int, tuple[str, ...]]) -> None:
    if isinstance(expr, Comprehension):
        _comprehension(expr, known, found)
        return
    for child in children(expr):
        _walk(child, known, found)
    place = _place(expr, known, found)
    if place is not None:
        found[expr.id] = place


def _comprehension(
    expr: Comprehension, known: dict[str, tuple[str, ...]], found: dict[int, tuple[str, ...]]
) -> None:
    _walk(expr.iter_range, known, found)
    _walk(expr.accu_init, known, found)
    inner = {
        name: place
        for name, place in known.items()
        if name not in (expr.accu_var, expr.iter_var, expr.iter_var2)
    }
    if expr.is_bind and expr.accu_init.id in found:
        inner[expr.accu_var] = found[expr.accu_init.id]
    for part in (expr.condition, expr.step, expr.result):
        _walk(part, inner, found)
    if expr.is_bind and expr.result.id in found:
        found[expr.id] = found[expr.result.id]


def _place(
    expr: Expr, known: dict[str, tuple[str, ...]], found: dict[int, tuple[str, ...]]
) -> tuple[str, ...] | None:
    match expr:
        case Ident():
            return known.get(expr.name)
        case Select() if expr.operand.id in found:
            return (*found[expr.operand.id], expr.field)
        case Call() if expr.function in INDEXING and expr.args[0].id in found:
            key = expr.args[1]
            if isinstance(key, Literal) and isinstance(key.value, str):
                return (*found[expr.args[0].id], key.value)
    return None
