"""Which charts a page shows of which subject: the ten figures first, then what explains them."""

from dataclasses import dataclass

from domain.metrics import CATALOGUE


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart: a metric, how it is counted, and what its lines are told apart by."""

    metric: str
    statistic: str
    by: str = ""

    @property
    def title(self) -> str:
        return CATALOGUE[self.metric].title


def _panels(by: str, *wanted: tuple[str, str]) -> tuple[Panel, ...]:
    return tuple(Panel(metric, statistic, by) for metric, statistic in wanted)


_SERVING = (
    ("requests", "rate"),
    ("error_ratio", "ratio"),
    ("ttft", "p95"),
    ("tpot", "p95"),
    ("request_latency", "p95"),
    ("queue", "mean"),
    ("cache_hit", "ratio"),
    ("kv_usage", "mean"),
    ("tokens", "rate"),
)
_CLAIMS = (("pending", "p95"), ("starting", "p95"))
_CARDS = (("gpu_memory", "mean"), ("gpu_busy", "mean"))

PANELS: dict[str, tuple[Panel, ...]] = {
    "home": (
        *_panels("", ("alloc_failures", "increase"), ("allocation", "last"), ("waiting", "last")),
        *_panels("", *_CLAIMS),
        *_panels("class", ("matches", "last"), ("matches_free", "last")),
        *_panels("", ("fragmentation", "last"), ("held_idle", "last")),
        *_panels("tenant", *_SERVING),
        *_panels("tenant", ("ready", "last")),
        *_panels("", *_CARDS),
    ),
    "deployment": (
        *_panels("pool", *_SERVING),
        *_panels("pool", ("queue_time", "p95"), ("prefill_time", "p95"), ("preemptions", "rate")),
        *_panels("pool", ("ready", "last"), ("alive", "last")),
        *_panels("", *_CLAIMS),
        *_panels("pod", ("kv_usage", "max"), ("running", "mean")),
        *_panels("pod", *_CARDS),
        *_panels("", ("cache_available", "ratio"), ("cache_routed", "ratio")),
    ),
    "tenant": (
        *_panels("deployment", *_SERVING),
        *_panels("deployment", ("ready", "last")),
        *_panels("", *_CLAIMS),
        *_panels("deployment", ("waiting", "last"), ("held_idle", "last")),
        *_panels("", *_CARDS),
    ),
    "class": (
        *_panels("class", ("matches", "last"), ("matches_free", "last")),
        *_panels("", *_CLAIMS),
        *_panels("deployment", *_SERVING),
        *_panels("", *_CARDS),
    ),
    "node": (
        *_panels("pod", *_SERVING),
        *_panels("pod", *_CARDS),
    ),
}
# What the row of numbers on top of a page shows.
NUMBERS: tuple[tuple[str, str], ...] = (
    ("alloc_failures", "increase"),
    ("pending", "p95"),
    ("matches", "last"),
    ("ready", "last"),
    ("queue", "last"),
    ("cache_hit", "ratio"),
    ("kv_usage", "last"),
    ("ttft", "p95"),
    ("tpot", "p95"),
    ("gpu_memory", "last"),
)
MORE: tuple[tuple[str, str], ...] = (
    ("requests", "rate"),
    ("error_ratio", "ratio"),
    ("tokens", "rate"),
    ("allocation", "last"),
    ("held_idle", "last"),
    ("fragmentation", "last"),
    ("unschedulable", "last"),
    ("scheduling_time", "p95"),
)
