"""A claim that a pattern gave is known again by its values; nothing else is."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import patterns
from tests.domain.patterns.test_rendering import content

PATTERN = patterns.pattern_from(content())
QUOTED = 'a "b" \\c'
ODD = patterns.pattern_from(
    {
        "parameters": [
            {
                "name": "kind",
                "kind": "choice",
                "default": 'a "b" \\c',
                "choices": ['a "b" \\c', "é"],
            }
        ],
        "requests": [
            {
                "name": "r",
                "device_class": "gpu",
                "terms": [{"op": "equals", "key": "d.example/kind", "parameter": "kind"}],
            }
        ],
    }
)


@given(
    count=st.integers(1, 4),
    memory=st.sampled_from(["1Gi", "40Gi", "65536Mi", "80Gi"]),
    product=st.sampled_from(["", "NVIDIA L40S", "H100"]),
)
def test_values_come_back_as_they_were_given(count: int, memory: str, product: str) -> None:
    values = patterns.accept(PATTERN, {"count": count, "memory": memory, "product": product})
    assert patterns.values_of(PATTERN, patterns.claim_spec(PATTERN, values)) == values


@pytest.mark.parametrize("choice", [QUOTED, "é"])
def test_a_choice_that_is_escaped_is_known_again(choice: str) -> None:
    spec = patterns.claim_spec(ODD, {"kind": choice})
    assert patterns.values_of(ODD, spec) == {"kind": choice}


def changed(path: str, value: Any) -> dict[str, Any]:
    spec = deepcopy(patterns.claim_spec(PATTERN, patterns.defaults(PATTERN)))
    exactly = spec["devices"]["requests"][0]["exactly"]
    if path == "requests":
        spec["devices"]["requests"] = value
    elif path == "config":
        spec["devices"]["config"] = value
    else:
        exactly[path] = value
    return spec


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("count", 5),
        ("deviceClassName", "other"),
        ("allocationMode", "All"),
        ("selectors", []),
        ("selectors", [{"cel": {"expression": "true"}}]),
        ("requests", []),
        ("config", [{"opaque": {"driver": "d"}}]),
    ],
)
def test_a_claim_that_says_something_else_is_not_of_the_pattern(path: str, value: Any) -> None:
    assert patterns.values_of(PATTERN, changed(path, value)) is None


def test_what_a_server_leaves_empty_makes_no_difference() -> None:
    spec = changed("config", [])
    assert patterns.values_of(PATTERN, spec) == patterns.defaults(PATTERN)
