"""A loaded model server: its engine, the requests that people send it, and its pages."""

import asyncio
import hashlib
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simulator.fleet.serving import regression
from simulator.fleet.serving.arguments import Arguments
from simulator.fleet.serving.engine import Engine, EngineConfig, Request
from simulator.fleet.serving.metrics import Metrics

type Json = dict[str, Any]

VERSION = "0.33.0"
_TEXT = (
    "this answer comes from a simulated model server which counts tokens batches requests and keeps"
    " a prefix cache but holds no weights so every word here is chosen by a hash of your prompt"
)
_WORDS = _TEXT.split()


@dataclass(slots=True)
class Answer:
    """A request of a person: done when `reason` is set; `request.generated` grows before."""

    request: Request
    words: list[str]
    reason: str = ""


class ModelServer:
    """`clock` gives monotonic seconds; `wall` is the Unix time of its start, for metrics."""

    def __init__(
        self, arguments: Arguments, config: EngineConfig, clock: Callable[[], float], wall: float
    ) -> None:
        self.arguments = arguments
        self.metrics = Metrics(arguments.served_name, wall)
        self.engine = Engine(config, self.metrics, clock())
        self.stopping = False
        self._clock = clock
        self._started = int(wall)
        self._numbers = itertools.count(1)
        self._moved = asyncio.Event()
        self._config = config
        self._dice = random.Random(config.blocks)
        self.regression = regression.NONE

    def suffer(self, wanted: regression.Regression) -> None:
        """Be as bad as this from now on."""
        if wanted != self.regression:
            self.regression = wanted
            self.engine.config = wanted.config(self._config)

    def is_failing(self) -> bool:
        """Whether the next request fails; it is counted as one that ended with an error."""
        fails = self.regression.fails(self._dice)
        if fails:
            self.metrics.count("request_success", value="error")
        return fails

    def take(self, request: Request) -> bool:
        """A caller's request, with its answer's status counted; False when it failed at once."""
        fails = self.is_failing()
        key = ("/v1/chat/completions", "POST", "5xx" if fails else "2xx")
        self.metrics.http[key] = self.metrics.http.get(key, 0) + 1
        if fails:
            return False
        if self.regression.forgets(self._dice):
            request.prompt = ()
        self.engine.submit(request)
        return True

    def advance(self) -> None:
        self.engine.advance(self._clock())
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    async def moved(self) -> None:
        """Waits until the engine has been advanced once more."""
        await self._moved.wait()

    def number(self) -> int:
        return next(self._numbers)

    def ask(self, prompt: str, max_tokens: int) -> Answer:
        """Queue a person's prompt; four characters count as a token."""
        tokens = max((len(prompt) + 3) // 4, 1)
        digest = hashlib.sha256(prompt.encode()).digest()
        length = min(12 + digest[0] % 40, max_tokens)
        words = [_WORDS[(digest[0] + n) % len(_WORDS)] for n in range(length)]
        size = self.engine.config.block_size
        chain = tuple(
            (("text", hashlib.sha256(prompt[: n * 4 * size].encode()).digest()[:12]), 1)
            for n in range(1, tokens // size + 1)
        )
        request = Request(
            number=self.number(),
            arrived=self._clock(),
            prompt=chain if self.arguments.caching else (),
            prompt_tokens=tokens,
            output_tokens=length,
            max_tokens=max_tokens,
        )
        answer = Answer(request, words)

        def finished(_: Request, reason: str) -> None:
            answer.reason = reason

        request.finished = finished
        self.engine.submit(request)
        return answer

    def page(self) -> str:
        self.engine.advance(self._clock())
        config = self.engine.config
        info = (
            f'block_size="{config.block_size}",cache_dtype="auto",'
            f'enable_prefix_caching="{self.arguments.caching}",engine="0",'
            f'gpu_memory_utilization="{self.arguments.utilization}",'
            f'num_gpu_blocks="{config.blocks}"'
        )
        return self.metrics.text(self.engine.gauges(), info)

    def models(self) -> Json:
        return {
            "object": "list",
            "data": [
                {
                    "id": self.arguments.served_name,
                    "object": "model",
                    "created": self._started,
                    "owned_by": "vllm",
                    "root": self.arguments.model,
                    "max_model_len": self.arguments.max_length or 32768,
                }
            ],
        }

    def stop(self) -> None:
        self.stopping = True
        self.engine.advance(self._clock())
        self.engine.stop()
