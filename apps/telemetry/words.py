"""Figures in words: what a page writes for a value, and for a figure that has none."""

from domain.figures import Figure, State
from domain.metrics import CATALOGUE

# vLLM's first bucket of queue and prefill ends at 0.3 s: less than that is not resolved.
COARSE = frozenset({"queue_time", "prefill_time"})
FIRST_BUCKET_SECONDS = 0.3
SAID = {
    State.NO_TRAFFIC: "no traffic",
    State.NOT_EXPORTED: "not exported",
    State.TARGET_DOWN: "target down",
    State.NOT_KEPT: "not kept",
    State.NOT_CONFIGURED: "not configured",
    State.NO_PERMISSION: "no permission",
    State.STALE: "stale",
    State.ERROR: "error",
}
GIB = 2.0**30


def text(metric: str, value: float | None) -> str:
    """The value with its unit; empty without one."""
    if value is None:
        return ""
    unit = CATALOGUE[metric].unit
    if unit == "share":
        return f"{value * 100:.0f} %" if value in (0, 1) or value >= 0.1 else f"{value * 100:.1f} %"
    if unit == "s":
        return seconds(metric, value)
    if unit == "bytes":
        return f"{value / GIB:,.1f} GiB"
    if value >= 10 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}"


def seconds(metric: str, value: float) -> str:
    if metric in COARSE and value < FIRST_BUCKET_SECONDS:
        return f"under {FIRST_BUCKET_SECONDS * 1000:.0f} ms"
    if value >= 120:
        return f"{value / 60:.1f} min"
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.0f} ms"


def why(figure: Figure) -> str:
    """Why there is no value, in a word or two."""
    return SAID.get(figure.state, "not known")
