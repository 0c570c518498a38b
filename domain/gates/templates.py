"""Gates to begin with. Relative limits carry the judgement, absolute ones are a guard besides."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from domain.gates.gate import Gate


@dataclass(frozen=True, slots=True)
class Template:
    title: str
    description: str
    gates: tuple[Gate, ...]


_STANDARD = (
    Gate(name="ttft-p95", metric="ttft", statistic="p95", ratio_at_most=1.2, margin=0.05),
    Gate(name="ttft-p50", metric="ttft", statistic="p50", ratio_at_most=1.25, margin=0.05),
    Gate(name="tpot-p95", metric="tpot", statistic="p95", ratio_at_most=1.2, margin=0.05),
    Gate(name="latency-p95", metric="request_latency", statistic="p95", ratio_at_most=1.3),
    Gate(name="errors", metric="errors", at_most=0.01, worst_pod=False),
    Gate(name="cache-hit", metric="cache_hit", ratio_at_least=0.85, worst_pod=False),
    Gate(name="kv-pressure", metric="kv_usage", statistic="max", at_most=0.95),
    Gate(
        name="unschedulable",
        metric="alloc_failures",
        statistic="increase",
        at_most=0,
        worst_pod=False,
    ),
    Gate(name="pending-p95", metric="pending", statistic="p95", at_most=60, worst_pod=False),
)


def _slower(gate: Gate) -> Gate:
    return replace(gate, window_seconds=300, min_requests=500, passes=5, failures_in_row=0)


def _quicker(gate: Gate) -> Gate:
    return replace(gate, window_seconds=20, min_requests=10, passes=2, no_data_seconds=180)


TEMPLATES: Mapping[str, Template] = {
    "standard": Template(
        "Standard",
        "Latency within 20 % of the current pool, errors below 1 %, cache hit within 15 %; "
        "windows of a minute with 50 requests on both sides.",
        _STANDARD,
    ),
    "careful": Template(
        "Careful",
        "The same limits over five minutes with 500 requests on both sides, and no failed sample "
        "is forgiven twice.",
        tuple(_slower(gate) for gate in _STANDARD),
    ),
    "quick": Template(
        "Quick",
        "For rehearsals: the limits of traffic only, windows of 20 seconds with 10 requests.",
        tuple(
            _quicker(gate)
            for gate in _STANDARD
            if gate.name in ("ttft-p95", "errors", "cache-hit", "unschedulable")
        ),
    ),
}
