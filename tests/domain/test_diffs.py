"""What differs between wanted and live, and nothing else."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from domain import diffs

TEXT = st.text(max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("live", "desired"),
    [
        ({"a": 1, "status": {"b": 2}}, {"a": 1}),  # the rest belongs to others
        ({"cpu": "1"}, {"cpu": "1000m"}),
        ({"memory": "1Gi"}, {"memory": "1024Mi"}),
        ({}, {"env": []}),
        ({"c": [{"name": "s", "image": "x", "extra": 1}]}, {"c": [{"name": "s", "image": "x"}]}),
        ({"rules": [{"verbs": ["get"], "x": 1}]}, {"rules": [{"verbs": ["get"]}]}),
    ],
)
def test_what_servers_add_or_spell_otherwise_is_no_change(live: Any, desired: Any) -> None:
    assert diffs.changes(live, desired) == []


@pytest.mark.parametrize(
    ("live", "desired", "path"),
    [
        ({"a": 1}, {"a": 2}, "a"),
        ({}, {"a": {"b": 1}}, "a.b"),
        ({"c": [{"name": "s", "image": "x"}]}, {"c": [{"name": "s", "image": "y"}]}, "c[s].image"),
        (
            {"c": [{"name": "s"}, {"name": "stranger"}]},
            {"c": [{"name": "s"}]},
            "c[stranger]",
        ),
        ({"args": ["a"]}, {"args": ["a", "b"]}, "args"),
        ({"hard": {"x": "5"}}, {"hard": {"x": "4"}}, "hard.x"),
    ],
)
def test_changes_are_named_by_their_path(live: Any, desired: Any, path: str) -> None:
    (change,) = diffs.changes(live, desired)
    assert change.path == path


@given(JSON)
def test_nothing_differs_from_itself(value: Any) -> None:
    assert diffs.changes(value, value) == []


@given(JSON)
def test_yaml_reads_back_as_what_was_written(value: Any) -> None:
    assert yaml.safe_load(diffs.to_yaml(value)) == value


def test_equal_parts_are_written_out_twice() -> None:
    part = {"a": "b"}
    assert diffs.to_yaml({"x": part, "y": part}) == "x:\n  a: b\ny:\n  a: b\n"


def test_a_text_diff_marks_lines_and_names_no_files() -> None:
    assert diffs.text({"a": 1}, {"a": 2}) == "@@ -1 +1 @@\n-a: 1\n+a: 2"
    assert diffs.text(None, {"a": 2}) == "@@ -0,0 +1 @@\n+a: 2"
    assert diffs.text({"a": 1}, {"a": 1}) == ""
