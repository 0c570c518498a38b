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
from simulator.fleet.routes import Routes, is_taking, pick, selects
from simulator.fleet.scenario import Scenario, Traffic
from simulator.fleet.serving import regression
from simulator.fleet.serving.server import ModelServer
from simulator.fleet.traffic import Stream

type Json = dict[str, Any]

log = logging.getLogger("fleet")

_TICK_SECONDS = 0.25


class Callers:
    """`routes` None: there is no gateway, and everybody uses the Services."""

    def __init__(
        self,
        scenario: Scenario,
        services: Store,
        pods: Pods,
        routes: Routes | None = None,
    ) -> None:
        self._seed = scenario.seed
        self._rules = scenario.traffic
        self._regressions = scenario.regressions
        self._routes = routes
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
            workers.setdefault(worker.namespace, []).append(worker)
        for namespace, here in workers.items():
            serving = [worker for worker in here if _servers(worker)]
            if not serving:
                continue
            for worker in serving:
                self._afflict(worker)
            for service in list(self._services.within(namespace)):
                behind = [worker for worker in serving if _is_behind(service, worker)]
                rule = self._routes.rule_of(service, behind) if self._routes else None
                if rule is not None:
                    self._route(service, rule, here)
                elif ready := [worker for worker in behind if is_taking(worker)]:
                    self._send(service, ready)
            for worker in serving:
                for server in _servers(worker):
                    server.advance()

    def _afflict(self, worker: PodWorker) -> None:
        """What the scenario says of the pod, or its annotation, which goes first."""
        meta = worker.pod["metadata"]
        text = (meta.get("annotations") or {}).get(regression.ANNOTATION)
        wanted = regression.parse(text) if text is not None else regression.NONE
        for one in self._regressions if text is None else ():
            if one.is_meant(meta["namespace"], meta["name"], meta.get("labels") or {}):
                wanted = one.regression
                break
        for server in _servers(worker):
            server.suffer(wanted)

    def _send(self, service: Json, workers: list[PodWorker]) -> None:
        stream = self._stream(service)
        if stream is None:
            return
        servers = [server for worker in workers for server in _servers(worker)]
        for arrived in stream.due(Clock.monotonic(), Clock.wall()):
            # As kube-proxy does: any ready one, without a look at its load.
            server = stream.random.choice(servers)
            server.take(stream.request(arrived, server))

    def _route(self, service: Json, rule: Json, workers: list[PodWorker]) -> None:
        """As a gateway does: a pool by weight, then the pod that its picker chooses."""
        stream, routes = self._stream(service), self._routes
        if stream is None or routes is None:
            return
        for arrived in stream.due(Clock.monotonic(), Clock.wall()):
            pool = routes.choose(service["metadata"]["namespace"], rule, stream.random)
            picker = routes.picker(pool, workers) if pool else None
            if pool is None or picker is None:
                continue  # answered with 500, and nobody but the gateway knows
            found = [one for worker in routes.servers(pool, workers) for one in _servers(worker)]
            picker.ready_pods = len(found)
            if not found:
                code = "ServiceUnavailable"
                picker.refused[code] = picker.refused.get(code, 0) + 1
                continue
            request = stream.request(arrived, found[0])
            server = pick(found, request)
            request.number = server.number()
            picker.requests += 1
            server.take(request)

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
    """Whether the Service selects the pod."""
    meta = worker.pod["metadata"]
    selector = (service.get("spec") or {}).get("selector")
    if not selector or service["metadata"]["namespace"] != meta["namespace"]:
        return False
    return selects(selector, worker)
