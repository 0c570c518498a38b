"""Only content that keeps every rule becomes a pattern."""

from typing import Any

import pytest

from domain import patterns
from domain.deviceclasses import class_from, manifest, refuse_errors, remarks
from domain.errors import InvalidValue
from tests.domain.patterns.test_rendering import content


def request(**changes: Any) -> dict[str, Any]:
    return content(requests=[{"name": "r", "device_class": "c"} | changes], parameters=[])


def parameters(*found: dict[str, Any]) -> dict[str, Any]:
    return content(parameters=list(found), requests=[{"name": "r", "device_class": "c"}])


BARE: dict[str, Any] = {"device_plugin": None}
CHOICE = {"name": "c", "kind": "choice", "default": "a", "choices": ["a"]}
COUNT = {"name": "count", "kind": "count", "default": 1}


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        (content(extra=1), "extra"),
        (request() | {"requests": []} | BARE, "requests"),
        (request(name="Not Good") | BARE, "requests[0].name"),
        (request(device_class="bad_class") | BARE, "requests[0].device_class"),
        (request(count=0) | BARE, "requests[0].count"),
        (request(count=33) | BARE, "requests[0].count"),
        (request(count="2") | BARE, "requests[0].count"),
        (request(count_parameter="none") | BARE, "requests[0].count_parameter"),
        (
            request(terms=[{"op": "equals", "key": "x", "value": "y"}]) | BARE,
            "requests[0].terms[0].key",
        ),
        (
            request(terms=[{"op": "equals", "key": 'a"b.c/d', "value": "y"}]) | BARE,
            "requests[0].terms[0].key",
        ),
        (request(terms=[{"op": "equals", "key": "a.b/c"}]) | BARE, "requests[0].terms[0]"),
        (
            request(terms=[{"op": "at-least", "key": "a.b/c", "value": "lots"}]) | BARE,
            "requests[0].terms[0].value",
        ),
        (
            request(terms=[{"op": "matches", "key": "a.b/c", "value": "y"}]) | BARE,
            "requests[0].terms[0].op",
        ),
        (parameters(COUNT, COUNT) | BARE, "parameters"),
        (parameters({**COUNT, "default": 40}) | BARE, "parameters[0].default"),
        (parameters({**COUNT, "name": "not good"}) | BARE, "parameters[0].name"),
        (
            parameters({"name": "c", "kind": "choice", "default": "a"}) | BARE,
            "parameters[0].choices",
        ),
        (
            parameters({"name": "c", "kind": "choice", "default": "b", "choices": ["a"]}) | BARE,
            "parameters[0].default",
        ),
        (
            parameters({"name": "c", "kind": "choice", "default": "a\n", "choices": ["a\n"]})
            | BARE,
            "parameters[0].choices[0]",
        ),
        (
            request() | {"device_plugin": {"resource": "cpu", "node_labels": []}},
            "device_plugin.resource",
        ),
        (
            request() | {"device_plugin": {"resource": "requests.kubernetes.io/x"}},
            "device_plugin.resource",
        ),
        (request() | {"device_plugin": {}}, "device_plugin"),
        (
            request()
            | {
                "device_plugin": {
                    "resource": "nvidia.com/gpu",
                    "node_labels": [{"op": "equals", "label": "a/b", "value": "NVIDIA L40S"}],
                }
            },
            "device_plugin.node_labels[0].spelling",
        ),
        (request() | {"match_attributes": ["pcieRoot"]} | BARE, "match_attributes[0]"),
    ],
)
def test_what_breaks_a_rule_is_refused_with_its_path(changed: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        patterns.pattern_from(changed)
    assert refused.value.field == field


@pytest.mark.parametrize("content_", [None, [], "x", 1, {"requests": "x"}, {"parameters": {}}])
def test_other_shapes_are_refused_too(content_: object) -> None:
    with pytest.raises(InvalidValue):
        patterns.pattern_from(content_)


def test_content_reads_back_as_the_same() -> None:
    pattern = patterns.pattern_from(content())
    assert patterns.pattern_from(patterns.content_of(pattern)) == pattern


def test_two_requests_are_charged_each_to_its_class() -> None:
    both = {
        "parameters": [],
        "requests": [
            {"name": "a", "device_class": "x", "count": 2},
            {"name": "b", "device_class": "y"},
            {"name": "c", "device_class": "x"},
        ],
    }
    pattern = patterns.pattern_from(both)
    assert patterns.charge(pattern, {}) == {"x": 3, "y": 1}
    assert pattern.classes == ("x", "y")


@pytest.mark.parametrize(
    ("found", "field"),
    [
        ({"selectors": []}, "selectors"),
        ({"selectors": [" "]}, "selectors[0]"),
        ({"selectors": ["a" * 10_241]}, "selectors[0]"),
        ({"selectors": ["true"], "selector": "x"}, "selector"),
        ({"selectors": ["true"], "extended_resource_name": "gpu"}, "extended_resource_name"),
        ({"selectors": "true"}, "selectors"),
    ],
)
def test_class_content_keeps_its_rules(found: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        class_from(found)
    assert refused.value.field == field


def test_a_class_becomes_a_device_class() -> None:
    found = class_from({"selectors": ["a", "b"], "extended_resource_name": "nvidia.com/gpu"})
    made = manifest("h100", 3, found)
    assert [one["cel"]["expression"] for one in made["spec"]["selectors"]] == ["a", "b"]
    assert made["spec"]["extendedResourceName"] == "nvidia.com/gpu"
    assert made["metadata"]["annotations"] == {"claimyard.dev/version": "3"}


def test_a_selector_that_does_not_compile_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidValue) as refused:
        refuse_errors(class_from({"selectors": ["true", "device.foo == 1"]}))
    assert refused.value.field == "selectors[1]"
    assert "undefined field 'foo' (line 1, column 7)" in str(refused.value)


def test_what_was_hardly_meant_is_remarked_and_not_refused() -> None:
    found = class_from({"selectors": ["true"]})
    refuse_errors(found)
    assert [one.text for one in remarks(found.selectors)] == ["is true for every device."]
