"""Publishes a driver's pool on one node: a new generation for every change, old slices removed."""

from typing import Any

from simulator.fleet.api import SLICES, Api, ApiError, plain
from simulator.fleet.cache import Index, Store

type Json = dict[str, Any]


def slices_by_pool(slices: Store) -> Index:
    """By node and driver, which is one pool for these drivers."""
    return Index(slices, lambda item: (item["spec"].get("nodeName"), item["spec"]["driver"]))


class Publisher:
    def __init__(self, api: Api, slices: Index, node: str, driver: str) -> None:
        self._api = api
        self._slices = slices
        self._node = node
        self._driver = driver

    def published(self) -> list[Json]:
        found = self._slices.of((self._node, self._driver))
        return sorted(found, key=lambda item: str(item["metadata"]["name"]))

    async def publish(self, wanted: list[Json], owner: Json, *, half: bool = False) -> bool:
        """Bring the pool to `wanted`; True when something changed. Repeatable.

        `half` announces one slice more than there will be, as a driver that died on the way.
        """
        there = self.published()
        count = len(wanted) + (1 if half else 0)
        if _same(there, wanted, count):
            return False
        generation = 1 + max((item["spec"]["pool"]["generation"] for item in there), default=0)
        pool = {"name": self._node, "generation": generation, "resourceSliceCount": count}
        for number, spec in enumerate(wanted):
            full = {"driver": self._driver, "nodeName": self._node, "pool": pool} | spec
            if number < len(there):
                await self._api.replace(SLICES, there[number] | {"spec": full})
            else:
                await self._api.create(SLICES, self._fresh(full, owner))
        for item in there[len(wanted) :]:
            await self.remove(item)
        return True

    async def withdraw(self) -> None:
        for item in self.published():
            await self.remove(item)

    async def remove(self, item: Json) -> None:
        try:
            await self._api.delete(SLICES, "", item["metadata"]["name"])
        except ApiError as error:
            if not error.is_conflict:
                raise

    def _fresh(self, spec: Json, owner: Json) -> Json:
        meta = owner["metadata"]
        reference = {
            "apiVersion": "v1",
            "kind": "Node",
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": True,
        }
        return {
            "metadata": {
                "generateName": f"{self._node}-{self._driver}-",
                "ownerReferences": [reference],
            },
            "spec": spec,
        }


def _same(there: list[Json], wanted: list[Json], count: int) -> bool:
    """Whether the pool holds just this content, whatever its generation and the taints' times."""
    if len(there) != len(wanted):
        return False
    if len({item["spec"]["pool"]["generation"] for item in there}) > 1:
        return False
    if any(item["spec"]["pool"]["resourceSliceCount"] != count for item in there):
        return False
    return sorted(_content(item["spec"]) for item in there) == sorted(map(_content, wanted))


def _content(spec: Json) -> str:
    devices = [_without_times(device) for device in spec.get("devices") or []]
    return plain([devices, spec.get("sharedCounters") or []])


def _without_times(device: Json) -> Json:
    if "taints" not in device:
        return device
    taints = [{k: v for k, v in taint.items() if k != "timeAdded"} for taint in device["taints"]]
    return device | {"taints": taints}
