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
    assert reading.gauges["kv_usage"] == pytest.approx(0.6)
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
    assert metrics.read(page).gauges["kv_usage"] == 0.2
    assert metrics.read("vllm:gpu_cache_usage_perc 0.9\n").gauges["kv_usage"] == 0.9


def test_hits_are_never_divided_by_another_alias_queries() -> None:
    page = (
        "vllm:prompt_tokens_total 100\nvllm:prefix_cache_hits_total 30\n"
        "vllm:prefix_cache_queries_total 40\n"
    )
    counters = metrics.read(page).counters
    assert (counters["cache_hit/part"], counters["cache_hit/whole"]) == (30, 40)


@pytest.mark.parametrize("page", ["<html>not found</html>", "metric{", "a b c d"])
def test_what_is_no_exposition_is_refused(page: str) -> None:
    with pytest.raises(metrics.Unreadable, match="not Prometheus text exposition"):
        metrics.read(page)


def reading(tokens: float, **buckets: float) -> Reading:
    bounds = {"b1": 0.1, "b5": 0.5, "inf": math.inf}
    return Reading(
        counters={"tokens": tokens},
        histograms={"ttft": {bounds[k]: v for k, v in buckets.items()}} if buckets else {},
    )


def test_a_restarted_server_counts_from_its_new_zero() -> None:
    seen = metrics.flow([(0, reading(100)), (15, reading(160)), (30, reading(20))])
    assert seen.counters["tokens"] == 80
    assert seen.rate("tokens") == pytest.approx(80 / 30)


def test_cache_hit_without_traffic_is_unknown() -> None:
    idle = Flow(60, {"cache_hit/part": 0, "cache_hit/whole": 0})
    assert idle.ratio("cache_hit") is None
    assert idle.tells("cache_hit")


def test_servers_with_other_buckets_are_added_at_the_bounds_they_share() -> None:
    one = metrics.flow([(0, reading(0, b1=0, b5=0, inf=0)), (60, reading(1, b1=1, b5=2, inf=2))])
    two = metrics.flow([(0, reading(0, b5=0, inf=0)), (60, reading(1, b5=1, inf=2))])
    both = metrics.together([one, two])
    assert both.histograms["ttft"] == {0.5: 3, math.inf: 4}
    assert both.mixed == {"ttft"}
    assert both.counters["tokens"] == 2


def test_bounds_that_nobody_shares_give_no_quantile() -> None:
    one = metrics.flow([(0, reading(0, b1=0, inf=0)), (60, reading(1, b1=1, inf=1))])
    two = metrics.flow([(0, reading(0, b5=0, inf=0)), (60, reading(1, b5=1, inf=1))])
    assert metrics.together([one, two]).quantile("ttft", 0.5) is None


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


@pytest.mark.parametrize("odd", ["NaN", "+Inf", "-Inf"])
def test_what_is_no_number_is_left_out(odd: str) -> None:
    page = PAGE + f"vllm:num_requests_waiting {odd}\nvllm:generation_tokens_total {odd}\n"
    found = metrics.read(page)
    assert "queue" not in found.gauges and "tokens" not in found.counters


def test_a_count_that_is_no_number_leaves_its_histogram_out() -> None:
    found = metrics.read(PAGE.replace('le="0.5"} 9.0', 'le="0.5"} NaN'))
    assert "ttft" not in found.histograms


@pytest.mark.parametrize(
    "name",
    [
        "tgi_request_success",
        "tgi_request_success_total",
        "sglang:num_requests_total",
        "sglang_num_requests_total",
        "sglang_num_requests",
        "nv_inference_request_success",
    ],
)
def test_requests_are_found_under_each_engines_name(name: str) -> None:
    assert metrics.read(f"{name} 7\n").counters["requests"] == 7


def test_no_error_series_is_no_error_only_where_requests_are_counted() -> None:
    counted = 'http_requests_total{handler="/v1/completions",method="POST",status="2xx"} 9\n'
    found = metrics.read(counted)
    assert found.counters["errors"] == 0
    assert found.counters["error_ratio/whole"] == 9
    assert "errors" not in metrics.read("process_start_time_seconds 1\n").counters


def test_answers_are_told_apart_by_code_and_health_checks_are_none() -> None:
    line = 'http_requests_total{{handler="{}",method="POST",status="{}"}} {}\n'
    page = "".join(
        line.format(*one)
        for one in (
            ("/v1/completions", "2xx", 8),
            ("/v1/completions", "5xx", 2),
            ("/health", "2xx", 99),
        )
    )
    counters = metrics.read(page).counters
    assert (counters["responses"], counters["responses/5xx"], counters["errors"]) == (10, 2, 2)


def test_counts_under_another_name_than_before_are_not_compared() -> None:
    before = metrics.read('vllm:request_success_total{finished_reason="error"} 50\n')
    after = metrics.read(
        'http_requests_total{handler="/v1/completions",status="5xx"} 60\n'
        'vllm:request_success_total{finished_reason="error"} 50\n'
    )
    assert "errors" not in metrics.flow([(0, before), (15, after)]).counters


def test_every_metric_has_names_or_comes_from_rows() -> None:
    for metric in metrics.CATALOGUE.values():
        assert bool(metric.names) == (metric.kind is not metrics.Kind.ROWS), metric.name
    assert set(metrics.TEN) <= metrics.CATALOGUE.keys() and len(metrics.TEN) == 10


def test_the_mean_of_a_histogram_needs_its_sum_and_an_observation() -> None:
    after = metrics.read(PAGE)
    assert metrics.flow([(0, after), (15, after)]).mean("ttft") is None
    before = Reading(
        histograms={"ttft": dict.fromkeys(after.histograms["ttft"], 0.0)},
        sums={"ttft": 0.0},
        aliases=after.aliases,
    )
    assert metrics.flow([(0, before), (15, after)]).mean("ttft") == pytest.approx(0.2)
