"""Values in, CEL and claims out; hostile text stays text."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain import patterns
from domain.errors import InvalidValue
from domain.patterns.names import cel_string
from tests.domain.patterns.matching import matches

PRODUCT = "gpu.nvidia.com/productName"
MEMORY = "gpu.nvidia.com/memory"


def content(**changes: Any) -> dict[str, Any]:
    """A pattern with one parameter of each kind."""
    return {
        "parameters": [
            {"name": "count", "kind": "count", "default": 1, "most": 4},
            {"name": "memory", "kind": "memory", "default": "40Gi", "least": "1Gi", "most": "80Gi"},
            {
                "name": "product",
                "kind": "choice",
                "default": "",
                "choices": ["NVIDIA L40S", "H100"],
                "optional": True,
            },
        ],
        "requests": [
            {
                "name": "gpus",
                "device_class": "gpu.nvidia.com",
                "count_parameter": "count",
                "terms": [
                    {"op": "at-least", "key": MEMORY, "parameter": "memory"},
                    {"op": "equals", "key": PRODUCT, "parameter": "product"},
                ],
            }
        ],
        "device_plugin": {
            "resource": "nvidia.com/gpu",
            "node_labels": [
                {"op": "at-least", "label": "nvidia.com/gpu.memory", "parameter": "memory"},
                {
                    "op": "equals",
                    "label": "nvidia.com/gpu.product",
                    "parameter": "product",
                    "spelling": {"NVIDIA L40S": "NVIDIA-L40S"},
                },
            ],
        },
    } | changes


PATTERN = patterns.pattern_from(content())


def test_a_claim_has_count_and_selectors_of_its_values() -> None:
    values = patterns.accept(PATTERN, {"count": "2", "product": "NVIDIA L40S"})
    request = patterns.claim_spec(PATTERN, values)["devices"]["requests"][0]
    assert request["exactly"]["count"] == 2
    assert [one["cel"]["expression"] for one in request["exactly"]["selectors"]] == [
        '"memory" in device.capacity["gpu.nvidia.com"] && device.capacity["gpu.nvidia.com"]'
        '["memory"].compareTo(quantity("40Gi")) >= 0',
        'device.attributes["gpu.nvidia.com"][?"productName"].orValue("") == "NVIDIA L40S"',
    ]


def test_an_optional_choice_left_out_leaves_its_terms_out() -> None:
    values = patterns.accept(PATTERN, {})
    assert len(patterns.request_selectors(PATTERN.requests[0], values)) == 1
    assert len(patterns.plugin_form(PATTERN, values).requirements) == 1


def test_both_forms_charge_the_same_class() -> None:
    values = patterns.accept(PATTERN, {"count": 3})
    assert patterns.charge(PATTERN, values) == {"gpu.nvidia.com": 3}
    assert patterns.plugin_form(PATTERN, values).limits == {"nvidia.com/gpu": 3}


def test_the_plugin_form_names_labels_as_nodes_spell_them() -> None:
    values = patterns.accept(PATTERN, {"product": "NVIDIA L40S"})
    assert patterns.plugin_form(PATTERN, values).requirements == (
        {"key": "nvidia.com/gpu.memory", "operator": "Gt", "values": ["40959"]},
        {"key": "nvidia.com/gpu.product", "operator": "In", "values": ["NVIDIA-L40S"]},
    )


@pytest.mark.parametrize(
    ("given_", "field"),
    [
        ({"count": 5}, "params.count"),
        ({"count": 0}, "params.count"),
        ({"count": -1}, "params.count"),
        ({"count": True}, "params.count"),
        ({"count": 1.5}, "params.count"),
        ({"count": "²"}, "params.count"),
        ({"memory": "81Gi"}, "params.memory"),
        ({"memory": "1"}, "params.memory"),
        ({"memory": '1Gi")) || true || ("'}, "params.memory"),
        ({"memory": ["40Gi"]}, "params.memory"),
        ({"product": 'H100" || true'}, "params.product"),
        ({"product": None}, "params.product"),
        ({"selector": "true"}, "params.selector"),
    ],
)
def test_other_values_are_refused_with_their_field(given_: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        patterns.accept(PATTERN, given_)
    assert refused.value.field == field


def test_shapes_show_parameters_and_no_value() -> None:
    shapes = patterns.selector_shapes(PATTERN.requests[0])
    assert shapes[1].endswith("== <product>")
    assert "quantity(<memory>)" in shapes[0]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=64))
def test_a_literal_is_plain_ascii_and_reads_back_as_the_same_text(text: str) -> None:
    literal = cel_string(text)
    assert literal.isascii() and literal.isprintable()
    assert literal[0] == literal[-1] == '"' and '"' not in literal[1:-1]
    read = literal[1:-1].encode().decode("unicode_escape")
    assert read.encode("utf-16", "surrogatepass").decode("utf-16") == text


HOSTILE = (
    st.text(min_size=1, max_size=64)
    .map(str.strip)
    .filter(lambda text: bool(text) and text.isprintable())
)


@settings(deadline=None)  # the first evaluation loads the grammar
@given(HOSTILE)
def test_whatever_a_choice_says_only_that_very_text_matches(choice: str) -> None:
    """Evaluated by the engine that the placement uses, on devices with and without the text."""
    pattern = patterns.pattern_from(
        {
            "parameters": [{"name": "p", "kind": "choice", "default": choice, "choices": [choice]}],
            "requests": [
                {
                    "name": "r",
                    "device_class": "c",
                    "terms": [{"op": "equals", "key": PRODUCT, "parameter": "p"}],
                }
            ],
        }
    )
    (selector,) = patterns.request_selectors(pattern.requests[0], patterns.defaults(pattern))
    assert matches(selector, {"productName": choice})
    assert not matches(selector, {"productName": choice + "x"})
    assert not matches(selector, {})
