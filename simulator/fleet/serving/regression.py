"""How a model server may be worse than it ought to be, or tell less of itself.

By the scenario for the pods it names, or by a pod's annotation while it runs.
"""

import random
import re
from dataclasses import dataclass, replace

from simulator.fleet.serving.engine import EngineConfig

ANNOTATION = "simulator.claimyard.dev/regression"
PAGES = ("whole", "empty", "renamed", "down")
#: What "renamed" does, as engines did between versions: the reader must know it or say so.
_RENAMED = re.compile(r"vllm:(time_to_first_token_seconds|prefix_cache_|request_success)")


@dataclass(frozen=True, slots=True)
class Regression:
    """`slow` multiplies the time of every step; `errors` is the share of requests that fail with
    500; `cache` the share of prompts whose cached beginning is found; `metrics` what the page of
    metrics is like."""

    slow: float = 1.0
    errors: float = 0.0
    cache: float = 1.0
    metrics: str = "whole"

    def config(self, config: EngineConfig) -> EngineConfig:
        if self.slow == 1.0:
            return config
        return replace(
            config,
            step_seconds=config.step_seconds * self.slow,
            prefill_token_seconds=config.prefill_token_seconds * self.slow,
            context_token_seconds=config.context_token_seconds * self.slow,
        )

    def fails(self, dice: random.Random) -> bool:
        return self.errors > 0 and dice.random() < self.errors

    def forgets(self, dice: random.Random) -> bool:
        return self.cache < 1 and dice.random() >= self.cache

    def page(self, text: str) -> tuple[int, str]:
        """Status and body of /metrics."""
        if self.metrics == "down":
            return 503, "metrics are not available\n"
        if self.metrics == "empty":
            return 200, ""
        if self.metrics == "renamed":
            return 200, _RENAMED.sub(r"vllm:engine_\1", text)
        return 200, text


NONE = Regression()


def parse(text: str) -> Regression:
    """`slow=1.4 errors=0.02 cache=0.7 metrics=empty`; what is none of these is ignored."""
    found: dict[str, float | str] = {}
    for word in text.replace(",", " ").split():
        name, _, value = word.partition("=")
        if name == "metrics" and value in PAGES:
            found[name] = value
        elif name in ("slow", "errors", "cache") and re.fullmatch(r"\d+(\.\d+)?", value):
            found[name] = float(value)
    return replace(NONE, **found)  # type: ignore[arg-type]
