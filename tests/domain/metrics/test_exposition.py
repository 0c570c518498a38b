"""Our reader of text exposition against prometheus_client's, on pages of both kinds."""

import math
import re
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from domain.metrics.exposition import Unreadable, parse

NAMES = st.from_regex(re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]{0,12}", re.ASCII), fullmatch=True)
LABEL_NAMES = st.from_regex(re.compile(r"[a-zA-Z][a-zA-Z0-9_]{0,6}", re.ASCII), fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=12)
VALUES = st.one_of(
    st.floats().map(repr),
    st.integers(-(2**53), 2**53).map(str),
    st.sampled_from(["+Inf", "-Inf", "NaN", "1e9", "0", "-0.0", "12E-3"]),
)
SPACE = st.sampled_from(["", " ", "\t"])


@st.composite
def lines(draw: Any) -> str:
    name = draw(NAMES)
    labels = draw(st.dictionaries(LABEL_NAMES, TEXTS, max_size=3))
    quoted = ",".join(
        draw(SPACE) + key + "=" + '"' + escape(value) + '"' for key, value in labels.items()
    )
    comma = draw(st.sampled_from(["", ","])) if quoted else ""
    inside = f"{{{quoted}{comma}}}" if labels or draw(st.booleans()) else ""
    stamp = draw(st.sampled_from(["", " 1700000000000"]))
    return f"{name}{inside} {draw(SPACE)}{draw(VALUES)}{stamp}{draw(SPACE)}"


def escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def theirs(page: str) -> dict[str, list[tuple[dict[str, str], str]]]:
    found: dict[str, list[tuple[dict[str, str], str]]] = defaultdict(list)
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            found[sample.name].append((dict(sample.labels), repr(float(sample.value))))
    return dict(found)


def ours(page: str) -> dict[str, list[tuple[dict[str, str], str]]]:
    return {
        name: [(dict(labels), repr(value)) for labels, value in samples]
        for name, samples in parse(page).items()
    }


@given(st.lists(st.one_of(lines(), st.sampled_from(["", "# a comment", "#", "  "])), max_size=12))
def test_a_page_reads_as_prometheus_client_reads_it(found: list[str]) -> None:
    page = "\n".join(found)
    assert ours(page) == theirs(page)


@given(st.text(alphabet='ab{}",=\\ 1#\t_:.', max_size=30))
def test_what_prometheus_client_refuses_is_refused_or_read_without_harm(text: str) -> None:
    """Theirs is lax in places where ours is not; what both read is the same."""
    try:
        mine = ours(text)
    except Unreadable:
        return
    try:
        other = theirs(text)
    except (ValueError, IndexError):
        return
    assert mine == other


@pytest.mark.parametrize(
    ("line", "name", "labels", "value"),
    [
        ('a{b="}"} 1', "a", {"b": "}"}, 1.0),
        ('a{b="x,y=\\"z\\""} 2', "a", {"b": 'x,y="z"'}, 2.0),
        ('{"my.metric",b="c"} 3', "my.metric", {"b": "c"}, 3.0),
        ('a_bucket{le="1"} 5 # {trace_id="x"} 0.5', "a_bucket", {"le": "1"}, 5.0),
        ("a 1 1700000000000", "a", {}, 1.0),
        ("  a\t1", "a", {}, 1.0),
        ("a{} 1\r", "a", {}, 1.0),
    ],
)
def test_unusual_lines_are_read(line: str, name: str, labels: dict[str, str], value: float) -> None:
    assert parse(line) == {name: [(labels, value)]}


def test_infinities_and_nan_are_values() -> None:
    found = [value for _, value in parse("a +Inf\na -Inf\na NaN")["a"]]
    assert found[:2] == [math.inf, -math.inf] and math.isnan(found[2])


@pytest.mark.parametrize(
    "line",
    ["a", "a b", "a{b} 1", 'a{b="c} 1', 'a{b="c"', "1a 2", "a 1_000", 'a{b="c",b="d"} 1', "<html>"],
)
def test_lines_that_are_none_are_refused_by_name(line: str) -> None:
    with pytest.raises(Unreadable, match="not Prometheus text exposition"):
        parse(f"good 1\n{line}\n")


def test_names_that_nobody_wants_are_passed_over() -> None:
    page = 'a{b="c"} 1\nz{what="ever"} no number\na{b="d"} 2\n'
    assert list(parse(page, lambda name: name == "a")) == ["a"]
