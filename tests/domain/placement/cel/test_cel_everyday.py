"""Where the everyday parser has an answer, it is the library's, numbers and places included."""

import random
from dataclasses import fields
from typing import Any

import pytest

from domain.placement.cel import everyday, syntax
from domain.placement.cel.environment import SCHEDULER
from domain.placement.cel.program import compile_selector
from tests.oracle.cel_grammar import random_expression, random_selector

D = 'device.attributes["gpu.example.com"]'
EVERYDAY = (
    'device.driver == "gpu.example.com"',
    f"{D}.index < 8 && {D}.brand != 'x' && {D}.mig",
    f'{D}.productName.startsWith("NVIDIA") || {D}.index in [1, 2, 3]',
    'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0',
    f'!("x" in {D}) && (1 + 2 * 3 - 4 % 3 == 6 || {D}.a.b.c[0] > size([1, [2], []]))',
    f'{D}.model == "a100" ? {D}.index < 4 : true',
    "a && b && c && d || e && f || g && (h || i || j || k || l)",
    "a < b == c",
    "semver('1.2.3').isGreaterThan(semver(\"1.2.0\")) != null",
)
LEFT_TO_THE_LIBRARY = (
    "",
    "a &&",
    "has(device.x)",
    'device.attributes["a"].?b.orValue(1) == 1',
    "[1, 2].exists(x, x == 1)",
    r'"\n" == "a"',
    '"""a""" == "a"',
    'r"a" == "a"',
    "1.5 > 1.0",
    "1u == 1u",
    "-1 < 0",
    "!!true",
    "{1: 2}[1] == 2",
    "a.namespace == 1",
    "true // comment",
    "f(1)",
    "12345678901234567890 > 0",
    "[1,]",
    "((((((((1))))))))",
    "a" + ".b" * 40,
    " + ".join("1" * 40),
)


def shape(expr: Any) -> Any:
    """Kind, number and content of a node and of all below it."""
    if isinstance(expr, list):
        return [shape(one) for one in expr]
    if not isinstance(expr, syntax.Expr):
        return type(expr).__name__, expr
    return type(expr).__name__, [shape(getattr(expr, one.name)) for one in fields(expr)]


def agrees(text: str) -> bool:
    """False where the everyday parser has no answer; fails where it has another one."""
    found = everyday.parse(text)
    if found is None:
        return False
    wanted = syntax.parse(text)
    assert isinstance(wanted, tuple), text
    assert shape(found[0]) == shape(wanted[0]), text
    assert found[1].offsets == wanted[1].offsets, text
    return True


@pytest.mark.parametrize("text", EVERYDAY)
def test_everyday_selectors_get_the_library_s_tree(text: str) -> None:
    assert agrees(text)


@pytest.mark.parametrize("text", LEFT_TO_THE_LIBRARY)
def test_what_goes_beyond_is_left_to_the_library(text: str) -> None:
    assert everyday.parse(text) is None


def test_generated_expressions_get_the_library_s_tree_or_none_here() -> None:
    rng = random.Random(7)
    texts = [make(rng) for make in (random_selector, random_expression) for _ in range(1500)]
    assert sum(map(agrees, texts)) > 150


def test_the_deepest_that_is_parsed_here_the_library_parses_too() -> None:
    inner = "1"
    for _ in range(everyday.MOST_NESTED - 1):
        inner = f"({inner} + 1 + 1 + 1 + 1 < 2 && !x[0][1][2][3][4][5][6])"
    assert agrees(inner)
    assert everyday.parse(f"(({inner}))") is None


def test_an_error_is_told_with_its_place() -> None:
    text = f'{D}.index < 8 && {D}.index.startsWith("1") && nothing == 1'
    found = compile_selector(text, SCHEDULER)
    assert "undeclared reference to 'nothing'" in found.message  # type: ignore[union-attr]
    assert f"<input>:1:{text.index('nothing') + 1}:" in found.message  # type: ignore[union-attr]
