"""What a gate may look at: logical metrics, what is good about them, and where they apply."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Statistic = Literal["mean", "p50", "p90", "p95", "p99", "rate", "increase", "max", "ratio"]
Better = Literal["lower", "higher"]


@dataclass(frozen=True, slots=True)
class Measured:
    """`of_pool`: both pools have it, so that it can be compared. `per_request`: it is made of
    requests, so that too few of them are no evidence. `by_size`: a smaller pool is worse in it for
    no fault of its own.
    """

    title: str
    unit: str
    better: Better
    statistics: tuple[Statistic, ...]
    of_pool: bool = True
    per_request: bool = True
    by_size: bool = False


_QUANTILES: tuple[Statistic, ...] = ("p50", "p90", "p95", "p99")

PROMQL = "promql"
METRICS: Mapping[str, Measured] = {
    "ttft": Measured("Time to first token", "s", "lower", _QUANTILES),
    "tpot": Measured("Time per output token", "s", "lower", _QUANTILES),
    "request_latency": Measured("Request latency", "s", "lower", _QUANTILES),
    "errors": Measured("Share of requests that fail", "", "lower", ("ratio",)),
    "cache_hit": Measured("Prefix-cache hit", "", "higher", ("ratio",), by_size=True),
    "kv_usage": Measured("KV-cache pressure", "", "lower", ("mean", "max"), per_request=False),
    "queue": Measured("Queue depth", "", "lower", ("mean", "max"), per_request=False),
    "pending": Measured(
        "Scheduling latency of claims", "s", "lower", _QUANTILES, per_request=False
    ),
    "alloc_failures": Measured(
        "Unschedulable claims", "", "lower", ("increase", "max"), per_request=False
    ),
    "fragmentation": Measured(
        "Fragmentation", "", "lower", ("max", "mean"), of_pool=False, per_request=False
    ),
    "attributed": Measured(
        "Share of GPU-seconds attributed", "", "higher", ("ratio",), per_request=False
    ),
    PROMQL: Measured("A query of its owner", "", "lower", ("max",), False, per_request=False),
}
