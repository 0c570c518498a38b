"""Continuous batching, step by step: decode first, then prompts in chunks of the token budget."""

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from simulator.fleet.serving.blocks import BlockPool, Chain
from simulator.fleet.serving.metrics import Metrics

# With only decoding in the batch this many steps are taken at once; each request then grows by
# one block at most.
_STRIDE = 16


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """What the cards allow. Times are seconds; see serving.model for where they come from."""

    blocks: int
    step_seconds: float
    prefill_token_seconds: float
    context_token_seconds: float
    block_size: int = 16
    max_running: int = 256
    token_budget: int = 8192


@dataclass(slots=True, eq=False)
class Request:
    """One request. `prompt` names what its leading blocks hold; `finished` is called once."""

    number: int
    arrived: float
    prompt: Chain
    prompt_tokens: int
    output_tokens: int
    max_tokens: int = 0
    finished: Callable[["Request", str], None] | None = None
    computed: int = 0
    cached: int = 0
    generated: int = 0
    private: int = 0
    scheduled_at: float = 0.0
    first_token_at: float = 0.0
    ended_at: float = 0.0

    @property
    def is_decoding(self) -> bool:
        return self.computed >= self.prompt_tokens


class Engine:
    """Runs requests on simulated cards; `advance` brings it to a moment, never back."""

    def __init__(self, config: EngineConfig, metrics: Metrics, now: float) -> None:
        self.config = config
        self.metrics = metrics
        self.now = now
        self.pool = BlockPool(config.blocks)
        self.running: list[Request] = []
        self.waiting: deque[Request] = deque()
        self._arriving: list[tuple[float, int, Request]] = []

    @property
    def is_idle(self) -> bool:
        return not (self.running or self.waiting or self._arriving)

    @property
    def load(self) -> int:
        return len(self.running) + len(self.waiting) + len(self._arriving)

    def submit(self, request: Request) -> None:
        heapq.heappush(self._arriving, (request.arrived, request.number, request))

    def advance(self, until: float) -> None:
        while self.now < until:
            self._arrive()
            if not self.running and not self.waiting:
                upcoming = self._arriving[0][0] if self._arriving else until
                self.now = min(max(upcoming, self.now), until)
                if self.now >= until:
                    return
                continue
            self._admit()
            self._step(until)

    def abort(self, request: Request, reason: str = "abort") -> None:
        """The client went away, or the server ends."""
        if request in self.running:
            self.running.remove(request)
            self.pool.release(request.prompt, request.private)
        elif request in self.waiting:
            self.waiting.remove(request)
        else:
            self._arriving = [entry for entry in self._arriving if entry[2] is not request]
            heapq.heapify(self._arriving)
        self.metrics.count("request_success", value=reason)
        if request.finished:
            request.finished(request, reason)

    def stop(self) -> None:
        for request in [*self.running, *self.waiting, *(entry[2] for entry in self._arriving)]:
            self.abort(request)

    def gauges(self) -> dict[str, float]:
        return {
            "num_requests_running": float(len(self.running)),
            "num_requests_waiting": float(len(self.waiting)),
            "kv_cache_usage_perc": self.pool.used / max(self.pool.total, 1),
        }

    def _arrive(self) -> None:
        while self._arriving and self._arriving[0][0] <= self.now:
            self.waiting.append(heapq.heappop(self._arriving)[2])

    def _admit(self) -> None:
        """First come, first served, while a place and blocks for the whole prompt are there."""
        while self.waiting and len(self.running) < self.config.max_running:
            request = self.waiting[0]
            size = self.config.block_size
            chained = sum(blocks for _, blocks in request.prompt)
            length = request.prompt_tokens + request.generated
            private = max(-(-(length + 1) // size) - chained, 1)
            if chained + private > self.pool.total:
                self.waiting.popleft()
                self.metrics.count("request_success", value="error")
                if request.finished:
                    request.finished(request, "error")
                continue
            hits = self.pool.hits(request.prompt)
            if not self.pool.hold(request.prompt, private):
                return
            self.waiting.popleft()
            request.private = private
            request.cached = min(hits * size, request.prompt_tokens - 1)
            request.computed = request.cached
            request.scheduled_at = request.scheduled_at or self.now
            self.metrics.count("prefix_cache_queries", request.prompt_tokens)
            self.metrics.count("prefix_cache_hits", request.cached)
            self.running.append(request)

    def _step(self, until: float) -> None:
        decoding = [request for request in self.running if request.is_decoding]
        chunks = self._chunks(self.config.token_budget - len(decoding))
        if not decoding and not chunks:
            # All that waited was refused; an empty cache takes any prompt that it could ever hold.
            return
        tokens = sum(chunk for _, chunk in chunks)
        context = sum(r.prompt_tokens + r.generated for r in decoding)
        step = (
            self.config.step_seconds
            + tokens * self.config.prefill_token_seconds
            + context * self.config.context_token_seconds
        )
        steps = 1 if chunks else self._stride(decoding, step, until)
        decoding = self._make_room(decoding, steps)
        self.now += step * steps
        self.metrics.observe("iteration_tokens_total", tokens + len(decoding), steps)
        self._prefilled(chunks)
        self._decoded(decoding, step, steps)

    def _chunks(self, budget: int) -> list[tuple[Request, int]]:
        chunks = []
        for request in self.running:
            if budget <= 0:
                break
            if not request.is_decoding:
                chunk = min(request.prompt_tokens - request.computed, budget)
                chunks.append((request, chunk))
                budget -= chunk
        return chunks

    def _stride(self, decoding: list[Request], step: float, until: float) -> int:
        nearest = min(until, self._arriving[0][0] if self._arriving else until)
        left = min(r.output_tokens - r.generated for r in decoding)
        return max(min(_STRIDE, left, int((nearest - self.now) / step)), 1)

    def _make_room(self, decoding: list[Request], steps: int) -> list[Request]:
        """Blocks for the tokens to come; without any the youngest request starts over later."""
        size = self.config.block_size
        kept = list(decoding)
        for request in decoding:
            if request not in kept:
                continue
            length = request.prompt_tokens + request.generated
            growth = -(-(length + steps + 1) // size) - -(-(length + 1) // size)
            while growth and not self.pool.grow(growth):
                victim = self.running[-1]
                self._preempt(victim)
                if victim in kept:
                    kept.remove(victim)
                if victim is request:
                    growth = 0
            request.private += growth
        return kept

    def _preempt(self, request: Request) -> None:
        self.running.remove(request)
        self.pool.release(request.prompt, request.private)
        # What was generated is kept and computed again with the prompt.
        request.computed = request.private = 0
        self.waiting.appendleft(request)
        self.metrics.count("num_preemptions")

    def _prefilled(self, chunks: list[tuple[Request, int]]) -> None:
        for request, chunk in chunks:
            if request not in self.running:
                continue
            request.computed += chunk
            if not request.is_decoding:
                continue
            if request.generated == 0:
                self._first_token(request)
            request.generated += 1
            self.metrics.count("generation_tokens")
            self._end_if_done(request)

    def _first_token(self, request: Request) -> None:
        request.first_token_at = self.now
        computed = request.prompt_tokens - request.cached
        self.metrics.observe("time_to_first_token_seconds", self.now - request.arrived)
        self.metrics.count("prompt_tokens", request.prompt_tokens)
        self.metrics.count("prompt_tokens_cached", request.cached)
        self.metrics.count("prompt_tokens_by_source", request.cached, "local_cache_hit")
        self.metrics.count("prompt_tokens_by_source", computed, "local_compute")

    def _decoded(self, decoding: list[Request], step: float, steps: int) -> None:
        if not decoding:
            return
        self.metrics.observe("inter_token_latency_seconds", step, steps * len(decoding))
        self.metrics.count("generation_tokens", steps * len(decoding))
        for request in decoding:
            request.generated += steps
            self._end_if_done(request)

    def _end_if_done(self, request: Request) -> None:
        if request.generated < request.output_tokens:
            return
        self.running.remove(request)
        request.ended_at = self.now
        kept = (request.prompt_tokens + request.generated) // self.config.block_size - sum(
            blocks for _, blocks in request.prompt
        )
        self.pool.release(request.prompt, request.private, (("turn", request.number), max(kept, 0)))
        reason = "length" if request.generated >= (request.max_tokens or 2**62) else "stop"
        self._account(request, reason)
        if request.finished:
            request.finished(request, reason)

    def _account(self, request: Request, reason: str) -> None:
        first, end = request.first_token_at, self.now
        observed = {
            "e2e_request_latency_seconds": end - request.arrived,
            "request_queue_time_seconds": request.scheduled_at - request.arrived,
            "request_inference_time_seconds": end - request.scheduled_at,
            "request_prefill_time_seconds": first - request.scheduled_at,
            "request_decode_time_seconds": end - first,
            "request_prompt_tokens": request.prompt_tokens,
            "request_generation_tokens": request.generated,
        }
        if request.generated > 1:
            gaps = request.generated - 1
            observed["request_time_per_output_token_seconds"] = (end - first) / gaps
        if request.max_tokens:
            observed["request_params_max_tokens"] = request.max_tokens
        for name, value in observed.items():
            self.metrics.observe(name, value)
        self.metrics.count("request_success", value=reason)
