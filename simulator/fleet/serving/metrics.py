"""Counters, gauges and histograms under vLLM's names, written as prometheus_client writes them."""

import bisect
from collections.abc import Iterable

TTFT = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
)  # fmt: skip
GAP = (
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0,
    40.0, 80.0,
)  # fmt: skip
REQUEST = (
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0,
    480.0, 960.0, 1920.0, 7680.0,
)  # fmt: skip
TOKENS = (
    1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0, 20000.0,
)  # fmt: skip
STEP = (1.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0)

HISTOGRAMS: dict[str, tuple[str, tuple[float, ...]]] = {
    "time_to_first_token_seconds": ("Time to first token in seconds.", TTFT),
    "inter_token_latency_seconds": ("Time between two output tokens in seconds.", GAP),
    "request_time_per_output_token_seconds": ("Mean time per output token of a request.", GAP),
    "e2e_request_latency_seconds": ("End to end request latency in seconds.", REQUEST),
    "request_queue_time_seconds": ("Time spent in the WAITING phase.", REQUEST),
    "request_inference_time_seconds": ("Time spent in the RUNNING phase.", REQUEST),
    "request_prefill_time_seconds": ("Time spent in the PREFILL phase.", REQUEST),
    "request_decode_time_seconds": ("Time spent in the DECODE phase.", REQUEST),
    "request_prompt_tokens": ("Number of prefill tokens processed.", TOKENS),
    "request_generation_tokens": ("Number of generation tokens processed.", TOKENS),
    "request_params_max_tokens": ("The max_tokens request parameter.", TOKENS),
    "iteration_tokens_total": ("Number of tokens per engine step.", STEP),
}
COUNTERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "prefix_cache_queries": ("Prefix cache queries, in tokens.", "", ()),
    "prefix_cache_hits": ("Prefix cache hits, in tokens.", "", ()),
    "num_preemptions": ("Cumulative number of preemptions.", "", ()),
    "prompt_tokens": ("Number of prefill tokens processed.", "", ()),
    "prompt_tokens_by_source": (
        "Number of prompt tokens by source.",
        "source",
        ("local_compute", "local_cache_hit", "external_kv_transfer"),
    ),
    "prompt_tokens_cached": ("Number of prompt tokens found in a cache.", "", ()),
    "generation_tokens": ("Number of generation tokens processed.", "", ()),
    "request_success": (
        "Count of finished requests.",
        "finished_reason",
        ("stop", "length", "abort", "error", "repetition"),
    ),
}
GAUGES = {
    "num_requests_running": "Number of requests in model execution batches.",
    "num_requests_waiting": "Number of requests waiting to be processed.",
    "kv_cache_usage_perc": "KV-cache usage. 1 means 100 percent usage.",
}


class Histogram:
    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    @property
    def count(self) -> int:
        return sum(self._counts)

    def observe(self, value: float, times: int = 1) -> None:
        self._counts[bisect.bisect_left(self._bounds, value)] += times
        self.sum += value * times

    def cumulative(self) -> Iterable[tuple[str, int]]:
        total = 0
        for bound, count in zip((*self._bounds, float("inf")), self._counts, strict=True):
            total += count
            yield ("+Inf" if bound == float("inf") else repr(bound)), total


class Metrics:
    """One server's figures. Every label value exists from the start, so none is absent."""

    def __init__(self, model: str, started: float) -> None:
        self._labels = f'engine="0",model_name="{_escaped(model)}"'
        self._started = started
        self.histograms = {name: Histogram(bounds) for name, (_, bounds) in HISTOGRAMS.items()}
        self.counters: dict[tuple[str, str], float] = {
            (name, value): 0.0
            for name, (_, _, values) in COUNTERS.items()
            for value in values or ("",)
        }
        self.http: dict[tuple[str, str, str], int] = {}

    def count(self, name: str, amount: float = 1.0, value: str = "") -> None:
        self.counters[name, value] += amount

    def observe(self, name: str, value: float, times: int = 1) -> None:
        self.histograms[name].observe(value, times)

    def text(self, gauges: dict[str, float], info: str) -> str:
        """The whole page. `info` holds the labels of vllm:cache_config_info."""
        lines: list[str] = []
        for name, value in gauges.items():
            _head(lines, name, GAUGES[name], "gauge")
            lines.append(f"vllm:{name}{{{self._labels}}} {value}")
        _head(lines, "cache_config_info", "Information of the LLMEngine CacheConfig", "gauge")
        lines.append(f"vllm:cache_config_info{{{info}}} 1.0")
        for name, (help_text, label, values) in COUNTERS.items():
            self._counter(lines, name, help_text, label, values or ("",))
        for name, (help_text, _) in HISTOGRAMS.items():
            self._histogram(lines, name, help_text)
        self._http(lines)
        return "\n".join([*lines, ""])

    def _counter(
        self, lines: list[str], name: str, help_text: str, label: str, values: tuple[str, ...]
    ) -> None:
        _head(lines, f"{name}_total", help_text, "counter")
        labels = [
            f'{self._labels},{label}="{value}"' if label else self._labels for value in values
        ]
        lines.extend(
            f"vllm:{name}_total{{{text}}} {self.counters[name, value]}"
            for text, value in zip(labels, values, strict=True)
        )
        _head(lines, f"{name}_created", help_text, "gauge")
        lines.extend(f"vllm:{name}_created{{{text}}} {self._started}" for text in labels)

    def _histogram(self, lines: list[str], name: str, help_text: str) -> None:
        histogram = self.histograms[name]
        _head(lines, name, help_text, "histogram")
        lines.extend(
            f'vllm:{name}_bucket{{{self._labels},le="{bound}"}} {float(count)}'
            for bound, count in histogram.cumulative()
        )
        lines.append(f"vllm:{name}_count{{{self._labels}}} {float(histogram.count)}")
        lines.append(f"vllm:{name}_sum{{{self._labels}}} {histogram.sum}")

    def _http(self, lines: list[str]) -> None:
        lines.append("# HELP http_requests_total Total number of requests by method and status.")
        lines.append("# TYPE http_requests_total counter")
        lines.extend(
            f'http_requests_total{{handler="{handler}",method="{method}",status="{status}"}} '
            f"{float(count)}"
            for (handler, method, status), count in sorted(self.http.items())
        )
        lines.append("# HELP process_start_time_seconds Start time since unix epoch in seconds.")
        lines.append("# TYPE process_start_time_seconds gauge")
        lines.append(f"process_start_time_seconds {self._started}")


def _head(lines: list[str], name: str, help_text: str, kind: str) -> None:
    lines.append(f"# HELP vllm:{name} {help_text}")
    lines.append(f"# TYPE vllm:{name} {kind}")


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
