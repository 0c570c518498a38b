"""Sends every Service's traffic to its ready model servers and lets their engines move on."""

import asyncio
import logging
import random
from typing import Any

from simulator.fleet.cache import Store
from simulator.fleet.clock import Clock
from simulator.fleet.gateway import Pods
from simulator.fleet.pod import PodWorker
from simulator.fleet.programs import Serving
from simulator.fleet.scenario import Traffic
from simulator.fleet.serving.server import ModelServer
from simulator.fleet.traffic import Stream

type Json = dict[str, Any]

log = logging.getLogger("fleet")

_TICK_SECONDS = 0.25


class Callers:
    def __init__(self, seed: int, rules: tuple[Traffic, ...], services: Store, pods: Pods) -> None:
        self._seed = seed
        self._rules = rules
        self._services = services
        self._pods = pods
        self._streams: dict[tuple[str, str], Stream] = {}

    async def run(self) -> None:
        while True:
            try:
                self.tick()
            except Exception:  # one odd Service must not end all traffic
                log.exception("traffic")
            await asyncio.sleep(_TICK_SECONDS)

    def tick(self) -> None:
        workers: dict[str, list[PodWorker]] = {}
        for worker in self._pods.workers():
            if _servers(worker):
                workers.setdefault(worker.namespace, []).append(worker)
        for namespace, here in workers.items():
            for service in list(self._services.within(namespace)):
                ready = [worker for worker in here if _is_behind(service, worker)]
                if ready:
                    self._send(service, ready)
            for worker in here:
                for server in _servers(worker):
                    server.advance()

    def _send(self, service: Json, workers: list[PodWorker]) -> None:
        stream = self._stream(service)
        if stream is None:
            return
        servers = [server for worker in workers for server in _servers(worker)]
        for arrived in stream.due(Clock.monotonic(), Clock.wall()):
            # As kube-proxy does: any ready one, without a look at its load.
            server = stream.random.choice(servers)
            server.engine.submit(stream.request(arrived, server))

    def _stream(self, service: Json) -> Stream | None:
        meta = service["metadata"]
        key = (meta["namespace"], meta["name"])
        if key not in self._streams:
            rule = next((r for r in self._rules if _applies(r, *key)), None)
            if rule is None:
                return None
            self._streams[key] = Stream(
                traffic=rule,
                tenant=key[0],
                random=random.Random(f"{self._seed}/{key[0]}/{key[1]}"),
                next_at=Clock.monotonic(),
            )
        return self._streams[key]


def _applies(rule: Traffic, namespace: str, service: str) -> bool:
    return rule.namespace in {"*", namespace} and rule.service in {"*", service}


def _servers(worker: PodWorker) -> list[ModelServer]:
    return [
        container.program.server
        for container in worker.containers
        if isinstance(container.program, Serving) and container.program.server
    ]


def _is_behind(service: Json, worker: PodWorker) -> bool:
    """Whether the Service selects the pod and the pod takes new requests."""
    meta = worker.pod["metadata"]
    selector = (service.get("spec") or {}).get("selector")
    if not selector or service["metadata"]["namespace"] != meta["namespace"]:
        return False
    labels = meta.get("labels") or {}
    selected = all(labels.get(key) == value for key, value in selector.items())
    ready = all(container.ready for container in worker.containers)
    return selected and ready and "deletionTimestamp" not in meta
