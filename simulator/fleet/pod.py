"""One pod on its node: devices prepared, containers run, status written, ended and removed."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from simulator.fleet.api import PODS, Api, ApiError, Kind, plain
from simulator.fleet.clock import Clock
from simulator.fleet.container import Container
from simulator.fleet.devices import Devices, Unprepared
from simulator.fleet.events import Recorder
from simulator.fleet.machine import Machine

type Json = dict[str, Any]

log = logging.getLogger("fleet")

_OURS = {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"}
_SECRETS = Kind("v1", "secrets", "Secret")
_CONFIG_MAPS = Kind("v1", "configmaps", "ConfigMap")


class PodWorker:
    """Runs one pod; `update` brings its newest object, `end` starts its removal."""

    def __init__(
        self,
        api: Api,
        recorder: Recorder,
        clock: Clock,
        machine: Machine,
        devices: Devices,
        pod: Json,
    ) -> None:
        self.api = api
        self.clock = clock
        self.machine = machine
        self.pod = pod
        self.uid: str = pod["metadata"]["uid"]
        self.restart_policy: str = pod["spec"].get("restartPolicy", "Always")
        self.containers: list[Container] = []
        self.address = ""
        self._recorder = recorder
        self._devices = devices
        self._phase = "Pending"
        self._begun = ""
        self._initialised = False
        self._written = ""
        self._known: dict[str, Json] = {}
        self._writing = asyncio.Lock()
        self._main: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._refreshing: asyncio.Task[None] | None = None

    @property
    def namespace(self) -> str:
        return str(self.pod["metadata"]["namespace"])

    @property
    def name(self) -> str:
        return str(self.pod["metadata"]["name"])

    def start(self) -> None:
        self._main = asyncio.create_task(self._guard(self._run))

    def end(self) -> None:
        if self._ending is None:
            self._ending = asyncio.create_task(self._guard(self._end))

    def forget(self) -> None:
        """The object is gone, or the node is: drop everything at once."""
        for task in (self._main, self._ending):
            if task:
                task.cancel()
        self.machine.free_address(self.address)
        self.machine.holdings.release(self.uid)
        for container in self.containers:
            self.machine.release(f"{self.uid}/{container.name}")

    def refresh(self) -> None:
        """Post the status again: devices changed health, or others gave the pod up meanwhile."""
        if self.containers and self._ending is None:
            self._written = ""
            self._refreshing = asyncio.create_task(self._guard(self.changed))

    async def _guard(self, work: Callable[[], Awaitable[None]]) -> None:
        """An API error that is no transient one means that the pod is gone or refused.

        The work begins in here: a task that is cancelled before its first step leaves nothing.
        """
        try:
            await work()
        except ApiError as error:
            log.log(
                logging.DEBUG if error.is_missing else logging.WARNING,
                "pod %s/%s: %s",
                self.namespace,
                self.name,
                error,
            )
        except Exception:  # one odd pod must not end its node
            log.exception("pod %s/%s", self.namespace, self.name)

    def event(self, reason: str, message: str, *, warning: bool = False) -> None:
        self._recorder.record(
            {"kind": "Pod"} | self.pod,
            reason,
            message,
            component="kubelet",
            host=self.machine.name,
            warning=warning,
        )

    async def missing_reference(self, container: Json) -> str:
        """The kubelet's words for a Secret or ConfigMap that env needs and that is not there."""
        for item in container.get("env") or []:
            source = item.get("valueFrom") or {}
            for key, kind in (("secretKeyRef", _SECRETS), ("configMapKeyRef", _CONFIG_MAPS)):
                reference = source.get(key)
                if reference and not reference.get("optional"):
                    text = await self._missing(kind, reference)
                    if text:
                        return text
        return ""

    async def _missing(self, kind: Kind, reference: Json) -> str:
        try:
            found = await self.api.get(kind, self.namespace, reference["name"])
        except ApiError as error:
            if not error.is_missing:
                raise
            return f'{kind.kind.lower()} "{reference["name"]}" not found'
        if reference["key"] in (found.get("data") or {}):
            return ""
        where = f"{self.namespace}/{reference['name']}"
        return f"couldn't find key {reference['key']} in {kind.kind} {where}"

    # Life.

    async def _run(self) -> None:
        status = self.pod.get("status") or {}
        if status.get("phase") in {"Succeeded", "Failed"}:
            return
        if status.get("podIP"):
            self.machine.adopt_address(status["podIP"])
            self.address = status["podIP"]
        self._begun = status.get("startTime") or Clock.stamp()
        if not await self._prepare():
            return
        self.address = self.address or self.machine.pod_address()
        self._adopt(status)
        if not self._initialised:
            await self.changed()
            for container in self.pod["spec"].get("initContainers") or []:
                self.event("Created", f"Created container: {container['name']}")
                self.event("Started", f"Started container {container['name']}")
            await self.clock.sleep(0.5)
            self._initialised = True
        self._phase = "Running" if status.get("phase") == "Running" else "Pending"
        await asyncio.gather(*(container.run() for container in self.containers))
        failed = any(container.exit_code for container in self.containers)
        self._phase = "Failed" if failed else "Succeeded"
        await self.changed()
        self.machine.holdings.release(self.uid)

    def _adopt(self, status: Json) -> None:
        """The containers; those that ran before this process are taken over as they were."""
        known = {item["name"]: item for item in status.get("containerStatuses") or []}
        for spec in self.pod["spec"]["containers"]:
            container = Container(self, spec, self._devices.held(self.pod, spec))
            if spec["name"] in known:
                container.resume(known[spec["name"]])
                self._initialised = True
            self.containers.append(container)

    async def _prepare(self) -> bool:
        """Devices; False when the pod cannot be admitted and has been failed."""
        while True:
            try:
                await self._devices.prepare(self.pod)
            except Unprepared as problem:
                if problem.final:
                    await self._refuse(problem.reason, str(problem))
                    return False
                if problem.reason:
                    self.event(problem.reason, str(problem), warning=True)
                await self._creating()
                await self.clock.sleep(2)
                continue
            return True

    async def _creating(self) -> None:
        if not self._written:
            self.containers = []
            await self.changed()

    async def _refuse(self, reason: str, message: str) -> None:
        self.event(reason, message, warning=True)
        status = {"phase": "Failed", "reason": reason, "message": f"Pod was rejected: {message}"}
        await self._patch(status | {"startTime": self._begun})

    async def _end(self) -> None:
        """On deletionTimestamp: hooks and signals, the last status, then the object goes."""
        grace = float(self.pod["metadata"].get("deletionGracePeriodSeconds") or 0)
        real = self.clock.shortened(grace)
        if self.machine.driver_down and self._devices.has_claims(self.pod):
            # A kubelet cannot unprepare without the driver, so the pod hangs in Terminating.
            self.event("FailedPrepareDynamicResources", "unprepare: driver gone", warning=True)
            while self.machine.driver_down:
                await asyncio.sleep(0.5)
        await asyncio.gather(*(container.stop(real) for container in self.containers))
        if self._main:
            self._main.cancel()
        await self._devices.unprepare(self.pod)
        self.forget_devices()
        await self.api.delete(PODS, self.namespace, self.name, uid=self.uid, grace=0)

    def forget_devices(self) -> None:
        self.machine.holdings.release(self.uid)
        for container in self.containers:
            if container.program:
                container.program.kill()

    # Status.

    async def changed(self) -> None:
        async with self._writing:
            status = self._status()
            text = plain(status)
            if text != self._written:
                await self._patch(status)
                self._written = text

    async def _patch(self, status: Json) -> None:
        """Again and again while the server is away, as a kubelet does."""
        pause = 0.2
        while True:
            while self.machine.silent:
                await asyncio.sleep(0.2)
            try:
                await self.api.merge(
                    PODS, self.namespace, self.name, {"status": status}, sub="status"
                )
            except ApiError as error:
                if error.status not in {0, 409, 429} and error.status < 500:
                    raise
                await asyncio.sleep(pause)
                pause = min(pause * 2, 5.0)
            else:
                return

    def _status(self) -> Json:
        ready = bool(self.containers) and all(container.ready for container in self.containers)
        if self._phase == "Pending" and any("running" in c.state for c in self.containers):
            self._phase = "Running"
        finished = self._phase in {"Succeeded", "Failed"}
        status: Json = {
            "phase": self._phase,
            "startTime": self._begun,
            "hostIP": self.machine.address,
            "hostIPs": [{"ip": self.machine.address}],
            "containerStatuses": [self._container_status(c) for c in self.containers]
            or [_unborn(spec) for spec in self.pod["spec"]["containers"]],
            "conditions": self._conditions(ready and not finished, finished),
        }
        init = self.pod["spec"].get("initContainers")
        if init and self._initialised:
            status["initContainerStatuses"] = [_completed(spec, self._begun) for spec in init]
        if self.address:
            status["podIP"] = self.address
            status["podIPs"] = [{"ip": self.address}]
        return status

    def _container_status(self, container: Container) -> Json:
        status: Json = {
            "name": container.name,
            "image": container.image,
            "imageID": f"{container.image}@sha256:simulated" if container.container_id else "",
            "ready": container.ready,
            "started": container.started,
            "restartCount": container.restarts,
            "state": container.state,
            "lastState": container.last_state,
        }
        if container.container_id:
            status["containerID"] = container.container_id
        health = self._devices.health(self.pod, container.spec)
        if health:
            status["allocatedResourcesStatus"] = health
        return status

    def _conditions(self, ready: bool, finished: bool) -> list[Json]:
        for item in (self.pod.get("status") or {}).get("conditions") or []:
            if item["type"] not in self._known or item["type"] not in _OURS:
                self._known[item["type"]] = item
        names = ", ".join(c.name for c in self.containers if not c.ready)
        unready = {
            "reason": "PodCompleted" if finished else "ContainersNotReady",
            "message": f"containers with unready status: [{names}]",
        }
        wanted: list[tuple[str, bool, Json]] = [
            ("PodReadyToStartContainers", bool(self.address) and not finished, {}),
            ("Initialized", self._initialised, {}),
            ("Ready", ready, unready),
            ("ContainersReady", ready, unready),
        ]
        for name, holds, why in wanted:
            self._known[name] = _condition(self._known.get(name), name, holds, {} if holds else why)
        return list(self._known.values())


def _condition(before: Json | None, name: str, holds: bool, why: Json) -> Json:
    status = "True" if holds else "False"
    same = before is not None and before.get("status") == status
    since = before.get("lastTransitionTime") if before and same else None
    return {"type": name, "status": status, "lastTransitionTime": since or Clock.stamp()} | why


def _unborn(spec: Json) -> Json:
    return {
        "name": spec["name"],
        "image": spec.get("image", ""),
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": 0,
        "state": {"waiting": {"reason": "ContainerCreating"}},
        "lastState": {},
    }


def _completed(spec: Json, since: str) -> Json:
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": since, "finishedAt": since}
    return _unborn(spec) | {"ready": True, "state": {"terminated": ended}}
