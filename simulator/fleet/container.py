"""One container of a pod: pulled, created, probed, restarted with back-off, ended."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from simulator.fleet.clock import Clock
from simulator.fleet.logs import Log
from simulator.fleet.machine import Machine
from simulator.fleet.programs import (
    Held,
    Program,
    image_mib,
    image_problem,
    program_for,
)

type Json = dict[str, Any]

_PULL_MIB_PER_SECOND = 250.0
_MOST_BACKOFF_SECONDS = 300.0


class Pod(Protocol):
    """What a container needs of its pod."""

    uid: str
    address: str
    restart_policy: str
    machine: Machine
    clock: Clock

    def event(self, reason: str, message: str, *, warning: bool = False) -> None: ...

    async def changed(self) -> None: ...

    async def missing_reference(self, container: Json) -> str: ...


class Container:
    def __init__(self, pod: Pod, spec: Json, held: list[Held]) -> None:
        self.pod = pod
        self.spec = spec
        self.name: str = spec["name"]
        self.image: str = spec.get("image", "")
        self.held = held
        self.log = Log()
        self.previous: Log | None = None
        self.program: Program | None = None
        self.restarts = 0
        self.started = False
        self.ready = False
        self.state: Json = {"waiting": {"reason": "ContainerCreating"}}
        self.last_state: Json = {}
        self.container_id = ""
        self._killed = False

    @property
    def is_running(self) -> bool:
        return "running" in self.state

    @property
    def exit_code(self) -> int | None:
        """Of a container that stays ended."""
        ended = self.state.get("terminated")
        return None if ended is None else int(ended["exitCode"])

    def resume(self, status: Json) -> None:
        """Take over a container that ran before this process started."""
        self.restarts = int(status.get("restartCount", 0))
        self.last_state = status.get("lastState") or {}
        self.state = status.get("state") or self.state
        self.container_id = status.get("containerID", "")
        self.started = bool(status.get("started"))
        self.ready = bool(status.get("ready"))

    async def run(self) -> None:
        """Until it has ended for good; with restartPolicy Always that is never."""
        resumed = self.is_running and self.started
        backoff = 10.0
        while True:
            if not resumed:
                await self._image()
                await self._references()
            began = Clock.monotonic()
            code = await self._once(resumed=resumed)
            resumed = False
            if self._stays_ended(code):
                return
            if Clock.monotonic() - began > self.pod.clock.shortened(600):
                backoff = 10.0
            await self._back_off(backoff)
            backoff = min(backoff * 2, _MOST_BACKOFF_SECONDS)
            self.restarts += 1

    def _stays_ended(self, code: int) -> bool:
        policy = self.spec.get("restartPolicy") or self.pod.restart_policy
        return policy == "Never" or (policy == "OnFailure" and code == 0)

    async def _image(self) -> None:
        backoff = 10.0
        while reason := image_problem(self.image):
            await self._image_refused(reason, backoff)
            backoff = min(backoff * 2, _MOST_BACKOFF_SECONDS)
        pod, image = self.pod, self.image
        if image in pod.machine.images and self.spec.get("imagePullPolicy") != "Always":
            pod.event("Pulled", f'Container image "{image}" already present on machine')
            return
        pod.event("Pulling", f'Pulling image "{image}"')
        size = image_mib(image)
        seconds = 0.8 if image in pod.machine.images else size / _PULL_MIB_PER_SECOND
        await pod.clock.sleep(seconds)
        seconds = pod.clock.shortened(seconds)
        pod.machine.images.add(image)
        pod.event(
            "Pulled",
            f'Successfully pulled image "{image}" in {seconds:.3f}s ({seconds:.3f}s including '
            f"waiting). Image size: {size * 2**20} bytes.",
        )

    async def _image_refused(self, reason: str, backoff: float) -> None:
        if reason == "InvalidImageName":
            text = f'Failed to apply default image tag "{self.image}": invalid reference format'
            self.pod.event("InspectFailed", text, warning=True)
            await self._wait_as(reason, text)
            await self.pod.clock.sleep(backoff)
            return
        self.pod.event("Pulling", f'Pulling image "{self.image}"')
        await self.pod.clock.sleep(1)
        text = (
            f'Failed to pull image "{self.image}": rpc error: code = NotFound desc = failed to '
            f'pull and unpack image "{self.image}": failed to resolve reference '
            f'"{self.image}": not found'
        )
        self.pod.event("Failed", text, warning=True)
        self.pod.event("Failed", f"Error: {reason}", warning=True)
        await self._wait_as(reason, text.partition(": ")[2])
        await self.pod.clock.sleep(2)
        self.pod.event("BackOff", f'Back-off pulling image "{self.image}"')
        self.pod.event("Failed", "Error: ImagePullBackOff", warning=True)
        await self._wait_as("ImagePullBackOff", f'Back-off pulling image "{self.image}": {text}')
        await self.pod.clock.sleep(backoff)

    async def _references(self) -> None:
        while text := await self.pod.missing_reference(self.spec):
            self.pod.event("Failed", f"Error: {text}", warning=True)
            await self._wait_as("CreateContainerConfigError", text)
            await self.pod.clock.sleep(10)

    async def _wait_as(self, reason: str, message: str) -> None:
        self.state = {"waiting": {"reason": reason, "message": message}}
        self.ready = self.started = False
        await self.pod.changed()

    async def _back_off(self, seconds: float) -> None:
        self.last_state, ended = self.state, self.state["terminated"]
        text = (
            f"back-off {int(seconds)}s restarting failed container={self.name} "
            f"pod={self.pod.uid} (last exit code {ended['exitCode']})"
        )
        self.pod.event("BackOff", f"Back-off restarting failed container {self.name}", warning=True)
        await self._wait_as("CrashLoopBackOff", text)
        await self.pod.clock.sleep(seconds)

    async def _once(self, *, resumed: bool) -> int:
        """From creation to exit; the exit code."""
        if not resumed:
            self.previous, self.log = (self.log if self.restarts else None), Log()
            self.container_id = f"containerd://{self.pod.uid}-{self.name}-{self.restarts}"
            self.pod.event("Created", f"Created container: {self.name}")
            self.pod.event("Started", f"Started container {self.name}")
            self.state = {"running": {"startedAt": Clock.stamp()}}
        owner = f"{self.pod.uid}/{self.name}"
        self.program = program_for(
            self.spec,
            self.log,
            self.pod.clock,
            self.held,
            self.pod.machine,
            owner,
            resumed=resumed,
        )
        began = self.state["running"]["startedAt"]
        running = asyncio.create_task(self.program.run())
        probing = asyncio.create_task(self._probe(running, resumed=resumed))
        self._killed = False
        try:
            await self.pod.changed()
            code = await running
        except asyncio.CancelledError:
            if not self._killed:
                raise
            code = 137
        finally:
            probing.cancel()
            running.cancel()
            self.program.kill()
        await self._ended(code, began)
        return code

    async def _ended(self, code: int, began: str) -> None:
        self.log.close()
        self.ready = self.started = False
        self.state = {
            "terminated": {
                "exitCode": code,
                "reason": "Completed" if code == 0 else "Error",
                "startedAt": began,
                "finishedAt": Clock.stamp(),
                "containerID": self.container_id,
            }
        }
        await self.pod.changed()

    async def stop(self, grace: float) -> int:
        """preStop, SIGTERM, at last SIGKILL, all within `grace` real seconds."""
        if self.program is None or not self.is_running:
            return 0
        deadline = Clock.monotonic() + grace
        self.pod.event("Killing", f"Stopping container {self.name}")
        pause = min(self.pod.clock.shortened(_pre_stop_seconds(self.spec)), grace)
        await asyncio.sleep(pause)
        code = await self.program.drain(max(deadline - Clock.monotonic(), 0.0))
        self.log.close()
        return code

    # Probes.

    async def _probe(self, running: asyncio.Task[int], *, resumed: bool) -> None:
        startup = self.spec.get("startupProbe")
        if startup and not resumed and not await self._probe_start(startup, running):
            return
        self.started = True
        loops: list[Callable[[], Awaitable[None]]] = []
        readiness, liveness = self.spec.get("readinessProbe"), self.spec.get("livenessProbe")
        if readiness:
            loops.append(lambda: self._probe_ready(readiness))
        else:
            self.ready = True
        if liveness:
            loops.append(lambda: self._probe_alive(liveness, running))
        await self.pod.changed()
        await asyncio.gather(*(loop() for loop in loops))

    async def _probe_start(self, probe: Json, running: asyncio.Task[int]) -> bool:
        await self.pod.clock.sleep(probe.get("initialDelaySeconds", 0))
        for _ in range(int(probe.get("failureThreshold", 3))):
            text = self._failure(probe)
            if not text:
                return True
            self.pod.event("Unhealthy", f"Startup probe failed: {text}", warning=True)
            await self.pod.clock.sleep(probe.get("periodSeconds", 10))
        self._kill("startup", running)
        return False

    async def _probe_ready(self, probe: Json) -> None:
        await self.pod.clock.sleep(probe.get("initialDelaySeconds", 0))
        good = bad = 0
        while True:
            text = self._failure(probe)
            good, bad = (0, bad + 1) if text else (good + 1, 0)
            if text and self.ready is False:
                self.pod.event("Unhealthy", f"Readiness probe failed: {text}", warning=True)
            if good >= probe.get("successThreshold", 1) and not self.ready:
                self.ready = True
                await self.pod.changed()
            elif bad >= probe.get("failureThreshold", 3) and self.ready:
                self.ready = False
                await self.pod.changed()
            await self.pod.clock.sleep(probe.get("periodSeconds", 10))

    async def _probe_alive(self, probe: Json, running: asyncio.Task[int]) -> None:
        await self.pod.clock.sleep(probe.get("initialDelaySeconds", 0))
        bad = 0
        while True:
            text = self._failure(probe)
            bad = bad + 1 if text else 0
            if text:
                self.pod.event("Unhealthy", f"Liveness probe failed: {text}", warning=True)
            if bad >= probe.get("failureThreshold", 3):
                self._kill("liveness", running)
                return
            await self.pod.clock.sleep(probe.get("periodSeconds", 10))

    def _kill(self, kind: str, running: asyncio.Task[int]) -> None:
        self.pod.event("Killing", f"Container {self.name} failed {kind} probe, will be restarted")
        self._killed = True
        running.cancel()

    def _failure(self, probe: Json) -> str:
        """Why a probe fails now; '' when it succeeds. exec and gRPC probes always succeed."""
        asked = probe.get("httpGet")
        program = self.program
        if program is None or not (asked or "tcpSocket" in probe):
            return ""
        if not asked:
            port = self._port(probe["tcpSocket"].get("port"))
            open_port = program.answers(port, "/health") is not None
            address = f"{self.pod.address}:{port}"
            return "" if open_port else f"dial tcp {address}: connect: connection refused"
        port, path = self._port(asked.get("port")), asked.get("path", "/")
        address = f"{self.pod.address}:{port}"
        status = program.answers(port, path)
        if status is None:
            return f'Get "http://{address}{path}": dial tcp {address}: connect: connection refused'
        return "" if 200 <= status < 400 else f"HTTP probe failed with statuscode: {status}"

    def _port(self, port: object) -> int:
        """A number, or the name of one of the container's ports."""
        if isinstance(port, int):
            return port
        for item in self.spec.get("ports") or []:
            if item.get("name") == port:
                return int(item["containerPort"])
        return int(str(port)) if str(port).isdigit() else 0


def _pre_stop_seconds(spec: Json) -> float:
    """`sleep` hooks and exec hooks that end in `sleep N`."""
    hook = (spec.get("lifecycle") or {}).get("preStop") or {}
    if "sleep" in hook:
        return float(hook["sleep"].get("seconds", 0))
    words = " ".join(str(word) for word in (hook.get("exec") or {}).get("command") or []).split()
    if len(words) >= 2 and words[-2].endswith("sleep") and words[-1].isdigit():
        return float(words[-1])
    return 0.0
