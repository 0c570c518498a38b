"""What model servers export: vLLM 0.33 and older, SGLang 0.5, TGI 3, TensorRT-LLM, Triton."""

from domain.metrics.terms import Kind, Metric, Term, pair, terms

_BAD = "5xx|5.."
_SERVED = ("handler", "/v1/.*")

SERVERS = (
    Metric(
        "running",
        "Requests running",
        "requests",
        Kind.GAUGE,
        (
            *terms(
                "vllm:num_requests_running",
                "sglang:num_running_reqs",
                "tgi_batch_current_size",
                "trtllm_num_requests_running",
            ),
            Term("nv_trt_llm_request_metrics", (("request_type", "scheduled"),)),
        ),
    ),
    Metric(
        "queue",
        "Requests waiting",
        "requests",
        Kind.GAUGE,
        (
            *terms(
                "vllm:num_requests_waiting",
                "sglang:num_queue_reqs",
                "tgi_queue_size",
                "trtllm_num_requests_waiting",
            ),
            Term("nv_trt_llm_request_metrics", (("request_type", "waiting"),)),
            Term("nv_inference_pending_request_count"),
        ),
    ),
    Metric(
        "kv_usage",
        "KV cache in use",
        "share",
        Kind.GAUGE,
        (
            *terms(
                "vllm:kv_cache_usage_perc",
                "vllm:gpu_cache_usage_perc",
                "sglang:token_usage",
                "trtllm_kv_cache_utilization",
            ),
            Term("nv_trt_llm_kv_cache_block_metrics", (("kv_cache_block_type", "fraction"),)),
        ),
        join="mean",
    ),
    Metric(
        "requests",
        "Requests finished",
        "requests",
        Kind.COUNTER,
        terms(
            "vllm:request_success_total",
            "sglang:num_requests_total",
            "tgi_request_success",
            "nv_inference_request_success",
        ),
        statistic="rate",
    ),
    Metric(
        "errors",
        "Requests failed",
        "requests",
        Kind.COUNTER,
        (
            Term("http_requests_total", (("status", _BAD), _SERVED), 1, "http_requests_total"),
            Term(
                "sglang:http_responses_total",
                (("status_code", _BAD),),
                1,
                "sglang:http_responses_total",
            ),
            Term("tgi_request_failure", (), 1, "tgi_request_count"),
            Term("nv_inference_request_failure"),
            Term("vllm:request_success_total", (("finished_reason", "error"),)),
        ),
        statistic="rate",
    ),
    Metric(
        "responses",
        "Answers by code",
        "requests",
        Kind.COUNTER,
        (
            Term("http_requests_total", (_SERVED,), 1, "http_requests_total", "status"),
            Term("sglang:http_responses_total", split="status_code"),
            Term("vllm:request_success_total", split="finished_reason"),
        ),
        statistic="rate",
    ),
    Metric(
        "error_ratio",
        "Error rate",
        "share",
        Kind.RATIO,
        pairs=(
            (
                Term("http_requests_total", (("status", _BAD), _SERVED), 1, "http_requests_total"),
                Term("http_requests_total", (_SERVED,), 1, "http_requests_total"),
            ),
            (
                Term(
                    "sglang:http_responses_total",
                    (("status_code", _BAD),),
                    1,
                    "sglang:http_responses_total",
                ),
                Term("sglang:http_responses_total"),
            ),
            (
                Term("tgi_request_failure", (), 1, "tgi_request_count"),
                Term("tgi_request_count"),
            ),
            (
                Term("vllm:request_success_total", (("finished_reason", "error"),)),
                Term("vllm:request_success_total"),
            ),
        ),
        statistic="ratio",
    ),
    Metric(
        "broken_ratio",
        "Answers that the server broke off",
        "share",
        Kind.RATIO,
        pairs=(
            (
                Term("vllm:request_success_total", (("finished_reason", "error"),)),
                Term("vllm:request_success_total"),
            ),
        ),
        statistic="ratio",
    ),
    Metric(
        "cut_ratio",
        "Requests cut off",
        "share",
        Kind.RATIO,
        pairs=(
            (
                Term("vllm:request_success_total", (("finished_reason", "abort"),)),
                Term("vllm:request_success_total"),
            ),
            pair("sglang:num_aborted_requests_total", "sglang:num_requests_total"),
        ),
        statistic="ratio",
    ),
    Metric(
        "tokens",
        "Tokens generated",
        "tokens",
        Kind.COUNTER,
        terms("vllm:generation_tokens_total", "sglang:generation_tokens_total"),
        statistic="rate",
    ),
    Metric(
        "prompt_tokens",
        "Prompt tokens",
        "tokens",
        Kind.COUNTER,
        terms("vllm:prompt_tokens_total", "sglang:prompt_tokens_total"),
        statistic="rate",
    ),
    Metric(
        "preemptions",
        "Preemptions",
        "requests",
        Kind.COUNTER,
        terms("vllm:num_preemptions_total", "sglang:num_retracted_requests_total"),
        statistic="rate",
    ),
    # vLLM's hits over queries count tokens of preempted requests again, so they come second.
    Metric(
        "cache_hit",
        "Prefix cache hit, delivered",
        "share",
        Kind.RATIO,
        pairs=(
            pair("vllm:prompt_tokens_cached_total", "vllm:prompt_tokens_total"),
            pair("vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total"),
            pair("vllm:gpu_prefix_cache_hits_total", "vllm:gpu_prefix_cache_queries_total"),
            pair("sglang:cached_tokens_total", "sglang:prompt_tokens_total"),
        ),
        statistic="ratio",
    ),
    Metric(
        "ttft",
        "Time to first token",
        "s",
        Kind.HISTOGRAM,
        terms(
            "vllm:time_to_first_token_seconds",
            "sglang:time_to_first_token_seconds",
            "trtllm_time_to_first_token_seconds",
        ),
        statistic="p95",
    ),
    Metric(
        "tpot",
        "Time per output token",
        "s",
        Kind.HISTOGRAM,
        terms(
            "vllm:inter_token_latency_seconds",
            "vllm:time_per_output_token_seconds",
            "sglang:inter_token_latency_seconds",
            "tgi_request_mean_time_per_token_duration",
            "trtllm_time_per_output_token_seconds",
        ),
        statistic="p95",
    ),
    Metric(
        "request_latency",
        "Request, from end to end",
        "s",
        Kind.HISTOGRAM,
        terms(
            "vllm:e2e_request_latency_seconds",
            "sglang:e2e_request_latency_seconds",
            "tgi_request_duration",
            "trtllm_e2e_request_latency_seconds",
        ),
        statistic="p95",
    ),
    Metric(
        "queue_time",
        "Waited in the queue",
        "s",
        Kind.HISTOGRAM,
        terms(
            "vllm:request_queue_time_seconds",
            "sglang:queue_time_seconds",
            "tgi_request_queue_duration",
            "trtllm_request_queue_time_seconds",
        ),
        statistic="p95",
    ),
    Metric(
        "prefill_time",
        "Read the prompt",
        "s",
        Kind.HISTOGRAM,
        terms("vllm:request_prefill_time_seconds"),
        statistic="p95",
    ),
)
