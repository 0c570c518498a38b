"""A figure is judged by the goal in the table, and by nothing else."""

import pytest

from bench.figures import Figure, goals, line, percentile


@pytest.mark.parametrize(
    ("goal", "ok"),
    [
        ({"ratio": "ours/baseline", "most": 2.0}, True),
        ({"ratio": "ours/baseline", "most": 1.9}, False),
        ({"ratio": "baseline/ours", "least": 0.5}, True),
        ({"ratio": "baseline/ours", "least": 0.6}, False),
        ({"ratio": "baseline/ours", "least": 9, "or_most": 20}, True),
        ({"most": 20}, True),
        ({"most": 19}, False),
        ({}, None),
    ],
)
def test_a_goal_bounds_the_ratio_or_the_value(goal: dict[str, object], ok: bool | None) -> None:
    printed = line(Figure("x", "ms", [10, 20, 30], [10, 10]), goal)
    assert (printed["median"], printed["n"], printed["min"]) == (20, 3, 10)
    assert printed["ok"] is ok


def test_a_ratio_without_a_baseline_meets_nothing() -> None:
    goal = {"ratio": "ours/baseline", "most": 2.0}
    assert line(Figure("x", "ms", [1.0]), goal)["ok"] is None


@pytest.mark.parametrize(("share", "value"), [(0.95, 95), (0.5, 50), (1.0, 100), (0.01, 1)])
def test_a_percentile_is_a_sample(share: float, value: int) -> None:
    assert percentile(list(range(1, 101)), share) == value


def test_every_goal_says_what_it_promises_and_bounds_something() -> None:
    for name, goal in goals().items():
        assert goal["says"], name
        assert {"most", "least"} & goal.keys(), name
