"""Columns of minutes: sums and quantiles of many rows at once are those of one row at a time."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.telemetry import columns
from apps.telemetry.columns import Table
from domain.metrics import buckets

NAN = math.nan
BOUNDS = ("0.1", "0.5", "1.0", "inf")


@given(
    st.lists(st.lists(st.integers(0, 20), min_size=4, max_size=4), min_size=1, max_size=6),
    st.sampled_from([0.01, 0.5, 0.9, 0.95, 0.99, 1.0]),
)
def test_quantiles_of_many_rows_are_those_of_each(rows: list[list[int]], q: float) -> None:
    counts = np.cumsum(np.array(rows, dtype="f8"), axis=1)
    found = columns.quantiles(Table(BOUNDS, counts), q)
    for row, value in zip(counts.tolist(), found.tolist(), strict=True):
        one = buckets.quantile(dict(zip(map(float, BOUNDS), row, strict=True)), q)
        assert (one is None and value != value) or value == pytest.approx(one)


def test_servers_of_other_bounds_leave_the_bounds_that_both_have() -> None:
    one = Table(("0.1", "0.5", "inf"), np.array([[1.0, 2, 4]]))
    two = Table(("0.5", "inf"), np.array([[3.0, 4]]))
    both = columns.summed([one, two])
    assert both.column("0.5").tolist() == [5] and both.column("inf").tolist() == [8]
    assert np.isnan(both.column("0.1")).all()
    assert columns.quantiles(both, 0.5)[0] == pytest.approx(0.4)


def test_a_server_that_is_not_known_in_a_minute_is_left_out_of_it() -> None:
    one = Table(("0.5", "inf"), np.array([[1.0, 1], [1, 1]]))
    two = Table(("0.5", "inf"), np.array([[NAN, NAN], [2, 2]]))
    assert columns.summed([one, two]).values.tolist() == [[1, 1], [3, 3]]


def test_a_first_minute_without_increments_takes_nothing_from_the_others() -> None:
    table = Table(("running", "tokens"), np.array([[2.0, NAN], [2, 30], [2, 30], [NAN, NAN]]))
    whole = columns.steps(table, 4)
    assert whole.values.tolist() == [[6, 60]]
    assert columns.known_minutes(table, 4, "tokens").tolist() == [2]


def test_steps_in_which_nothing_is_known_are_gaps() -> None:
    table = Table(("0.5", "inf"), np.array([[1.0, 2], [NAN, NAN], [NAN, NAN], [NAN, NAN]]))
    found = columns.steps(table, 2).values
    assert found[0].tolist() == [1, 2] and np.isnan(found[1]).all()
