"""What selectors say of devices."""

from __future__ import annotations

from typing import Any

import pytest

from domain.placement.cel import (
    ADMISSION,
    CompileFailure,
    DeviceView,
    Environment,
    Program,
    SelectorError,
    Unsupported,
    compile_derived,
    compile_selector,
    evaluator,
)

GPU = DeviceView(
    "gpu.example.com",
    {
        "attributes": {
            "model": {"string": "a100"},
            "index": {"int": 2},
            "driverVersion": {"version": "550.54.15"},
            "mig": {"bool": True},
            "resource.kubernetes.io/pcieRoot": {"string": "pci0000:00"},
            "example.com/links": {"strings": ["l0", "l1"]},
        },
        "capacity": {"memory": {"value": "40Gi"}},
        "allowMultipleAllocations": True,
    },
)


def program(expression: str, environment: Environment | None = None) -> Program:
    compiled = compile_selector(expression, environment or Environment())
    assert isinstance(compiled, Program), compiled
    return compiled


def failure(expression: str, environment: Environment | None = None) -> CompileFailure:
    compiled = compile_selector(expression, environment or Environment())
    assert isinstance(compiled, CompileFailure), compiled
    return compiled


def error(expression: str, view: DeviceView = GPU) -> str:
    with pytest.raises(SelectorError) as caught:
        program(expression).evaluate(view)
    return caught.value.message


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "gpu.example.com"',
        'device.attributes["gpu.example.com"].model == "a100"',
        'device.attributes["gpu.example.com"]["index"] < 3',
        'device.attributes["resource.kubernetes.io"].pcieRoot.startsWith("pci")',
        'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0',
        'device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("535.0.0"))',
        'device.attributes["gpu.example.com"].?nosuch.orValue("none") == "none"',
        'device.attributes["gpu.example.com"].mig',
        "device.allowMultipleAllocations",
        'cel.bind(g, device.attributes["gpu.example.com"], g.mig && g.index == 2)',
        '"l1" in device.attributes["example.com"].links',
        'device.attributes["example.com"].links.includes("l0")',
        'device.attributes["example.com"].links.exists(l, l.matches("^l[0-9]$"))',
        'sets.contains(device.attributes["example.com"].links, ["l0"])',
        'device.attributes.exists(d, d == "example.com")',
        'device.attributes["gpu.example.com"].model in ["a100", "h100"]',
        '!("nosuch.example.com" in device.attributes)',
        'device.attributes["nosuch.example.com"].size() == 0',
        'device.attributes[device.driver].model == "a100"',
        'device.attributes["gpu.example.com"].nosuch == 1 || true',
    ],
)
def test_a_selector_that_describes_the_device_accepts_it(expression: str) -> None:
    assert program(expression).evaluate(GPU) is True


def test_a_missing_key_fails_with_the_hint_that_kubernetes_gives() -> None:
    assert error('device.attributes["gpu.example.com"].nosuch == 1') == (
        "no such key: nosuch. consider using CEL optional chaining (.? followed by orValue()) "
        "or guarding the check with has() for optional fields"
    )


def test_an_attribute_that_is_no_bool_fails_where_it_is_the_result() -> None:
    assert error('device.attributes["gpu.example.com"].index') == (
        "CEL result of type int could not be converted to bool: "
        "unsupported type conversion from 'int' to bool"
    )


def test_a_version_in_a_constant_list_breaks_off_and_no_or_absorbs_it() -> None:
    version = 'device.attributes["gpu.example.com"].driverVersion'
    assert "hash of unhashable type" in error(f'{version} in ["550.54.15"] || true')


def test_a_computed_quantity_fails_to_the_right_of_equals_only() -> None:
    assert error('quantity("2") == quantity("1").add(1)') == "no such overload"
    assert program('quantity("1").add(1) == quantity("2")').evaluate(GPU)


def test_one_bad_version_makes_every_selector_fail_on_the_device() -> None:
    view = DeviceView("d.example.com", {"attributes": {"v": {"version": "1.2"}}})
    assert error("true", view) == (
        "attribute v: parse semantic version: No Major.Minor.Patch elements found"
    )


def test_an_attribute_without_a_value_makes_every_selector_fail_on_the_device() -> None:
    view = DeviceView("d.example.com", {"attributes": {"v": {}}})
    assert error("true", view) == "attribute v: unsupported attribute value"


@pytest.mark.parametrize(
    ("expression", "message", "line", "column"),
    [
        ("device.drivr", "undefined field 'drivr'", 1, 7),
        ("device.driver == 1", "found no matching overload for '_==_'", 1, 15),
        ("true &&\n  nosuch", "undeclared reference to 'nosuch' (in container '')", 2, 3),
        ("device.driver ==", "Syntax error: mismatched input '<EOF>'", 1, 17),
        ('"a".matches("[")', "invalid matches argument", 1, 13),
        ('[1, "a"].size() > 0', "expected type 'int' but found 'string'", 1, 5),
    ],
)
def test_a_wrong_expression_is_refused_with_its_place(
    expression: str, message: str, line: int, column: int
) -> None:
    refused = failure(expression)
    assert message in refused.message
    assert refused.position is not None
    assert (refused.position.line, refused.position.column) == (line, column)


def test_a_result_that_is_no_bool_is_refused() -> None:
    assert failure("1 + 1").message == "must evaluate to bool or the unknown type, not int"


def test_a_constant_conversion_that_fails_is_refused_when_compiling() -> None:
    assert failure('int("a") == 1').message.startswith("program instantiation failed: ")


def test_the_api_server_admits_less_than_the_scheduler_understands() -> None:
    includes = 'device.attributes["d.example.com"].a.includes(1)'
    assert isinstance(compile_selector(includes), Program)
    assert "undeclared reference to 'includes'" in failure(includes, ADMISSION).message
    listed = Environment(admission=True, list_attributes=True)
    assert isinstance(compile_selector(includes, listed), Program)
    bare = Environment(admission=True, consumable_capacity=False)
    assert "undefined field" in failure("device.allowMultipleAllocations", bare).message


def test_too_deep_an_expression_is_unsupported_and_not_refused() -> None:
    assert isinstance(compile_selector("(" * 33 + "true" + ")" * 33), Unsupported)


def test_a_chain_beyond_pythons_own_stack_is_unsupported() -> None:
    assert isinstance(compile_selector("device" + ".b" * 20_000), Unsupported)


def test_formatted_text_is_unsupported_and_not_refused() -> None:
    assert isinstance(compile_selector('"%s".format(["a"]) == "a"'), Unsupported)


@pytest.mark.parametrize(
    ("expression", "cost"),
    [
        ("true", 0),
        ('device.driver == "x"', 3),
        ('device.attributes["d"].model == "x"', 5),
        ('device.capacity["d"].memory.isGreaterThan(quantity("1Gi"))', 6),
        ('device.attributes["d"].links.exists(x, x == "a")', 389),
        ('"a" in device.attributes["d"].links', 68),
    ],
)
def test_costs_are_those_that_the_api_server_estimates(expression: str, cost: int) -> None:
    assert program(expression).cost == cost


def test_a_selector_above_the_limit_compiles_and_says_so() -> None:
    nested = "device.attributes.exists(a, device.attributes[a].exists(b, device.attributes.exists("
    nested += "c, device.attributes[c].exists(d, b == d))))"
    compiled = program(nested)
    assert compiled.over_limit
    assert not program("true").over_limit


def test_endless_loops_end_with_the_error_of_kubernetes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluator, "MOST_ROUNDS", 500)
    loops = "lists.range(100).all(a, lists.range(100).all(b, a + b >= 0))"
    assert error(loops) == "operation cancelled: actual cost limit exceeded"


@pytest.mark.parametrize(
    ("expression", "attribute"),
    [
        ('device.attributes["gpu.example.com"].model + "-x"', ("string", "a100-x")),
        ("1 + 1", ("int", 2)),
        ('semver("1.2.3")', ("version", "1.2.3")),
        ('device.attributes["example.com"].links.map(l, l + "x")', ("strings", ["l0x", "l1x"])),
    ],
)
def test_a_derived_attribute_has_the_kind_of_its_value(
    expression: str, attribute: tuple[str, Any]
) -> None:
    compiled = compile_derived(expression)
    assert not isinstance(compiled, CompileFailure | Unsupported)
    assert compiled.evaluate(GPU) == attribute


def test_a_derived_attribute_of_another_kind_is_refused() -> None:
    assert isinstance(compile_derived("{1: 2}"), CompileFailure)
