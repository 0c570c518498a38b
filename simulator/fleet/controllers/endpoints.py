"""EndpointSlices of Services: addresses of their pods, ready or not."""

import asyncio
from typing import Any

from simulator.fleet.api import ENDPOINT_SLICES, PODS, SERVICES
from simulator.fleet.cache import Cluster, Key, Queue, key_of
from simulator.fleet.controllers.ownership import (
    is_done,
    is_going,
    is_ready,
    owned_by,
    owner_reference,
)

type Json = dict[str, Any]

_SERVICE = "kubernetes.io/service-name"
_MANAGER = "endpointslice-controller.k8s.io"


class Endpoints:
    def __init__(self, cluster: Cluster) -> None:
        self._api = cluster.api
        self._services = cluster.store(SERVICES)
        self._pods = cluster.store(PODS)
        self._slices = cluster.store(ENDPOINT_SLICES)
        self._queue = Queue("endpoints", self._reconcile)
        self._services.listen(lambda old, new: self._queue.add(key_of(new or old or {})))
        self._pods.listen(self._pod_changed)

    async def run(self) -> None:
        stores = (self._services, self._pods, self._slices)
        await asyncio.gather(*(store.ready.wait() for store in stores))
        await self._queue.run(1)

    def _pod_changed(self, before: Json | None, after: Json | None) -> None:
        pod = after or before or {}
        for service in self._services.within(pod["metadata"]["namespace"]):
            if _selects(service, pod):
                self._queue.add(key_of(service))

    async def _reconcile(self, key: Key) -> None:
        service = self._services.get(*key)
        if service is None or is_going(service) or not service["spec"].get("selector"):
            return
        pods = [
            pod
            for pod in self._pods.within(key[0])
            if _selects(service, pod)
            and (pod.get("status") or {}).get("podIP")
            and not is_done(pod)
        ]
        pods.sort(key=lambda pod: str(pod["metadata"]["name"]))
        endpoints = [_endpoint(pod) for pod in pods]
        ports = _ports(service, pods)
        mine = next(owned_by(service, self._slices), None)
        if mine is None:
            created = await self._api.create(ENDPOINT_SLICES, _slice(service, endpoints, ports))
            self._slices.assume(created)
        elif mine.get("endpoints", []) != endpoints or (mine.get("ports") or []) != ports:
            changed = mine | {"endpoints": endpoints, "ports": ports}
            self._slices.assume(await self._api.replace(ENDPOINT_SLICES, changed))


def _selects(service: Json, pod: Json) -> bool:
    selector = service["spec"].get("selector") or {}
    labels = pod["metadata"].get("labels") or {}
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def _endpoint(pod: Json) -> Json:
    meta = pod["metadata"]
    going, ready = is_going(pod), is_ready(pod)
    return {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": ready and not going, "serving": ready, "terminating": going},
        "nodeName": pod["spec"]["nodeName"],
        "targetRef": {
            "kind": "Pod",
            "name": meta["name"],
            "namespace": meta["namespace"],
            "uid": meta["uid"],
        },
    }


def _ports(service: Json, pods: list[Json]) -> list[Json]:
    """A named target port is what the first pod calls so; without pods there is none."""
    ports = []
    for port in service["spec"].get("ports") or []:
        target = port.get("targetPort") or port["port"]
        number = target if isinstance(target, int) else _named(pods, str(target))
        if number:
            ports.append(
                {
                    "name": port.get("name", ""),
                    "port": number,
                    "protocol": port.get("protocol", "TCP"),
                }
            )
    return ports


def _named(pods: list[Json], name: str) -> int:
    for pod in pods[:1]:
        for container in pod["spec"]["containers"]:
            for port in container.get("ports") or []:
                if port.get("name") == name:
                    return int(port["containerPort"])
    return 0


def _slice(service: Json, endpoints: list[Json], ports: list[Json]) -> Json:
    meta = service["metadata"]
    labels = {"endpointslice.kubernetes.io/managed-by": _MANAGER, _SERVICE: meta["name"]}
    return {
        "metadata": {
            "generateName": f"{meta['name']}-",
            "namespace": meta["namespace"],
            "labels": labels,
            "ownerReferences": [owner_reference(service, SERVICES)],
        },
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": ports,
    }
