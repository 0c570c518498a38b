"""Which parts of a device a selector reads, and what follows for memory of verdicts."""

from __future__ import annotations

import pytest

from domain.placement.cel import DeviceView, Path, Program, compile_selector

D = 'device.attributes["d.example.com"]'
MODEL = Path("attributes", "d.example.com", "model")
INDEX = Path("attributes", "d.example.com", "index")


def program(expression: str) -> Program:
    compiled = compile_selector(expression)
    assert isinstance(compiled, Program), compiled
    return compiled


@pytest.mark.parametrize(
    ("expression", "reads"),
    [
        ("true", set()),
        ('device.driver == "x"', {Path("driver")}),
        (f'{D}.model == "a"', {MODEL}),
        (f'{D}["model"] == "a" && {D}.index > 1', {MODEL, INDEX}),
        (f"has({D}.model)", {MODEL._replace(presence=True)}),
        (f'"model" in {D}', {MODEL._replace(presence=True)}),
        (f"{D}.?model.hasValue()", {MODEL._replace(presence=True)}),
        (f'{D}.?model.orValue("x") == "a"', {MODEL}),
        ('"d.example.com" in device.attributes', {Path("attributes", "d.example.com", "", True)}),
        (f'cel.bind(d, {D}, d.model == "a" && d.index == 1)', {MODEL, INDEX}),
        (f'["a", "b"].exists(x, x == {D}.model)', {MODEL}),
        (
            '["d.example.com", "e.example.com"].exists(x, has(device.attributes[x].model))',
            {
                MODEL._replace(presence=True),
                Path("attributes", "e.example.com", "model", presence=True),
            },
        ),
        ("device.attributes[device.driver].model == 1", {Path("attributes", "", "model")}),
        (f"{D}.links.exists(l, l == {D}.model)", {INDEX._replace(name="links"), MODEL}),
        (f"[{D}.model].exists(x, true)", {MODEL}),
    ],
)
def test_reads_are_followed_through_binds_guards_and_constant_lists(
    expression: str, reads: set[Path]
) -> None:
    assert program(expression).reads == frozenset(reads)


@pytest.mark.parametrize(
    "expression",
    [
        "device.attributes.exists(d, true)",
        f"{D}.size() > 0",
        f"{D} == {{}}",
        f"device.attributes[{D}.model].x == 1",
        "device == device",
        f"{D}.all(k, k != 'x')",
    ],
)
def test_what_may_read_anything_has_no_reads(expression: str) -> None:
    assert program(expression).reads is None


def test_values_of_different_types_are_projected_apart() -> None:
    compiled = program(f"{D}.index == 1")
    one, true = (
        DeviceView("d.example.com", {"attributes": {"index": {kind: value}}})
        for kind, value in (("int", 1), ("bool", True))
    )
    assert compiled.project(one) != compiled.project(true)
    assert compiled.evaluate(one) is True
    assert compiled.evaluate(true) is False


def test_devices_that_differ_elsewhere_are_projected_together() -> None:
    compiled = program(f'{D}.model == "a"')
    views = [
        DeviceView("d.example.com", {"attributes": {"model": {"string": "a"}, "n": {"int": n}}})
        for n in range(2)
    ]
    assert compiled.project(views[0]) == compiled.project(views[1])


def test_a_name_with_its_domain_is_the_name_without_it_on_that_drivers_devices() -> None:
    compiled = program(f'{D}.model == "a"')
    short = DeviceView("d.example.com", {"attributes": {"model": {"string": "a"}}})
    full = DeviceView("d.example.com", {"attributes": {"d.example.com/model": {"string": "a"}}})
    foreign = DeviceView("e.example.com", {"attributes": {"d.example.com/model": {"string": "a"}}})
    assert compiled.project(short) == compiled.project(full) == compiled.project(foreign)
    assert [compiled.evaluate(view) for view in (short, full, foreign)] == [True, True, True]


def test_a_faulty_device_is_projected_apart() -> None:
    compiled = program("true")
    sound = DeviceView("d.example.com", {"attributes": {"v": {"version": "1.0.0"}}})
    faulty = DeviceView("d.example.com", {"attributes": {"v": {"version": "1"}}})
    assert compiled.project(sound) != compiled.project(faulty)
