"""Requests of people and programs: Poisson arrivals with the shape of a day, per Service.

Prompts begin with one of the tenant's system prompts, or go on with an earlier conversation; so
what the prefix cache finds depends on the replicas, as it does in life.
"""

import math
import random
from collections import deque
from dataclasses import dataclass, field

from simulator.fleet.scenario import Traffic
from simulator.fleet.serving.blocks import Chain
from simulator.fleet.serving.engine import Request
from simulator.fleet.serving.server import ModelServer

_REMEMBERED_TURNS = 64
_LONGEST_PROMPT = 16000


def rate_at(traffic: Traffic, wall: float) -> float:
    """Requests per second at a Unix time; busiest in the middle of the (UTC) day."""
    phase = (wall % traffic.day_seconds) / traffic.day_seconds
    return traffic.rate * (1 + traffic.swing * math.sin(2 * math.pi * (phase - 0.25)))


@dataclass(slots=True)
class Stream:
    """The callers of one Service; seeded, so equal arrivals meet equal prompts."""

    traffic: Traffic
    tenant: str
    random: random.Random
    next_at: float
    turns: deque[tuple[Chain, int]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED_TURNS))
    sent: int = 0

    def due(self, now: float, wall: float) -> list[float]:
        """Arrival times up to `now`; a pause of the process is not made up for."""
        times: list[float] = []
        if now - self.next_at > 5.0:
            self.next_at = now
        while self.next_at <= now:
            times.append(self.next_at)
            rate = rate_at(self.traffic, wall + self.next_at - now)
            self.next_at += self.random.expovariate(rate) if rate > 0 else 1.0
        return times if self.traffic.rate > 0 else []

    def request(self, arrived: float, server: ModelServer) -> Request:
        """The next prompt, for `server`, which decides block size and numbering."""
        size = server.engine.config.block_size
        self.sent += 1
        start, tokens = self._beginning(size)
        asked = self._length(self.traffic.prompt_tokens, self.traffic.prompt_sigma)
        tokens = min(tokens + asked, _LONGEST_PROMPT)
        own = tokens // size - sum(blocks for _, blocks in start)
        chain = (*start, ((self.tenant, "ask", self.sent), own)) if own > 0 else start
        output = self._length(self.traffic.output_tokens, self.traffic.output_sigma)
        return Request(
            number=server.number(),
            arrived=arrived,
            prompt=chain if server.arguments.caching else (),
            prompt_tokens=tokens,
            output_tokens=min(output, 4096),
            max_tokens=4096,
            finished=self._remember,
        )

    def _beginning(self, size: int) -> tuple[Chain, int]:
        if self.turns and self.random.random() < self.traffic.follow_ups:
            chain, tokens = self.random.choice(self.turns)
            if tokens < _LONGEST_PROMPT // 2:
                return chain, tokens
        # The most popular system prompt is asked for about twice as often as the next.
        popular = [1 / (n + 1) for n in range(self.traffic.prefixes)]
        [prefix] = self.random.choices(range(self.traffic.prefixes), popular)
        blocks = self.traffic.prefix_tokens // size
        chain = (((self.tenant, "system", prefix), blocks),) if blocks else ()
        return chain, self.traffic.prefix_tokens

    def _length(self, median: int, sigma: float) -> int:
        return max(1, int(self.random.lognormvariate(math.log(median), sigma)))

    def _remember(self, request: Request, reason: str) -> None:
        if reason == "stop":
            tokens = request.prompt_tokens + request.generated
            held = sum(blocks for _, blocks in request.prompt)
            grown = tokens // 16 - held
            turn = (("turn", request.number), grown)
            self.turns.append(((*request.prompt, turn) if grown > 0 else request.prompt, tokens))
