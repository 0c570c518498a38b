"""What a container does once it runs: a model server that loads and serves, or something plain."""

import asyncio
import re
import shlex
from dataclasses import dataclass
from typing import Any, Protocol

from simulator.fleet.clock import Clock
from simulator.fleet.logs import Log
from simulator.fleet.serving.arguments import Arguments, BadArguments, parse
from simulator.fleet.serving.model import Model, OutOfMemory, Share, engine_config, model_of
from simulator.fleet.serving.server import VERSION, ModelServer

type Json = dict[str, Any]

_IMPORT_SECONDS = 8.0
_COMPILE_SECONDS = 25.0
_DOWNLOAD_MIB_PER_SECOND = 600.0
_LOAD_MIB_PER_SECOND = 2400.0


@dataclass(frozen=True, slots=True)
class Held:
    """A device that a container may use: where its memory is, and its share of the card."""

    memory_id: str
    share: Share


class Memory(Protocol):
    """Device memory of a node; programs take from it and give back."""

    def take(self, device: str, owner: str, mib: int, total: int) -> int:
        """0 when taken; otherwise the MiB that are free and too few."""

    def release(self, owner: str) -> None: ...

    def downloaded(self, model: str) -> bool:
        """Whether the model's files were on the node already; they are from now on."""


class Program:
    """Base: runs until stopped. `exit_code` of a stopped one is 143 unless it ends by itself."""

    def __init__(self, log: Log, clock: Clock) -> None:
        self.log = log
        self.clock = clock

    async def run(self) -> int:
        await asyncio.Event().wait()
        return 0

    def answers(self, port: int, path: str) -> int | None:
        """HTTP status of a probe; None: connection refused. Plain ones listen everywhere."""
        return 200

    async def drain(self, seconds: float) -> int:
        """Ends on SIGTERM within `seconds` (real ones); returns the exit code."""
        return 143

    def kill(self) -> None:
        """Ends at once, as on SIGKILL."""


class Sleeper(Program):
    """`sleep N` and `exit N`, which tests and demonstrations of finished pods use."""

    def __init__(self, log: Log, clock: Clock, seconds: float, code: int) -> None:
        super().__init__(log, clock)
        self._seconds, self._code = seconds, code

    async def run(self) -> int:
        await self.clock.sleep(self._seconds)
        return self._code


class Serving(Program):
    """A model server from its banner to its last request."""

    def __init__(
        self,
        log: Log,
        clock: Clock,
        words: list[str],
        held: list[Held],
        memory: Memory,
        owner: str,
        *,
        resumed: bool,
    ) -> None:
        super().__init__(log, clock)
        self._words, self._held = words, held
        self._memory, self._owner = memory, owner
        self._resumed = resumed
        self.server: ModelServer | None = None
        self.port = 8000

    async def run(self) -> int:
        try:
            arguments = parse(self._words)
        except BadArguments as error:
            self.log.write(f"usage: api_server.py [-h] [options]\n{error}")
            await self.clock.sleep(2)
            return 2
        self.port = arguments.port
        self._say(f"vLLM API server version {VERSION}")
        self._say(f"Initializing a V1 LLM engine with config: model='{arguments.model}'")
        try:
            await self._load(arguments)
        except OutOfMemory as error:
            self.log.write(f"ERROR [core.py] EngineCore failed to start.\nERROR [core.py] {error}")
            self.log.write("RuntimeError: Engine core initialization failed.")
            return 1
        await asyncio.Event().wait()
        return 0

    async def _load(self, arguments: Arguments) -> None:
        model = model_of(arguments.model)
        await self._wait(_IMPORT_SECONDS)
        if not self._held:
            raise OutOfMemory("RuntimeError: Failed to infer device type: no GPU was found")
        if arguments.parallel > len(self._held):
            raise OutOfMemory(
                f"ValueError: World size ({arguments.parallel}) is larger than the number of "
                f"available GPUs ({len(self._held)}) in this node."
            )
        used = self._held[: arguments.parallel]
        self._take(used, arguments.utilization)
        await self._fetch(model)
        config = engine_config(
            model,
            [held.share for held in used],
            utilization=arguments.utilization,
            max_running=arguments.max_running,
            max_length=arguments.max_length,
        )
        await self._wait(_COMPILE_SECONDS)
        self._say(f"GPU KV cache size: {config.blocks * config.block_size:,} tokens")
        self._say(f"Starting vLLM server on http://0.0.0.0:{arguments.port}")
        self.server = ModelServer(arguments, config, Clock.monotonic, Clock.wall())
        self.log.write("INFO:     Application startup complete.")

    def _take(self, used: list[Held], utilization: float) -> None:
        for held in used:
            total = held.share.memory_mib
            wanted = int(total * utilization)
            free = self._memory.take(held.memory_id, self._owner, wanted, total)
            if free:
                raise OutOfMemory(
                    f"ValueError: Free memory on device cuda:0 ({free / 1024:.2f}/"
                    f"{total / 1024:.2f} GiB) on startup is less than desired GPU memory "
                    f"utilization ({utilization}, {wanted / 1024:.2f} GiB)."
                )

    async def _fetch(self, model: Model) -> None:
        self._say(f"Starting to load model {model.name}...")
        if not self._memory.downloaded(model.name):
            seconds = model.weights_mib / _DOWNLOAD_MIB_PER_SECOND
            await self._wait(seconds)
            took = self.clock.shortened(seconds)
            self._say(f"Time spent downloading weights for {model.name}: {took:.6f} seconds")
        seconds = model.weights_mib / _LOAD_MIB_PER_SECOND
        await self._wait(seconds)
        self._say(
            f"Model loading took {model.weights_mib / 1024:.4f} GiB and "
            f"{self.clock.shortened(seconds):.6f} seconds"
        )

    async def _wait(self, seconds: float) -> None:
        if not self._resumed:
            await self.clock.sleep(seconds)

    def _say(self, text: str) -> None:
        self.log.write(f"INFO {text}")

    def answers(self, port: int, path: str) -> int | None:
        if self.server is None or port != self.port:
            return None
        known = {"/health", "/ping", "/version", "/v1/models", "/metrics", "/load"}
        return 200 if path.partition("?")[0] in known else 404

    async def drain(self, seconds: float) -> int:
        server = self.server
        if server is None:
            self._memory.release(self._owner)
            return 143
        server.stopping = True
        patience = self.clock.shortened(server.arguments.shutdown_seconds)
        deadline = Clock.monotonic() + min(seconds, patience)
        while not server.engine.is_idle and Clock.monotonic() < deadline:
            await asyncio.sleep(0.05)
        self.log.write("INFO:     Shutting down")
        self.kill()
        return 0

    def kill(self) -> None:
        self._memory.release(self._owner)
        if self.server:
            self.server.stop()
            self.server = None


class Picker(Program):
    """An endpoint picker: its figures are counted by whoever carries requests, see routes.

    As upstream's, it has no series before the first event and counts no 5xx of model servers.
    """

    port = 9090

    def __init__(self, log: Log, clock: Clock, pool: str) -> None:
        super().__init__(log, clock)
        self.pool = pool
        self.requests = 0
        self.refused: dict[str, int] = {}
        self.ready_pods = 0

    def answers(self, port: int, path: str) -> int | None:
        if port not in (self.port, 9002, 9003):
            return None
        return 200 if port == self.port and path.partition("?")[0] == "/metrics" else 404

    def page(self) -> str:
        labels = 'model_name="",priority="0",target_model_name=""'
        lines = [
            "# TYPE inference_pool_ready_pods gauge",
            f'inference_pool_ready_pods{{name="{self.pool}"}} {self.ready_pods}',
        ]
        if self.requests:
            lines.append("# TYPE inference_objective_request_total counter")
            lines.append(f"inference_objective_request_total{{{labels}}} {self.requests}")
        if self.refused:
            lines.append("# TYPE inference_objective_request_error_total counter")
        lines += [
            f'inference_objective_request_error_total{{error_code="{code}",{labels}}} {count}'
            for code, count in sorted(self.refused.items())
        ]
        return "\n".join([*lines, ""])


def image_problem(image: str) -> str:
    """Why an image cannot be pulled: '' (it can), InvalidImageName or ErrImagePull."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9._/:-]*(:[A-Za-z0-9_.-]+)?(@sha256:[0-9a-f]+)?", image):
        return "InvalidImageName"
    return "ErrImagePull" if "missing" in image or "does-not-exist" in image else ""


def image_mib(image: str) -> int:
    """Compressed size: model servers carry CUDA, others are small."""
    return 9400 if is_model_server(image, []) else 140


def is_model_server(image: str, words: list[str]) -> bool:
    name = image.rpartition("/")[2]
    return "vllm" in name or any("vllm" in word for word in words[:4])


def program_for(
    container: Json,
    log: Log,
    clock: Clock,
    held: list[Held],
    memory: Memory,
    owner: str,
    *,
    resumed: bool,
) -> Program:
    words = _words(container)
    if is_model_server(container.get("image", ""), words):
        return Serving(log, clock, _server_words(words), held, memory, owner, resumed=resumed)
    pool = next((word.partition("=")[2] for word in words if word.startswith("--pool-name=")), "")
    if pool:
        return Picker(log, clock, pool)
    if len(words) >= 2 and words[0] in {"sleep", "exit"} and re.fullmatch(r"\d+", words[1]):
        number = int(words[1])
        return Sleeper(log, clock, *((number, 0) if words[0] == "sleep" else (1, number)))
    return Program(log, clock)


def _words(container: Json) -> list[str]:
    """command and args with $(NAME) replaced from env, and `sh -c` unwrapped."""
    values = {item["name"]: item.get("value", "") for item in container.get("env") or []}

    def value(match: re.Match[str]) -> str:
        return str(values.get(match[1], match[0]))

    words = [
        re.sub(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)", value, str(word))
        for word in [*(container.get("command") or []), *(container.get("args") or [])]
    ]
    if len(words) >= 3 and words[0].rpartition("/")[2] in {"sh", "bash"} and "c" in words[1]:
        try:
            return shlex.split(words[2])
        except ValueError:
            return words
    return words


def _server_words(words: list[str]) -> list[str]:
    """Without the interpreter and the module that start the server."""
    for number, word in enumerate(words[:4]):
        if word == "serve" or word.endswith(("api_server", "api_server.py")):
            return words[number + 1 :]
    return words
