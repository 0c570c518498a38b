"""What the endpoint picker exports, under its six prefixes (facts of its own docs/metrics.md).

Its request metrics carry no pool: with two pools, the pod or job that was scraped says which.
"""

from domain.metrics.terms import Kind, Metric, Origin, Term, terms

# Newest first; all are still exported beside one another, so only one may be counted.
PREFIXES = (
    "llm_d_epp",
    "llm_d_router_epp",
    "inference_objective",
    "inference_model",
    "llm_d_inference_scheduler",
    "inference_extension",
)


def _picker(name: str, *older: str) -> tuple[Term, ...]:
    """The name under every prefix, then older ones in full."""
    return terms(*(f"{prefix}_{name}" for prefix in PREFIXES), *older)


def _errors() -> tuple[Term, ...]:
    return tuple(
        Term(f"{prefix}_request_error_total", (), 1, f"{prefix}_request_total")
        for prefix in PREFIXES
    )


def _metric(
    name: str,
    title: str,
    unit: str,
    kind: Kind,
    names: tuple[Term, ...] = (),
    statistic: str = "mean",
    pairs: tuple[tuple[Term, Term], ...] = (),
) -> Metric:
    return Metric(name, title, unit, kind, names, pairs, origin=Origin.PICKER, statistic=statistic)


_CACHED = tuple(
    zip(
        _picker("request_cached_tokens_sum", "inference_objective_prompt_cached_tokens_sum"),
        _picker("request_input_tokens_sum", "inference_objective_input_tokens_sum"),
        strict=True,
    )
)

PICKERS = (
    _metric(
        "picker_requests",
        "Requests routed",
        "requests",
        Kind.COUNTER,
        _picker("request_total"),
        "rate",
    ),
    _metric(
        "picker_errors",
        "Requests that the picker failed",
        "requests",
        Kind.COUNTER,
        _errors(),
        "rate",
    ),
    _metric(
        "picker_latency",
        "Request, seen by the picker",
        "s",
        Kind.HISTOGRAM,
        _picker("request_duration_seconds"),
        "p95",
    ),
    _metric(
        "picker_ttft",
        "First token, seen by the picker",
        "s",
        Kind.HISTOGRAM,
        _picker("request_ttft_seconds"),
        "p95",
    ),
    _metric(
        "picker_tpot",
        "Token gap, seen by the picker",
        "s",
        Kind.HISTOGRAM,
        _picker(
            "request_streaming_itl_seconds",
            "llm_d_epp_request_streaming_tpot_seconds",
            "inference_objective_request_tpot_seconds",
        ),
        "p95",
    ),
    _metric(
        "picker_queue",
        "Mean queue, seen by the picker",
        "requests",
        Kind.GAUGE,
        _picker("average_queue_size", "inference_pool_average_queue_size"),
    ),
    _metric(
        "picker_kv_usage",
        "Mean KV cache, seen by the picker",
        "share",
        Kind.GAUGE,
        _picker("average_kv_cache_utilization", "inference_pool_average_kv_cache_utilization"),
    ),
    _metric(
        "picker_endpoints",
        "Endpoints ready, seen by the picker",
        "endpoints",
        Kind.GAUGE,
        _picker("ready_endpoints", "inference_pool_ready_pods"),
    ),
    _metric(
        "picker_attempts",
        "Picking attempts",
        "requests",
        Kind.COUNTER,
        _picker("scheduler_attempts_total"),
        "rate",
    ),
    # Of the prompt tokens, what another server could have had, what the picker aimed for, and
    # (cache_hit) what the engine delivered.
    _metric(
        "cache_available",
        "Prefix cache hit, available",
        "share",
        Kind.RATIO,
        statistic="ratio",
        pairs=(
            (
                Term("llm_d_epp_kv_cache_index_lookup_hits_total"),
                Term("llm_d_epp_kv_cache_index_lookup_requests_total"),
            ),
            (Term("kvcache_index_lookup_hits_total"), Term("kvcache_index_lookup_requests_total")),
        ),
    ),
    _metric(
        "cache_routed",
        "Prefix cache hit, routed for",
        "share",
        Kind.RATIO,
        statistic="ratio",
        pairs=tuple(
            (
                Term(f"{prefix}_prefix_indexer_hit_ratio_sum"),
                Term(f"{prefix}_prefix_indexer_hit_ratio_count"),
            )
            for prefix in PREFIXES
        ),
    ),
    _metric(
        "picker_cache_hit",
        "Prefix cache hit, seen by the picker",
        "share",
        Kind.RATIO,
        statistic="ratio",
        pairs=_CACHED,
    ),
)
