"""Compares our selectors with Kubernetes' own, and says what kind each difference is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from domain.placement.cel import (
    SCHEDULER,
    CompileFailure,
    DeviceView,
    Environment,
    Program,
    SelectorError,
    Unsupported,
    compile_selector,
)
from tests.oracle.cel_grammar import random_device, random_expression, random_selector
from tests.oracle.cel_oracle import Question, ask

# Kinds that are known and harmless: the same outcome in other words, or no outcome at all.
# docs/placement-cel-differences.md lists them one by one.
UNSUPPORTED = "unsupported"
SYNTAX_WORDING = "syntax wording"
PATTERN_WORDING = "pattern wording"
ADDRESS_WORDING = "address wording"
POSITION = "position of a message literal"
BROKEN_OFF = "broken off"
MAP_ORDER = "map order"
ACCEPTED = frozenset(
    (UNSUPPORTED, SYNTAX_WORDING, PATTERN_WORDING, ADDRESS_WORDING, POSITION, BROKEN_OFF, MAP_ORDER)
)


@dataclass(frozen=True, slots=True)
class Difference:
    kind: str
    expression: str
    ours: object
    theirs: object
    device: object = None


@dataclass(slots=True)
class Tally:
    """How much was compared, so that an empty run cannot pass."""

    compiled: int = 0
    refused: int = 0
    evaluations: int = 0
    matches: int = 0
    errors: int = 0


def questions(count: int, seed: int, devices: int = 4) -> list[Question]:
    """Half of them what a user would write, half of them anything."""
    rng = Random(seed)
    made = []
    for _ in range(count):
        write = random_selector if rng.random() < 0.5 else random_expression
        made.append(
            Question(
                write(rng),
                [random_device(rng) for _ in range(devices)],
                admission=rng.random() < 0.25,
                consumable_capacity=rng.random() < 0.8,
                list_attributes=rng.random() < 0.5,
            )
        )
    return made


def compare(asked: Iterable[Question]) -> tuple[list[Difference], Tally]:
    asked, tally = list(asked), Tally()
    found: list[Difference] = []
    for question, answer in zip(asked, ask(asked), strict=True):
        found += _compare(question, answer, tally)
    return found, tally


def _environment(question: Question) -> Environment:
    if not question.admission:
        return SCHEDULER
    return Environment(
        admission=True,
        consumable_capacity=question.consumable_capacity,
        list_attributes=question.list_attributes,
    )


def _compare(question: Question, answer: dict[str, Any], tally: Tally) -> Iterator[Difference]:
    expression = question.expression
    program = compile_selector(expression, _environment(question))
    refusal = answer.get("compile_error")
    if isinstance(program, Unsupported):
        yield Difference(UNSUPPORTED, expression, program.reason, refusal or "accepted")
    elif isinstance(program, CompileFailure):
        tally.refused += 1
        if not refusal:
            yield Difference("refused here only", expression, program.message, "accepted")
        elif program.message != refusal:
            yield Difference(
                _wording(program.message, refusal), expression, program.message, refusal
            )
    elif refusal:
        yield Difference("refused there only", expression, "accepted", refusal)
    else:
        tally.compiled += 1
        yield from _compare_program(question, program, answer, tally)


def _compare_program(
    question: Question, program: Program, answer: dict[str, Any], tally: Tally
) -> Iterator[Difference]:
    expression = question.expression
    if program.cost != answer.get("cost"):
        yield Difference("cost", expression, program.cost, answer.get("cost"))
    verdicts: dict[object, tuple[bool, str]] = {}
    for (driver, device), result in zip(question.devices, answer["results"], strict=True):
        view = DeviceView(driver, device)
        ours = verdict(program, view)
        theirs = (result["match"], result.get("error", ""))
        tally.evaluations += 1
        tally.matches += theirs[0]
        tally.errors += bool(theirs[1])
        if (ours[0], bool(ours[1])) != (theirs[0], bool(theirs[1])):
            yield Difference("verdict", expression, ours, theirs, (driver, device))
        elif ours != theirs:
            kind = _wording(ours[1], theirs[1])
            if kind == "wording" and program.reads is None:
                kind = MAP_ORDER
            yield Difference(kind, expression, ours, theirs)
        known = verdicts.setdefault(program.project(view), ours)
        if known != ours:
            yield Difference("projection", expression, known, ours, program.reads)


def verdict(program: Program, view: DeviceView) -> tuple[bool, str]:
    try:
        return program.evaluate(view), ""
    except SelectorError as error:
        return False, error.message


def _wording(ours: str, theirs: str) -> str:
    """Which known kind two different texts of one error are; "wording" if none."""
    if "Syntax error" in ours and "Syntax error" in theirs:
        return SYNTAX_WORDING
    for kind, pattern in (
        (PATTERN_WORDING, r"error parsing regexp"),
        (ADDRESS_WORDING, r"Parse(Addr|Prefix)\("),
        (BROKEN_OFF, r"^internal error: "),
    ):
        if re.search(pattern, ours) and re.search(pattern, theirs):
            return kind
    strip = re.compile(r"<input>:\d+:\d+|\.*\^$", re.MULTILINE)
    if "undeclared reference" in ours and strip.sub("", ours) == strip.sub("", theirs):
        return POSITION
    return "wording"
