"""The kubelet and the DRA driver of one node: Node, Lease, ResourceSlices and the node's pods."""

import asyncio
import logging
from typing import Any

from simulator.fleet.api import LEASES, NODES, Api, ApiError
from simulator.fleet.cache import Cluster, Index, Store
from simulator.fleet.clock import Clock
from simulator.fleet.devices import Devices
from simulator.fleet.events import Recorder
from simulator.fleet.labels import DEPLOYS, node_labels
from simulator.fleet.machine import Machine
from simulator.fleet.pod import PodWorker
from simulator.fleet.programs import image_mib
from simulator.fleet.publisher import Publisher
from simulator.fleet.slices import DOMAIN_DRIVER, DRIVER, domain_slices, gpu_slices
from simulator.fleet.troubles import ANNOTATION, annotated

type Json = dict[str, Any]

log = logging.getLogger("fleet")

HEARTBEAT_SECONDS = 10.0
GATEWAY = "simulator.claimyard.dev/gateway"
_LEASE_SECONDS = 40


class Kubelet:
    def __init__(
        self,
        cluster: Cluster,
        recorder: Recorder,
        clock: Clock,
        machine: Machine,
        *,
        nodes: Store,
        claims: Store,
        slices: Index,
        seed: int,
        version: str,
        gateway: str,
        kubelet_port: int,
        heartbeat: float,
    ) -> None:
        self.machine = machine
        self.workers: dict[str, PodWorker] = {}
        self._api: Api = cluster.api
        self._recorder = recorder
        self._clock = clock
        self._nodes = nodes
        self._seed = seed
        self._version = version
        self._gateway = gateway
        self._port = kubelet_port
        self._heartbeat = heartbeat
        self._devices = Devices(self._api, claims, machine, clock)
        self._gpus = Publisher(self._api, slices, machine.name, DRIVER)
        self._domains = Publisher(self._api, slices, machine.name, DOMAIN_DRIVER)
        self._poked = asyncio.Event()
        self.joined = asyncio.Event()

    @property
    def _is_off(self) -> bool:
        return self.machine.silent or self.machine.removed

    async def run(self) -> None:
        """For ever: keep the Node, its Lease and its slices as they should be."""
        while True:
            try:
                if not self._is_off:
                    node = await self._register()
                    await self._renew()
                    await self._publish(node)
                    self.joined.set()
            except ApiError as error:
                log.debug("node %s: %s", self.machine.name, error)
            self._poked.clear()
            try:
                await asyncio.wait_for(self._poked.wait(), self._heartbeat)
            except TimeoutError:
                continue

    def poke(self) -> None:
        """Something about the machine changed: do not wait for the next heartbeat."""
        self._poked.set()
        for worker in self.workers.values():
            if not self._is_off:
                worker.refresh()

    async def leave(self) -> None:
        """The machine is taken out of the cluster: its Node goes, its pods lose their home."""
        self.machine.removed = True
        for worker in self.workers.values():
            worker.forget()
        self.workers.clear()
        await self._api.delete(NODES, "", self.machine.name)

    def read_node(self, node: Json) -> bool:
        """Which drivers somebody wants to run here, and faults that they wrote on the Node; whether
        the machine is back from silence."""
        if self.machine.deploy(node["metadata"].get("labels") or {}):
            log.info("node %s: drivers are now %s", self.machine.name, self.machine.spec.allocation)
            self.poke()
        text = (node["metadata"].get("annotations") or {}).get(ANNOTATION, "")
        was_silent = self.machine.silent
        if self.machine.suffer("annotation", annotated(text, len(self.machine.cards))):
            log.info("node %s: faults by annotation: %s", self.machine.name, text or "none")
            self.poke()
        return was_silent and not self.machine.silent

    # Pods.

    def saw(self, pod: Json) -> None:
        """The newest object of a pod that is bound to this node."""
        uid = pod["metadata"]["uid"]
        worker = self.workers.get(uid)
        if self._is_off:
            return
        if worker is None:
            worker = self.workers[uid] = PodWorker(
                self._api, self._recorder, self._clock, self.machine, self._devices, pod
            )
            worker.start()
        worker.pod = pod
        if "deletionTimestamp" in pod["metadata"]:
            worker.end()

    def gone(self, pod: Json) -> None:
        worker = self.workers.pop(pod["metadata"]["uid"], None)
        if worker:
            worker.forget()

    # Node.

    async def _register(self) -> Json:
        labels = node_labels(self._seed, self.machine.spec, self.machine.cards)
        node = self._nodes.get("", self.machine.name)
        if node is not None:
            labels = {key: value for key, value in labels.items() if key not in DEPLOYS}
        wanted = {"labels": labels, "annotations": {GATEWAY: self._gateway}}
        if node is None:
            body = {"metadata": {"name": self.machine.name} | wanted, "spec": self._spec()}
            try:
                node = await self._api.create(NODES, body)
            except ApiError as error:
                if not error.is_conflict:
                    raise
                node = await self._api.get(NODES, "", self.machine.name)
        meta = node["metadata"]
        have = {key: meta.get(key) or {} for key in wanted}
        if any(have[key].get(k) != v for key in wanted for k, v in wanted[key].items()):
            node = await self._api.merge(NODES, "", self.machine.name, {"metadata": wanted})
        await self._write_status(node)
        return node

    def _spec(self) -> Json:
        cidr = f"{self.machine.pod_network}.0/24"
        return {
            "podCIDR": cidr,
            "podCIDRs": [cidr],
            "providerID": f"simulator://{self.machine.name}",
        }

    async def _write_status(self, node: Json) -> None:
        before = node.get("status") or {}
        for item in before.get("images") or []:
            self.machine.images.update(item.get("names") or [])
        status = self._status(before)
        stale = {key: value for key, value in status.items() if before.get(key) != value}
        if stale:
            await self._api.merge(NODES, "", self.machine.name, {"status": status}, sub="status")

    def _status(self, before: Json) -> Json:
        capacity, allocatable = self.machine.resources()
        for key, mine in (("capacity", capacity), ("allocatable", allocatable)):
            # A resource that a plugin no longer offers stays with 0 until the node restarts.
            mine |= {name: "0" for name in (before.get(key) or {}) if name not in mine}
        return {
            "capacity": capacity,
            "allocatable": allocatable,
            "addresses": [
                {"type": "InternalIP", "address": self.machine.address},
                {"type": "Hostname", "address": self.machine.name},
            ],
            "conditions": self._conditions(before),
            "images": [
                {"names": [image], "sizeBytes": image_mib(image) * 2**20}
                for image in sorted(self.machine.images)[:50]
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self._port}},
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": self.machine.cards[0].uuid[4:],
                "containerRuntimeVersion": "containerd://2.1.4",
                "kernelVersion": "6.8.0-85-generic",
                "kubeProxyVersion": "",
                "kubeletVersion": self._version,
                "machineID": self.machine.cards[0].uuid[4:].replace("-", ""),
                "operatingSystem": "linux",
                "osImage": "Ubuntu 24.04.3 LTS",
                "systemUUID": self.machine.cards[0].uuid[4:],
            },
        }

    @staticmethod
    def _conditions(before: Json) -> list[Json]:
        """Renewed when they change; the Lease says in between that the node is alive."""
        kept = {item["type"]: item for item in before.get("conditions") or []}
        wanted = (
            ("MemoryPressure", "False", "KubeletHasSufficientMemory", "has sufficient memory"),
            ("DiskPressure", "False", "KubeletHasNoDiskPressure", "has no disk pressure"),
            ("PIDPressure", "False", "KubeletHasSufficientPID", "has sufficient PID available"),
            ("Ready", "True", "KubeletReady", "is posting ready status"),
        )
        for name, status, reason, message in wanted:
            have = kept.get(name)
            if have is None or have.get("status") != status or have.get("reason") != reason:
                kept[name] = {
                    "type": name,
                    "status": status,
                    "reason": reason,
                    "message": f"kubelet {message}",
                    "lastHeartbeatTime": Clock.stamp(),
                    "lastTransitionTime": Clock.stamp(),
                }
        return list(kept.values())

    async def _renew(self) -> None:
        spec = {
            "holderIdentity": self.machine.name,
            "leaseDurationSeconds": _LEASE_SECONDS,
            "renewTime": Clock.micro_stamp(),
        }
        try:
            await self._api.merge(LEASES, "kube-node-lease", self.machine.name, {"spec": spec})
        except ApiError as error:
            if not error.is_missing:
                raise
            body = {"metadata": {"name": self.machine.name}, "spec": spec}
            await self._api.create(LEASES, body, "kube-node-lease")

    # Slices.

    async def _publish(self, node: Json) -> None:
        machine = self.machine
        if not machine.spec.publishes_slices:
            # A driver that is uninstalled unregisters, and the kubelet takes its slices away.
            await self._gpus.withdraw()
            await self._domains.withdraw()
            return
        if machine.driver_down:
            return
        wanted = gpu_slices(machine.spec, machine.cards, machine.sick, Clock.stamp())
        if await self._gpus.publish(wanted, node, half=machine.half_published):
            log.info("node %s: published %d slices", machine.name, len(wanted))
        if machine.spec.model.nvlink:
            await self._domains.publish(domain_slices(), node)
