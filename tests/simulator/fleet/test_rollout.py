"""Deployment arithmetic: within surge and unavailability at every step, and it ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.fleet.controllers.ownership import matches, share_of, template_hash
from simulator.fleet.controllers.rollout import Plan, next_sizes


def plan(sizes: dict[str, int], available: dict[str, int], **more: object) -> Plan:
    fields = {
        "wanted": 3, "surge": 1, "unavailable": 0, "recreate": False, "paused": False,
        "current": "new", "sizes": sizes, "available": available, "existing": sizes,
    }  # fmt: skip
    return Plan(**fields | more)  # type: ignore[arg-type]


def test_a_first_set_grows_at_once() -> None:
    assert next_sizes(plan({"new": 0}, {}, surge=0, unavailable=1)) == {"new": 3}


def test_a_surge_of_one_replaces_one_by_one() -> None:
    assert next_sizes(plan({"old": 3, "new": 0}, {"old": 3})) == {"old": 3, "new": 1}
    assert next_sizes(plan({"old": 3, "new": 1}, {"old": 3})) == {"old": 3, "new": 1}
    assert next_sizes(plan({"old": 3, "new": 1}, {"old": 3, "new": 1})) == {"old": 2, "new": 1}


def test_without_a_surge_an_old_one_goes_first() -> None:
    sizes = next_sizes(plan({"old": 3, "new": 0}, {"old": 3}, surge=0, unavailable=1))
    assert sizes == {"old": 2, "new": 0}


def test_broken_old_replicas_go_before_working_ones() -> None:
    sizes = next_sizes(plan({"bad": 2, "old": 3, "new": 1}, {"old": 3}))
    assert sizes == {"bad": 0, "old": 3, "new": 1}


def test_recreate_waits_until_all_old_pods_are_gone() -> None:
    waiting = plan({"old": 0, "new": 0}, {}, recreate=True, existing={"old": 1})
    assert next_sizes(waiting) == {"old": 0, "new": 0}
    assert next_sizes(plan({"old": 0, "new": 0}, {}, recreate=True)) == {"old": 0, "new": 3}


def test_a_paused_rollout_only_follows_the_size() -> None:
    assert next_sizes(plan({"old": 2, "new": 1}, {}, paused=True, wanted=5))["old"] == 4


@given(
    wanted=st.integers(0, 12),
    surge=st.integers(0, 5),
    unavailable=st.integers(0, 5),
    old=st.integers(0, 12),
    luck=st.integers(0, 2**30),
)
def test_a_rollout_stays_within_its_bounds_and_ends(
    wanted: int, surge: int, unavailable: int, old: int, luck: int
) -> None:
    unavailable = unavailable if surge or unavailable else 1
    unavailable, old = min(unavailable, wanted) or (0 if surge else 1), min(old, wanted)
    sizes, available = {"old": old, "new": 0}, {"old": old, "new": 0}
    for step in range(200):
        before = sum(sizes.values())
        sizes = next_sizes(
            plan(sizes, available, wanted=wanted, surge=surge, unavailable=unavailable)
        )
        assert sum(sizes.values()) <= max(wanted + surge, before)
        available = {name: min(available[name], sizes[name]) for name in sizes}
        if old == wanted:
            assert sum(available.values()) >= wanted - unavailable
        if (luck >> (step % 30)) & 1 or step > 60:
            available = {n: min(available[n] + 1, sizes[n]) for n in sizes}
    assert sizes == {"old": 0, "new": wanted}


@pytest.mark.parametrize(
    ("value", "total", "up", "expected"),
    [(2, 10, True, 2), ("25%", 3, True, 1), ("25%", 3, False, 0), ("100%", 7, False, 7)],
)
def test_shares(value: object, total: int, up: bool, expected: int) -> None:
    assert share_of(value, total, up=up) == expected


def test_equal_templates_have_equal_hashes() -> None:
    assert template_hash({"a": 1, "b": 2}) == template_hash({"b": 2, "a": 1})
    assert template_hash({"a": 1}) != template_hash({"a": 2})


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, False),
        ({}, True),
        ({"matchLabels": {"app": "x"}}, True),
        ({"matchLabels": {"app": "y"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["x"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x"]}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, True),
        ({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}, False),
    ],
)
def test_selectors(selector: dict[str, object] | None, expected: bool) -> None:
    assert matches(selector, {"app": "x"}) is expected
