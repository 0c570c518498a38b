"""Puts a fleet together and runs it until it is cancelled."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from simulator.fleet.api import CLAIMS, NODES, PODS, SERVICES, SLICES, Api, ApiError
from simulator.fleet.cache import Cluster
from simulator.fleet.callers import Callers
from simulator.fleet.clock import Clock
from simulator.fleet.controllers import Runnable, all_controllers
from simulator.fleet.controllers.gateways import Gateways
from simulator.fleet.events import Recorder
from simulator.fleet.faults import Faults
from simulator.fleet.gateway import KUBELET_PORT, Egress, Gateway, Pods
from simulator.fleet.gatewayapi import POOLS, ROUTES
from simulator.fleet.install import install
from simulator.fleet.kubelet import HEARTBEAT_SECONDS, Kubelet
from simulator.fleet.machine import Machine
from simulator.fleet.publisher import slices_by_pool
from simulator.fleet.routes import Routes
from simulator.fleet.scenario import Fault, Scenario

type Json = dict[str, Any]

log = logging.getLogger("fleet")


class Fleet:
    """All nodes of a scenario on one cluster.

    `nodes_only`: no controllers and no scheduler, since the cluster has its own.
    `egress`: where to listen for the API server's CONNECT requests.
    """

    def __init__(
        self,
        api: Api,
        scenario: Scenario,
        *,
        nodes_only: bool = False,
        egress: Path | None = None,
    ) -> None:
        self.api = api
        self.scenario = scenario
        self.clock = Clock(scenario.speed)
        self.cluster = Cluster(api)
        self.recorder = Recorder(api)
        self.kubelets: dict[str, Kubelet] = {}
        self._nodes_only = nodes_only
        self._pods = self.cluster.store(PODS)
        self._egress_path = egress
        self.ready = asyncio.Event()
        self.loop = asyncio.get_running_loop()
        self._faults = Faults(api, scenario.faults, self.kubelets, self.resync)

    async def run(self) -> None:
        """Raises nothing but cancellation; an API server that is away is waited for."""
        gateway = Gateway()
        await gateway.start()
        self._build(gateway.url)
        pods = Pods(self.kubelets.values())
        gateway.serve(pods)
        egress = Egress(pods, self._egress_path) if self._egress_path else None
        if egress:
            await egress.start()
        self._pods.listen(self._dispatch)
        self.cluster.store(NODES).listen(self._node_changed)
        callers = Callers(self.scenario, self.cluster.store(SERVICES), pods, self._routes())
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._install())
                for part in self._controllers():
                    group.create_task(part.run())
                group.create_task(self.cluster.run())
                group.create_task(self.recorder.run())
                await self.cluster.synced()
                for kubelet in self.kubelets.values():
                    group.create_task(kubelet.run())
                group.create_task(callers.run())
                group.create_task(self._faults.run())
                for kubelet in self.kubelets.values():
                    await kubelet.joined.wait()
                self.ready.set()
        finally:
            await gateway.stop()
            if egress:
                await egress.stop()

    def _routes(self) -> Routes | None:
        if not self.scenario.gateway:
            return None
        store = self.cluster.store
        return Routes(store(ROUTES), store(POOLS), store(SERVICES))

    def _build(self, url: str) -> None:
        slices = slices_by_pool(self.cluster.store(SLICES))
        for number, spec in enumerate(self.scenario.nodes):
            self.kubelets[spec.name] = Kubelet(
                self.cluster,
                self.recorder,
                self.clock,
                Machine(self.scenario.seed, spec, number),
                nodes=self.cluster.store(NODES),
                claims=self.cluster.store(CLAIMS),
                slices=slices,
                seed=self.scenario.seed,
                version=self.scenario.kubernetes,
                gateway=url,
                kubelet_port=KUBELET_PORT,
                heartbeat=min(HEARTBEAT_SECONDS, self.scenario.node_grace / 4),
            )

    def _controllers(self) -> list[Runnable]:
        if self._nodes_only:
            return []
        found = all_controllers(self.cluster, self.recorder, self.clock, self.scenario.node_grace)
        return [*found, Gateways(self.cluster)] if self.scenario.gateway else found

    async def _install(self) -> None:
        pause = 0.2
        while True:
            try:
                await install(self.api, self.scenario)
            except ApiError as error:
                log.warning("installing: %s", error)
                await asyncio.sleep(pause)
                pause = min(pause * 2, 5.0)
            else:
                return

    def _dispatch(self, before: Json | None, after: Json | None) -> None:
        pod = after or before
        assert pod
        kubelet = self.kubelets.get(pod["spec"].get("nodeName", ""))
        if kubelet is None:
            return
        if after is None:
            kubelet.gone(pod)
        else:
            if before and before["metadata"]["uid"] != after["metadata"]["uid"]:
                kubelet.gone(before)
            kubelet.saw(after)

    def _node_changed(self, _: Json | None, after: Json | None) -> None:
        kubelet = self.kubelets.get(after["metadata"]["name"]) if after else None
        if after and kubelet and kubelet.read_node(after):
            self.resync(kubelet.machine.name)

    async def apply_fault(self, fault: Fault, *, begins: bool) -> None:
        """Now, beside those of the scenario; for tests and for whoever drives a fleet."""
        await self._faults.apply(fault, begins=begins)

    def resync(self, node: str) -> None:
        """A node is back: it looks at all its pods again."""
        kubelet = self.kubelets[node]
        for pod in self._pods:
            if pod["spec"].get("nodeName") == node:
                kubelet.saw(pod)
        for uid in set(kubelet.workers) - {pod["metadata"]["uid"] for pod in self._pods}:
            kubelet.workers.pop(uid).forget()
        kubelet.poke()


async def run(
    kubeconfig: Path, scenario: Scenario, *, nodes_only: bool = False, egress: Path | None = None
) -> None:
    async with Api(kubeconfig) as api:
        with contextlib.suppress(asyncio.CancelledError):
            await Fleet(api, scenario, nodes_only=nodes_only, egress=egress).run()


@contextlib.contextmanager
def running(
    kubeconfig: Path | str,
    scenario: Scenario,
    *,
    nodes_only: bool = False,
    egress: Path | None = None,
) -> Iterator[Fleet]:
    """A fleet in a thread of this process; yields once every node has joined."""
    begun = threading.Event()
    made: list[Fleet] = []
    task: list[asyncio.Task[None]] = []

    async def work() -> None:
        async with Api(kubeconfig) as api:
            fleet = Fleet(api, scenario, nodes_only=nodes_only, egress=egress)
            made.append(fleet)
            task.append(asyncio.create_task(fleet.run()))
            waiting = asyncio.create_task(fleet.ready.wait())
            await asyncio.wait({task[0], waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            begun.set()
            with contextlib.suppress(asyncio.CancelledError):
                await task[0]

    thread = threading.Thread(target=lambda: asyncio.run(work()), daemon=True)
    thread.start()
    begun.wait()
    try:
        yield made[0]
    finally:
        made[0].loop.call_soon_threadsafe(task[0].cancel)
        thread.join()
