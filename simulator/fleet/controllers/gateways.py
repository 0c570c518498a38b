"""What a gateway's controller tells of Gateways, HTTPRoutes and InferencePools."""

import asyncio
from typing import Any

from simulator.fleet.api import SERVICES
from simulator.fleet.cache import Cluster, Key, Queue, key_of
from simulator.fleet.clock import Clock
from simulator.fleet.gatewayapi import CONTROLLER, GATEWAYS, GROUP, POOLS, ROUTES

type Json = dict[str, Any]

ADDRESS = "10.96.0.80"


class Gateways:
    """A route is taken when it names a Gateway that is there; its pools then are, too."""

    def __init__(self, cluster: Cluster) -> None:
        self._api = cluster.api
        self._gateways = cluster.store(GATEWAYS)
        self._routes = cluster.store(ROUTES)
        self._pools = cluster.store(POOLS)
        self._services = cluster.store(SERVICES)
        self._queues = {
            GATEWAYS: Queue("gateways", self._gateway),
            ROUTES: Queue("routes", self._route),
            POOLS: Queue("inference pools", self._pool),
        }
        self._gateways.listen(self._everything)
        self._routes.listen(self._route_changed)
        self._pools.listen(self._pool_changed)

    async def run(self) -> None:
        stores = (self._gateways, self._routes, self._pools, self._services)
        await asyncio.gather(*(store.ready.wait() for store in stores))
        await asyncio.gather(*(queue.run(1) for queue in self._queues.values()))

    def _everything(self, before: Json | None, after: Json | None) -> None:
        self._queues[GATEWAYS].add(key_of(after or before or {}))
        for route in self._routes:
            self._queues[ROUTES].add(key_of(route))

    def _route_changed(self, before: Json | None, after: Json | None) -> None:
        self._queues[ROUTES].add(key_of(after or before or {}))
        for item in (before, after):
            for key in backends(item) if item else ():
                self._queues[POOLS].add(key)
            for gateway in self._parents(item) if item else ():
                self._queues[GATEWAYS].add(key_of(gateway))

    def _pool_changed(self, before: Json | None, after: Json | None) -> None:
        key = key_of(after or before or {})
        self._queues[POOLS].add(key)
        for route in self._routes.within(key[0]):
            if key in backends(route):
                self._queues[ROUTES].add(key_of(route))

    def _parents(self, route: Json) -> list[Json]:
        found = []
        for ref in (route.get("spec") or {}).get("parentRefs") or []:
            namespace = ref.get("namespace", route["metadata"]["namespace"])
            gateway = self._gateways.get(namespace, ref.get("name", ""))
            if gateway is not None:
                found.append(gateway)
        return found

    async def _gateway(self, key: Key) -> None:
        gateway = self._gateways.get(*key)
        if gateway is None:
            return
        count = sum(gateway in self._parents(route) for route in self._routes)
        said = [("Accepted", "Accepted", ""), ("Programmed", "Programmed", "")]
        old = gateway.get("status") or {}
        listeners = [
            {"name": one["name"], "attachedRoutes": count}
            for one in (gateway.get("spec") or {}).get("listeners") or []
        ]
        body = {
            "addresses": [{"type": "IPAddress", "value": ADDRESS}],
            "listeners": listeners,
            "conditions": _conditions(gateway, old.get("conditions") or [], said),
        }
        await self._write(GATEWAYS, key, old, body)

    async def _route(self, key: Key) -> None:
        route = self._routes.get(*key)
        if route is None:
            return
        missing = [
            f"InferencePool {name} is missing"
            for namespace, name in sorted(backends(route))
            if self._pools.get(namespace, name) is None
        ]
        said = [
            ("Accepted", "Accepted", ""),
            ("ResolvedRefs", "BackendNotFound" if missing else "ResolvedRefs", "; ".join(missing)),
        ]
        await self._told(ROUTES, route, self._parents(route), said)

    async def _pool(self, key: Key) -> None:
        pool = self._pools.get(*key)
        if pool is None:
            return
        using = [route for route in self._routes.within(key[0]) if key in backends(route)]
        gateways = {key_of(one): one for route in using for one in self._parents(route)}
        ref = (pool.get("spec") or {}).get("endpointPickerRef") or {}
        lost = "" if self._services.get(key[0], ref.get("name", "")) else "no such Service"
        said = [
            ("Accepted", "Accepted", ""),
            ("ResolvedRefs", "InvalidExtensionRef" if lost else "ResolvedRefs", lost),
        ]
        await self._told(POOLS, pool, list(gateways.values()), said)
        if lost:
            self._queues[POOLS].add_after(key, 1.0)

    async def _told(
        self, kind: Any, item: Json, gateways: list[Json], said: list[tuple[str, str, str]]
    ) -> None:
        old = item.get("status") or {}
        held = [one for one in old.get("parents") or [] if one["controllerName"] == CONTROLLER]
        conditions = held[0]["conditions"] if held else []
        parents = [
            {
                "parentRef": {
                    "group": GROUP,
                    "kind": "Gateway",
                    "namespace": gateway["metadata"]["namespace"],
                    "name": gateway["metadata"]["name"],
                },
                "controllerName": CONTROLLER,
                "conditions": _conditions(item, conditions, said),
            }
            for gateway in gateways
        ]
        await self._write(kind, key_of(item), old, {"parents": parents})

    async def _write(self, kind: Any, key: Key, old: Json, body: Json) -> None:
        if all(old.get(name) == value for name, value in body.items()):
            return
        await self._api.merge(kind, *key, {"status": body}, sub="status")


def backends(route: Json) -> set[Key]:
    """The InferencePools that a route names."""
    return {
        (route["metadata"]["namespace"], ref["name"])
        for rule in (route.get("spec") or {}).get("rules") or []
        for ref in rule.get("backendRefs") or []
        if ref.get("kind") == POOLS.kind
    }


def _conditions(item: Json, held: list[Json], said: list[tuple[str, str, str]]) -> list[Json]:
    before = {one["type"]: one for one in held}
    found = []
    for kind, reason, message in said:
        status = "False" if message else "True"
        old = before.get(kind, {})
        since = old["lastTransitionTime"] if old.get("status") == status else Clock.stamp()
        found.append(
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "observedGeneration": item["metadata"].get("generation", 1),
                "lastTransitionTime": since,
            }
        )
    return found
