"""Weights add up, replicas stand in for them, and chance has its bounds."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import routing
from domain.errors import InvalidValue
from domain.routing import PoolShare

COUNTS = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 1000), min_size=1)


def shares(**pools: tuple[int | None, int]) -> list[PoolShare]:
    return [PoolShare(name, weight, replicas) for name, (weight, replicas) in pools.items()]


def test_a_single_pool_gets_everything() -> None:
    assert routing.weights(shares(main=(None, 0)), held={}) == {"main": 100}


def test_without_a_word_pools_share_by_replicas() -> None:
    found = routing.weights(shares(a=(None, 2), b=(None, 1)), held={})
    assert found == {"a": 67, "b": 33}


def test_what_the_same_pools_hold_stays() -> None:
    held = {"a": 95, "b": 5}
    assert routing.weights(shares(a=(None, 1), b=(None, 1)), held=held) == held


def test_a_pool_more_forgets_what_was_held() -> None:
    found = routing.weights(shares(a=(None, 1), b=(None, 1)), held={"a": 100})
    assert found == {"a": 50, "b": 50}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (shares(a=(90, 1), b=(None, 1)), "every pool a weight, or none"),
        (shares(a=(90, 1), b=(20, 1)), "add up to 110"),
        (shares(a=(110, 1), b=(-10, 1)), "0 to 100"),
    ],
)
def test_weights_that_make_no_whole_are_refused(asked: list[PoolShare], words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        routing.weights(asked, held={})


@given(COUNTS)
def test_shares_by_replicas_add_up_and_never_miss_by_a_whole_percent(
    replicas: dict[str, int],
) -> None:
    found = routing.by_replicas(replicas)
    assert sum(found.values()) == 100
    total = sum(replicas.values())
    for name, count in replicas.items():
        exact = 100 * count / total if total else 100 / len(replicas)
        assert abs(found[name] - exact) < 1


@pytest.mark.parametrize("share", [0.01, 0.05, 0.5, 0.99])
def test_chance_alone_does_not_break_the_bound(share: float) -> None:
    dice = random.Random(7)
    for requests in (40, 500, 5000):
        seen = sum(dice.random() < share for _ in range(requests)) / requests
        assert routing.follows(share, seen, requests)


def test_a_share_that_did_not_change_is_told_from_chance() -> None:
    assert not routing.follows(0.5, 0.05, 500)
    assert not routing.follows(0.0, 0.05, 500)
    assert routing.follows(0.0, 0.0, 500)


def test_without_requests_every_share_is_possible() -> None:
    assert routing.follows(0.05, 1.0, 0)


def test_one_service_gives_pools_what_their_ready_replicas_are() -> None:
    weights, ready = {"a": 60, "b": 40}, {"a": 3, "b": 1}
    assert routing.expected_shares(weights, ready, routed=False) == {"a": 0.75, "b": 0.25}
    assert routing.expected_shares(weights, ready, routed=True) == {"a": 0.6, "b": 0.4}
    assert routing.expected_shares(weights, {}, routed=False) == {"a": None, "b": None}
    alone = routing.expected_shares({"a": 100, "b": 0}, ready, routed=False)
    assert alone == {"a": 1.0, "b": 0.0}
