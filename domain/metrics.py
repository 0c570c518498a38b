"""What model servers tell of themselves: names, text exposition, counters, histogram quantiles.

Engines rename their metrics, and one Prometheus setting turns `:` into `_`, so each concept is a
group of aliases tried in order, and a reading remembers which one it found. Missing is None, never
zero; a ratio without traffic is None too. Quantiles interpolate inside a bucket as PromQL's
histogram_quantile does.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from prometheus_client.parser import text_string_to_metric_families

Labels = Mapping[str, str]
Series = Mapping[str, Sequence[tuple[Labels, float]]]
Buckets = dict[float, float]  # upper bound -> cumulative count

# Sources: vLLM 0.33 and older, SGLang 0.5, TGI, TensorRT-LLM. First match wins.
GAUGES = {
    "running": (
        "vllm:num_requests_running",
        "sglang:num_running_reqs",
        "tgi_batch_current_size",
        "trtllm_num_requests_running",
    ),
    "queued": (
        "vllm:num_requests_waiting",
        "sglang:num_queue_reqs",
        "tgi_queue_size",
        "trtllm_num_requests_waiting",
    ),
    "kv_use": (
        "vllm:kv_cache_usage_perc",
        "vllm:gpu_cache_usage_perc",
        "sglang:token_usage",
        "trtllm_kv_cache_utilization",
    ),
}
MEANS = frozenset({"kv_use"})  # shares: several engines of one server average instead of adding up
COUNTERS = {
    "prompt_tokens": ("vllm:prompt_tokens_total", "sglang:prompt_tokens_total"),
    "generation_tokens": ("vllm:generation_tokens_total", "sglang:generation_tokens_total"),
    "requests": (
        "vllm:request_success_total",
        "sglang:num_requests_total",
        "tgi_request_success",
    ),
}
# Cached and all tokens come in pairs: a numerator of one alias never meets another's denominator.
CACHE_PAIRS = (
    ("vllm:prompt_tokens_cached_total", "vllm:prompt_tokens_total"),
    ("vllm:prefix_cache_hits_total", "vllm:prefix_cache_queries_total"),
    ("vllm:gpu_prefix_cache_hits_total", "vllm:gpu_prefix_cache_queries_total"),
    ("sglang:cached_tokens_total", "sglang:prompt_tokens_total"),
)
HISTOGRAMS = {
    "ttft": (
        "vllm:time_to_first_token_seconds",
        "sglang:time_to_first_token_seconds",
        "trtllm_time_to_first_token_seconds",
    ),
    "token_gap": (
        "vllm:inter_token_latency_seconds",
        "vllm:time_per_output_token_seconds",
        "sglang:inter_token_latency_seconds",
    ),
    "e2e": (
        "vllm:e2e_request_latency_seconds",
        "sglang:e2e_request_latency_seconds",
        "tgi_request_duration",
        "trtllm_e2e_request_latency_seconds",
    ),
    "queue_time": (
        "vllm:request_queue_time_seconds",
        "sglang:queue_time_seconds",
        "tgi_request_queue_duration",
    ),
    "prefill_time": ("vllm:request_prefill_time_seconds",),
}


class Unreadable(ValueError):
    """A page that is not text exposition; the message says where."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One server's page at one moment; counters and buckets are cumulative since its start."""

    gauges: dict[str, float] = field(default_factory=dict)
    counters: dict[str, float] = field(default_factory=dict)
    histograms: dict[str, Buckets] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)


def parse(page: str) -> Series:
    """Text exposition to samples by name; raise Unreadable."""
    found: dict[str, list[tuple[Labels, float]]] = defaultdict(list)
    try:
        for family in text_string_to_metric_families(page):
            for sample in family.samples:
                found[sample.name].append((sample.labels, sample.value))
    except ValueError as error:
        raise Unreadable(f"not Prometheus text exposition: {error}") from None
    return found


def read(page: str) -> Reading:
    """Pick the catalogued figures out of a /metrics page; an empty page gives an empty reading."""
    series = parse(page)
    reading = Reading()
    names: tuple[str, ...]
    for concept, names in GAUGES.items():
        _take(series, concept, names, reading, reading.gauges, mean=concept in MEANS)
    for concept, names in COUNTERS.items():
        _take(series, concept, names, reading, reading.counters)
    _take_cache(series, reading)
    for concept, aliases in HISTOGRAMS.items():
        name = next((n for n in aliases if _spelling(series, f"{n}_bucket")), None)
        if name:
            reading.histograms[concept] = _buckets(series[_spelling(series, f"{name}_bucket")])
            reading.aliases[concept] = name
    return reading


def _spelling(series: Series, name: str) -> str:
    """The name as this page spells it, with `:` or `_`; empty when it is not there."""
    return next((n for n in (name, name.replace(":", "_")) if series.get(n)), "")


def _take(
    series: Series,
    concept: str,
    names: Iterable[str],
    reading: Reading,
    into: dict[str, float],
    *,
    mean: bool = False,
) -> None:
    for name in names:
        spelt = _spelling(series, name)
        values = [v for _, v in series[spelt] if math.isfinite(v)] if spelt else []
        if values:
            into[concept] = sum(values) / (len(values) if mean else 1)
            reading.aliases[concept] = name
            return


def _take_cache(series: Series, reading: Reading) -> None:
    for hits, queries in CACHE_PAIRS:
        spelt = _spelling(series, hits), _spelling(series, queries)
        if all(spelt):
            cached, asked = (sum(v for _, v in series[name]) for name in spelt)
            reading.counters["cached_tokens"] = cached
            reading.counters["cacheable_tokens"] = asked
            reading.aliases["cache_hit"] = hits
            return


def _buckets(samples: Iterable[tuple[Labels, float]]) -> Buckets:
    total: Buckets = defaultdict(float)
    for labels, value in samples:
        total[float(labels["le"])] += value
    return dict(sorted(total.items()))


# --- From cumulative readings to what happened in between --------------------------------------


@dataclass(frozen=True, slots=True)
class Flow:
    """What happened between readings of one or more servers: increments, over `seconds`."""

    seconds: float
    counters: dict[str, float]
    histograms: dict[str, Buckets]

    def rate(self, concept: str) -> float | None:
        """Increments per second, None when nobody reports the concept."""
        if concept not in self.counters or self.seconds <= 0:
            return None
        return self.counters[concept] / self.seconds

    @property
    def cache_hit(self) -> float | None:
        """Cached share of the prompt tokens, None without traffic."""
        asked = self.counters.get("cacheable_tokens", 0)
        return self.counters["cached_tokens"] / asked if asked > 0 else None

    def quantile(self, concept: str, q: float) -> float | None:
        return quantile(self.histograms.get(concept, {}), q)


def flow(readings: Sequence[tuple[float, Reading]]) -> Flow:
    """Add up the increments of one server's readings, as (unix seconds, reading) in time order.

    A counter that went down was reset: its new value is the increment, as PromQL's increase() has
    it.
    """
    counters: dict[str, float] = defaultdict(float)
    histograms: dict[str, Buckets] = {}
    for (_, before), (_, after) in pairwise(readings):
        for concept in before.counters.keys() & after.counters.keys():
            counters[concept] += _increase(before.counters[concept], after.counters[concept])
        for concept in before.histograms.keys() & after.histograms.keys():
            _add_buckets(histograms, concept, before.histograms[concept], after.histograms[concept])
    seconds = readings[-1][0] - readings[0][0] if readings else 0.0
    return Flow(seconds, dict(counters), histograms)


def _increase(before: float, after: float) -> float:
    return after - before if after >= before else after


def _add_buckets(into: dict[str, Buckets], concept: str, before: Buckets, after: Buckets) -> None:
    if before.keys() != after.keys():
        return  # the server was restarted with other buckets: nothing can be said across that
    reset = any(after[bound] < before[bound] for bound in after)
    grown = {b: after[b] if reset else after[b] - before[b] for b in after}
    held = into.setdefault(concept, dict.fromkeys(grown, 0.0))
    if held.keys() == grown.keys():
        into[concept] = {b: held[b] + grown[b] for b in grown}


def together(flows: Sequence[Flow]) -> Flow:
    """Servers side by side: increments add up over the longest time any of them was watched.

    Histograms of different bucket sets cannot be added; such a concept is left out.
    """
    counters: dict[str, float] = defaultdict(float)
    histograms: dict[str, Buckets] = {}
    mixed: set[str] = set()
    for part in flows:
        for concept, value in part.counters.items():
            counters[concept] += value
        for concept, buckets in part.histograms.items():
            held = histograms.setdefault(concept, dict.fromkeys(buckets, 0.0))
            if held.keys() != buckets.keys():
                mixed.add(concept)
                continue
            histograms[concept] = {b: held[b] + buckets[b] for b in buckets}
    return Flow(
        max((part.seconds for part in flows), default=0.0),
        dict(counters),
        {concept: buckets for concept, buckets in histograms.items() if concept not in mixed},
    )


def quantile(buckets: Buckets, q: float) -> float | None:
    """The q-quantile in the buckets' unit; None without observations.

    In the last, unbounded bucket the answer is its lower bound, as in PromQL: "at least this".
    """
    bounds = sorted(buckets)
    if not bounds or not math.isinf(bounds[-1]) or buckets[bounds[-1]] <= 0:
        return None
    rank = q * buckets[bounds[-1]]
    lower, below = 0.0, 0.0
    for bound in bounds:
        count = buckets[bound]
        if count >= rank:
            if math.isinf(bound):
                return lower if len(bounds) > 1 else None
            inside = count - below
            return lower + (bound - lower) * ((rank - below) / inside if inside else 1.0)
        lower, below = bound, count
    return lower
