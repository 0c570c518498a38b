"""Figures of model servers: the right alias, no invented zero, PromQL's quantiles."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import metrics
from domain.metrics import Flow, Reading

PAGE = """\
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_running{engine="1",model_name="m"} 4.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.5
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.7
# TYPE vllm:prompt_tokens counter
vllm:prompt_tokens_total{engine="0",model_name="m"} 1000.0
# TYPE vllm:prompt_tokens_cached counter
vllm:prompt_tokens_cached_total{engine="0",model_name="m"} 250.0
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.1"} 5.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.5"} 9.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf"} 10.0
vllm:time_to_first_token_seconds_count{engine="0"} 10.0
vllm:time_to_first_token_seconds_sum{engine="0"} 2.0
"""


def test_engines_add_up_and_shares_average() -> None:
    reading = metrics.read(PAGE)
    assert reading.gauges["running"] == 7
    assert reading.gauges["kv_use"] == pytest.approx(0.6)
    assert reading.aliases["ttft"] == "vllm:time_to_first_token_seconds"
    assert reading.aliases["cache_hit"] == "vllm:prompt_tokens_cached_total"


def test_a_page_with_underscores_for_colons_reads_the_same() -> None:
    underscored = metrics.read(PAGE.replace("vllm:", "vllm_"))
    assert underscored == metrics.read(PAGE)


def test_what_a_page_lacks_is_absent_and_not_zero() -> None:
    reading = metrics.read("")
    assert reading == Reading()
    assert metrics.flow([(0, reading), (60, reading)]).rate("prompt_tokens") is None


def test_older_names_are_found_after_newer_ones() -> None:
    page = "vllm:gpu_cache_usage_perc 0.9\nvllm:kv_cache_usage_perc 0.2\n"
    assert metrics.read(page).gauges["kv_use"] == 0.2
    assert metrics.read("vllm:gpu_cache_usage_perc 0.9\n").gauges["kv_use"] == 0.9


def test_hits_are_never_divided_by_another_alias_queries() -> None:
    page = (
        "vllm:prompt_tokens_total 100\nvllm:prefix_cache_hits_total 30\n"
        "vllm:prefix_cache_queries_total 40\n"
    )
    counters = metrics.read(page).counters
    assert (counters["cached_tokens"], counters["cacheable_tokens"]) == (30, 40)


@pytest.mark.parametrize("page", ["<html>not found</html>", "metric{", "a b c d"])
def test_what_is_no_exposition_is_refused(page: str) -> None:
    with pytest.raises(metrics.Unreadable, match="not Prometheus text exposition"):
        metrics.read(page)


def reading(tokens: float, **buckets: float) -> Reading:
    bounds = {"b1": 0.1, "b5": 0.5, "inf": math.inf}
    return Reading(
        counters={"generation_tokens": tokens},
        histograms={"ttft": {bounds[k]: v for k, v in buckets.items()}} if buckets else {},
    )


def test_a_restarted_server_counts_from_its_new_zero() -> None:
    seen = metrics.flow([(0, reading(100)), (15, reading(160)), (30, reading(20))])
    assert seen.counters["generation_tokens"] == 80
    assert seen.rate("generation_tokens") == pytest.approx(80 / 30)


def test_cache_hit_without_traffic_is_unknown() -> None:
    idle = Flow(60, {"cached_tokens": 0, "cacheable_tokens": 0}, {})
    assert idle.cache_hit is None


def test_servers_with_other_buckets_give_no_quantile() -> None:
    one = metrics.flow([(0, reading(0, b1=0, inf=0)), (60, reading(1, b1=1, inf=1))])
    two = metrics.flow([(0, reading(0, b5=0, inf=0)), (60, reading(1, b5=1, inf=1))])
    both = metrics.together([one, two])
    assert both.quantile("ttft", 0.5) is None
    assert both.counters["generation_tokens"] == 2


@pytest.mark.parametrize(
    ("q", "expected"), [(0.5, 0.1), (0.25, 0.05), (0.7, 0.3), (0.9, 0.5), (0.99, 0.5)]
)
def test_quantiles_interpolate_as_promql_does(q: float, expected: float) -> None:
    assert metrics.quantile({0.1: 5, 0.5: 9, math.inf: 10}, q) == pytest.approx(expected)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8), st.floats(0.01, 0.99))
def test_a_quantile_lies_between_zero_and_the_last_bound(counts: list[int], q: float) -> None:
    total, buckets = 0, {}
    for index, count in enumerate(counts):
        total += count
        buckets[float(index + 1)] = float(total)
    buckets[math.inf] = float(total)
    found = metrics.quantile(buckets, q)
    assert (found is None) == (total == 0)
    assert found is None or 0 <= found <= len(counts)
