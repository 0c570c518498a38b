"""Selectors against Kubernetes' own CEL code, on generated expressions and on a list of edges."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from domain.placement.cel import (
    CompileFailure,
    DerivedProgram,
    DeviceView,
    SelectorError,
    Unsupported,
    compile_derived,
    compile_selector,
)
from domain.placement.cel.declarations import functions
from domain.placement.cel.environment import ADMISSION, SCHEDULER, Environment
from domain.placement.cel.functions.binding import implemented
from domain.placement.cel.types import shown
from tests.oracle.cel_compare import ACCEPTED, UNSUPPORTED, Difference, compare, questions
from tests.oracle.cel_oracle import Question, ask, declarations, module

pytestmark = pytest.mark.oracle

HERE = Path(__file__).parent
TABLE = HERE.parent.parent / "docs" / "placement-cel-differences.md"
COUNT = int(os.environ.get("CEL_CASES", "4000"))
SEED = int(os.environ.get("CEL_SEED", "20261130"))
GPU = {
    "attributes": {
        "model": {"string": "a100"},
        "index": {"int": 2},
        "driverVersion": {"version": "1.2.3"},
        "mig": {"bool": True},
        "example.com/links": {"strings": ["l0", "l1"]},
        "example.com/levels": {"ints": [1, 2]},
        "example.com/builds": {"versions": ["1.0.0"]},
    },
    "capacity": {"memory": {"value": "40Gi"}},
}
BARE = ("nic.example.com", {"attributes": {}, "allowMultipleAllocations": True})


def unexpected(found: list[Difference]) -> list[Difference]:
    return [difference for difference in found if difference.kind not in ACCEPTED]


def test_generated_selectors_compile_cost_and_decide_as_in_kubernetes() -> None:
    found, tally = compare(questions(COUNT, SEED))
    assert unexpected(found) == []
    assert tally.compiled > COUNT // 2
    assert tally.matches > COUNT // 4
    assert tally.errors > COUNT // 4
    kinds = Counter(difference.kind for difference in found)
    assert sum(kinds.values()) <= COUNT // 100 + 5, kinds


def test_selectors_at_the_edges_of_the_language_decide_as_in_kubernetes() -> None:
    lines = (HERE / "cel_cases.txt").read_text().splitlines()
    asked = [
        Question(line, [("gpu.example.com", GPU), BARE], admission=admission)
        for line in lines
        if not line.startswith("#")
        for admission in (False, True)
    ]
    found, tally = compare(asked)
    assert unexpected(found) == []
    assert tally.compiled > len(asked) // 2


@pytest.mark.parametrize(
    "expression",
    [
        'device.attributes["gpu.example.com"].model + "-x"',
        'device.attributes["gpu.example.com"].index * 2',
        'device.attributes["gpu.example.com"].driverVersion',
        'device.attributes["gpu.example.com"].mig',
        'device.attributes["example.com"].links.map(l, l + "x")',
        'device.attributes["example.com"].builds',
        'device.attributes["example.com"].levels',
        '[device.attributes["gpu.example.com"].index, device.attributes["gpu.example.com"].model]',
        'device.attributes["gpu.example.com"].nosuch',
        "dyn(1.5)",
        "dyn(1u)",
        "dyn([])",
        'dyn(["a"])',
        "dyn([1.5])",
        "dyn(null)",
        'dyn(quantity("1"))',
        'dyn(optional.of("a"))',
        "dyn(type(1))",
        "1.5",
        '{"a": 1}',
        "[[1]]",
        'semver("1.2.3-rc.1+b")',
    ],
)
def test_derived_attributes_are_those_of_kubernetes(expression: str) -> None:
    devices = [("gpu.example.com", GPU), BARE]
    answer = ask([Question(expression, devices, derived=True)])[0]
    compiled = compile_derived(expression)
    assert not isinstance(compiled, Unsupported)
    if isinstance(compiled, CompileFailure):
        assert compiled.message == answer["compile_error"]
        return
    for (driver, device), result in zip(devices, answer["results"], strict=True):
        assert derived(compiled, DeviceView(driver, device)) == (
            result.get("error") or result["attribute"]
        )


def derived(program: DerivedProgram, view: DeviceView) -> object:
    """The attribute as the API writes it, or the error."""
    try:
        kind, value = program.evaluate(view)
    except SelectorError as error:
        return error.message
    return {} if value == [] else {kind: value}


def test_upstreams_own_test_expressions_decide_as_in_kubernetes() -> None:
    """The expressions of the selector tests in the Go module that the oracle is built from."""
    source = (module("k8s.io/dynamic-resource-allocation") / "cel/compile_test.go").read_text()
    found = re.findall(r"expression:\s*`([^`]*)`", source)
    assert len(found) > 50
    name = "dra.example.com"
    kinds = {
        "string": "fish",
        "int": 1,
        "bool": True,
        "version": "1.0.0",
        "strings": ["fish", "bird"],
        "ints": [1, 2],
        "bools": [True],
        "versions": ["1.0.0", "0.0.1"],
    }
    devices = [
        (name, {"attributes": {"name": {kind: value}, "type": {kind: value}}})
        for kind, value in kinds.items()
    ]
    devices.append((name, {"capacity": {"name": {"value": "1Mi"}}}))
    asked = [
        Question(text, devices, admission=admission)
        for text in found
        for admission in (False, True)
    ]
    differences, tally = compare(asked)
    assert unexpected(differences) == []
    assert tally.matches > len(found)


def test_every_function_is_declared_as_in_kubernetes() -> None:
    theirs: dict[str, list[str]] = {"StoredExpressions": [], "NewExpressions": []}
    for line in declarations():
        kind, _, rest = line.partition(" ")
        if not rest.startswith("variable "):
            theirs[kind].append(rest)
    assert _declared(SCHEDULER) == theirs["StoredExpressions"]
    assert _declared(ADMISSION) == theirs["NewExpressions"]


def _declared(environment: Environment) -> list[str]:
    """One overload a line, in the order in which they are tried."""
    return [
        f"{name} {'member' if overload.member else 'global'} {overload.id} "
        f"({', '.join(map(shown, overload.args))}) {shown(overload.result)}"
        for name, overloads in sorted(functions(environment).items())
        for overload in overloads
    ]


def test_every_function_that_a_selector_can_reach_is_implemented() -> None:
    special = {"_&&_", "_||_", "_?_:_", "_[_]", "_[?_]", "_?._", "@not_strictly_false"}
    special |= {"@in", "or", "orValue", "__not_strictly_false__"}
    missing = {
        overload.id
        for name, overloads in functions(SCHEDULER).items()
        for overload in overloads
        if name not in special and not {name, overload.id} & implemented()
    }
    # No selector gets hold of an authorizer; formatted text is answered with "unsupported".
    unreachable = {"string_format"}
    unreachable |= {
        overload.id
        for overloads in functions(SCHEDULER).values()
        for overload in overloads
        if overload.args and overload.args[0].name.startswith("kubernetes.authorization.")
    }
    assert missing == unreachable


def test_the_table_of_differences_names_every_accepted_kind() -> None:
    rows = re.findall(r"^\| `([^`]+)` \|", TABLE.read_text(), re.MULTILINE)
    assert set(rows) == ACCEPTED


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 33 + "true" + ")" * 33,
        "true ? true : " * 40 + "false",
    ],
)
def test_what_our_parser_nests_too_little_for_is_unsupported_and_never_refused(
    expression: str,
) -> None:
    assert "compile_error" not in ask([Question(expression)])[0]
    assert isinstance(compile_selector(expression), Unsupported)
    found, _ = compare([Question(expression)])
    assert [difference.kind for difference in found] == [UNSUPPORTED]
