"""All rules, in one order."""

from __future__ import annotations

from collections.abc import Iterator

from domain.placement.cel.environment import (
    ADMISSION,
    COST_LIMIT,
    LENGTH_LIMIT,
    Environment,
)
from domain.placement.cel.errors import CompileFailure, Unsupported
from domain.placement.cel.lint import compiling, constants, guards, kinds, names
from domain.placement.cel.lint.findings import ERROR, RANKS, WARNING, Finding, Rule, Subject
from domain.placement.cel.lint.places import places
from domain.placement.cel.lint.published import Published
from domain.placement.cel.program import compile_selector

RULES: tuple[Rule, ...] = (
    names.unknown_domains,
    names.unknown_names,
    names.unknown_drivers,
    guards.unguarded,
    kinds.mismatched,
    kinds.literals,
    kinds.broken_comparisons,
    constants.always,
)


def lint(
    expression: str, published: Published | None = None, environment: Environment = ADMISSION
) -> tuple[Finding, ...]:
    """The remarks, gravest first. None means that nothing is known against the selector."""
    found = list(_findings(expression, published, environment))
    return tuple(sorted(found, key=lambda finding: RANKS[finding.severity]))


def _findings(
    expression: str, published: Published | None, environment: Environment
) -> Iterator[Finding]:
    length = len(expression.encode())
    if length > LENGTH_LIMIT:
        yield Finding(
            ERROR, "length", f"{length:,} bytes long; the API server takes {LENGTH_LIMIT:,} at most"
        )
        return
    program = compile_selector(expression, environment)
    if isinstance(program, CompileFailure):
        yield from compiling.refused(expression, program)
        return
    if isinstance(program, Unsupported):
        yield Finding(WARNING, "unsupported", f"cannot be judged here: {program.reason}")
        return
    if program.over_limit:
        cost = "without bound" if program.cost is None else f"up to {program.cost:,} units"
        yield Finding(
            ERROR,
            "cost",
            f"costs {cost} by the API server's estimate, which admits {COST_LIMIT:,}",
            advice="Avoid macros inside macros, and patterns or joins on values of unknown length.",
        )
    subject = Subject(program, published, places(program.checked.root))
    for rule in RULES:
        yield from rule(subject)
