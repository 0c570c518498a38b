"""What is said of selectors before a cluster sees them."""

from __future__ import annotations

import pytest

from domain.placement.cel import DeviceView
from domain.placement.cel.lint import ERROR, WARNING, Finding, Published, lint

D = 'device.attributes["gpu.example.com"]'
C = 'device.capacity["gpu.example.com"]'
OWN = 'device.driver == "gpu.example.com" && '


def gpu(index: int) -> DeviceView:
    attributes = {
        "model": {"string": "a100"},
        "index": {"int": index},
        "driverVersion": {"version": "550.54.15"},
        "mig": {"bool": False},
        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:00"},
        "example.com/links": {"strings": ["l0"]},
    }
    if index:
        attributes["nvlink"] = {"bool": True}
    return DeviceView(
        "gpu.example.com",
        {"attributes": attributes, "capacity": {"memory": {"value": "40Gi"}}},
    )


NIC = DeviceView("nic.example.com", {"attributes": {"speed": {"int": 100}}})
FLEET = Published.of([*map(gpu, range(4)), NIC])


def only(expression: str, published: Published | None = FLEET) -> Finding:
    found = lint(expression, published)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    "expression",
    [
        f'{OWN}{D}.model == "a100"',
        f'{D}.?model.orValue("") == "a100"',
        f'has({D}.model) && {D}.model == "a100"',
        f'{D}.model == "a100" && has({D}.model)',
        f'"model" in {D} && {D}.model == "a100"',
        f"!has({D}.nvlink) || {D}.nvlink",
        f"has({D}.nvlink) ? {D}.nvlink : false",
        f"cel.bind(g, {D}, has(g.nvlink) && g.nvlink)",
        f'{OWN}{C}.memory.compareTo(quantity("40Gi")) >= 0',
        f'{OWN}{D}.driverVersion.isGreaterThan(semver("535.0.0"))',
        f'{OWN}{D}.model in ["a100", "h100"]',
        'device.attributes[?"gpu.example.com"].model.orValue("") == "a100"',
    ],
)
def test_a_sound_selector_gets_no_remark(expression: str) -> None:
    assert lint(expression, FLEET) == ()


@pytest.mark.parametrize(
    ("expression", "code", "advice"),
    [
        ('device.attributes["gpu.exmple.com"].?m.hasValue()', "domain", "gpu.example.com"),
        (f'{OWN}{D}.modle == "a100"', "name", 'Did you mean "model"?'),
        (f"{OWN}{D}.memory.isInteger()", "name", f"Read {C}.memory."),
        (f'{OWN}{D}.pcieRoot == "p"', "name", 'device.attributes["resource.kubernetes.io"]'),
        ('device.driver == "gpu.exampl.com"', "driver", "gpu.example.com"),
        (f"{OWN}{D}.nvlink", "guard", "orValue"),
        (f'{OWN}{D}.index == "2"', "kind", "Write 2 without quotes."),
        (f'{OWN}{D}.mig == "true"', "kind", "Write true without quotes."),
        (f'{OWN}{D}.driverVersion == "550.54.15"', "kind", 'semver("550.54.15")'),
        (f'{OWN}{D}.model.isGreaterThan(semver("1.0.0"))', "kind", "semver("),
        (f'{OWN}{D}.driverVersion.startsWith("550")', "kind", "major()"),
        (f'{OWN}{C}.memory.isGreaterThan(quantity("40G"))', "quantity", '40Gi"'),
        (f'{OWN}{C}.memory.isGreaterThan(quantity("40GB"))', "quantity", 'quantity("40G")'),
        (f'{OWN}{D}.driverVersion.isGreaterThan(semver("535"))', "version", 'semver("535", true)'),
        (f"{OWN}{C}.memory == {C}.memory.add(1)", "quantity", "compareTo"),
        ("device.name == 'x'", "compile", "It is not visible."),
        (f'{C}.memory >= quantity("1Gi")', "compile", "isGreaterThan()"),
        ("device.attributes.model == 'x'", "compile", "filed under a domain"),
    ],
)
def test_a_common_mistake_is_named_with_what_to_write(
    expression: str, code: str, advice: str
) -> None:
    found = [finding for finding in lint(expression, FLEET) if finding.code == code]
    assert found, lint(expression, FLEET)
    assert advice in found[0].advice


def test_a_syntax_error_has_its_place() -> None:
    finding = lint("true &&\n  ||")[0]
    assert (finding.severity, finding.code) == (ERROR, "syntax")
    assert finding.position is not None
    assert finding.position.line == 2


def test_a_single_equals_sign_is_explained() -> None:
    assert "Compare with ==." in [finding.advice for finding in lint('device.driver = "x"')]


def test_a_value_that_some_devices_lack_is_counted() -> None:
    assert only(f"{D}.nvlink").message.startswith("2 of 5 devices do not have ")


def test_without_a_fleet_every_unguarded_read_is_named() -> None:
    finding = only(f'{D}.model == "a100"', published=None)
    assert (finding.severity, finding.code) == (WARNING, "guard")


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("true", "is true for every device"),
        ("1 == 2", "is false for every device"),
        (f"has({D}.model) || !has({D}.model)", "is true for every device"),
        (
            'device.driver == "gpu.example.com" && device.driver == "nic.example.com"',
            "is false for every device",
        ),
        (f"has({D}.model) && {D}.model in []", "is false for every device"),
    ],
)
def test_a_selector_that_cannot_tell_devices_apart_is_named(expression: str, words: str) -> None:
    finding = only(expression)
    assert finding.code == "always"
    assert finding.message.startswith(words)


def test_an_order_comparison_is_never_called_constant() -> None:
    assert lint(f"{OWN}{D}.index > 2 && {D}.index < 4", FLEET) == ()


def test_an_error_that_no_device_escapes_is_an_error() -> None:
    codes = {finding.code: finding for finding in lint("1 / 0 == 1", FLEET)}
    assert codes["always"].severity == ERROR
    assert "division by zero" in codes["always"].message


def test_a_cost_above_the_limit_is_an_error() -> None:
    nested = "device.attributes.exists(a, device.attributes[a].exists(b, device.attributes.exists("
    nested += "c, device.attributes[c].exists(d, b == d))))"
    finding = only(nested)
    assert (finding.severity, finding.code) == (ERROR, "cost")
    assert "1,000,000" in finding.message


def test_too_long_an_expression_is_an_error() -> None:
    assert only(f'device.driver == "{"x" * 10_240}"').code == "length"


def test_what_cannot_be_judged_is_a_warning() -> None:
    finding = only("(" * 33 + "true" + ")" * 33)
    assert (finding.severity, finding.code) == (WARNING, "unsupported")


def test_the_gravest_remark_comes_first() -> None:
    found = lint(f'{D}.modle == "x" && quantity("40GB").isInteger()', FLEET)
    assert [finding.severity for finding in found] == [ERROR, WARNING]
