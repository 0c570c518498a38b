"""Devices of a pod on its node: claims prepared by the driver, plugin resources by the kubelet."""

from typing import Any

from simulator.fleet.api import CLAIMS, Api
from simulator.fleet.cache import Store
from simulator.fleet.clock import Clock
from simulator.fleet.machine import Machine
from simulator.fleet.plugin import PluginDevice
from simulator.fleet.programs import Held

type Json = dict[str, Any]


class Unprepared(Exception):
    """Not yet, with the event's reason ('' for none); `final`: never, the pod is refused."""

    def __init__(self, message: str, reason: str = "", *, final: bool = False) -> None:
        super().__init__(message)
        self.reason = reason
        self.final = final


class Devices:
    def __init__(self, api: Api, claims: Store, machine: Machine, clock: Clock) -> None:
        self._api = api
        self._claims = claims
        self._machine = machine
        self._clock = clock
        self._plugin: dict[str, list[PluginDevice]] = {}

    @staticmethod
    def has_claims(pod: Json) -> bool:
        return bool(_claim_names(pod))

    async def prepare(self, pod: Json) -> None:
        """Repeatable. Raises Unprepared."""
        self._admit(pod)
        names = _claim_names(pod)
        for entry, name in names.items():
            claim = self._ready_claim(pod, name)
            if self._machine.driver_down:
                raise Unprepared(
                    f"Failed to prepare dynamic resources: prepare dynamic resources: "
                    f"NodePrepareResources: claim {entry}: DRA driver gpu.nvidia.com is not "
                    "registered",
                    "FailedPrepareDynamicResources",
                )
            await self._prepare_claim(claim)
        if len(names) < len(pod["spec"].get("resourceClaims") or []):
            raise Unprepared("a claim has not been created yet")

    def _admit(self, pod: Json) -> None:
        uid = pod["metadata"]["uid"]
        wants = _plugin_wants(pod)
        if not wants or not self._machine.spec.has_plugin:
            return
        self._machine.holdings.adopt(uid, _reported(pod))
        try:
            devices = self._machine.holdings.take(uid, wants, self._machine.sick)
        except LookupError as error:
            raise Unprepared(
                f"Allocate failed due to requested number of devices unavailable for {error}. "
                f"Requested: {wants[str(error)]}, Available: 0, which is unexpected",
                "UnexpectedAdmissionError",
                final=True,
            ) from None
        self._plugin[uid] = devices

    def _ready_claim(self, pod: Json, name: str) -> Json:
        claim = self._claims.get(pod["metadata"]["namespace"], name)
        if claim is None:
            raise Unprepared(f"claim {name} is not known yet")
        status = claim.get("status") or {}
        uids = {user.get("uid") for user in status.get("reservedFor") or []}
        if "allocation" not in status or pod["metadata"]["uid"] not in uids:
            raise Unprepared(f"claim {name} is not allocated or not reserved for the pod")
        return claim

    async def _prepare_claim(self, claim: Json) -> None:
        """The driver's report in status.devices, once per claim."""
        results = _results(claim)
        for result in results:
            if self._machine.held(result["driver"], result["pool"], result["device"]) is None:
                raise Unprepared(
                    f"Failed to prepare dynamic resources: requested device is not allocatable: "
                    f"{result['device']}",
                    "FailedPrepareDynamicResources",
                )
        if (claim.get("status") or {}).get("devices"):
            return
        await self._clock.sleep(1)
        meta = claim["metadata"]
        devices = [self._report(result) for result in results]
        await self._api.merge(
            CLAIMS,
            meta["namespace"],
            meta["name"],
            {"metadata": {"uid": meta["uid"]}, "status": {"devices": devices}},
            sub="status",
        )

    def _report(self, result: Json) -> Json:
        report = {key: result[key] for key in ("driver", "pool", "device")}
        if "shareID" in result:
            report["shareID"] = result["shareID"]
        condition = {
            "type": "Ready",
            "status": "True",
            "reason": "Prepared",
            "message": f"prepared on {self._machine.name}",
            "lastTransitionTime": Clock.stamp(),
        }
        return report | {"conditions": [condition]}

    async def unprepare(self, pod: Json) -> None:
        """The driver takes a moment to tear down; a claim without a user keeps no report."""
        self._plugin.pop(pod["metadata"]["uid"], None)
        if _claim_names(pod):
            await self._clock.sleep(0.5)

    def held(self, pod: Json, container: Json) -> list[Held]:
        """What the container may use, in the order of its requests."""
        plugin = self._plugin.get(pod["metadata"]["uid"], [])
        found = [self._machine.plugin_held(device) for device in plugin if _asks(container, device)]
        for _, result in self._claim_results(pod, container):
            held = self._machine.held(result["driver"], result["pool"], result["device"])
            if held:
                found.append(held)
        return found

    def health(self, pod: Json, container: Json) -> list[Json]:
        """The container's allocatedResourcesStatus."""
        groups: dict[str, list[Json]] = {}
        for device in self._plugin.get(pod["metadata"]["uid"], []):
            if _asks(container, device):
                groups.setdefault(device.resource, []).append(
                    self._health(device.device_id, device.device_id)
                )
        for name, result in self._claim_results(pod, container):
            path = f"{result['driver']}/{result['pool']}/{result['device']}"
            groups.setdefault(name, []).append(self._health(path, result["device"]))
        return [{"name": name, "resources": items} for name, items in groups.items()]

    def _health(self, resource: str, device: str) -> Json:
        if self._machine.driver_down:
            return {"resourceID": resource, "health": "Unknown"}
        healthy = self._machine.is_healthy(device)
        return {"resourceID": resource, "health": "Healthy" if healthy else "Unhealthy"}

    def _claim_results(self, pod: Json, container: Json) -> list[tuple[str, Json]]:
        """(claim:NAME[/REQUEST], result) of what the container names."""
        names = _claim_names(pod)
        found = []
        for wanted in (container.get("resources") or {}).get("claims") or []:
            request = wanted.get("request", "")
            claim = self._claims.get(pod["metadata"]["namespace"], names.get(wanted["name"], ""))
            label = f"claim:{wanted['name']}" + (f"/{request}" if request else "")
            found += [
                (label, result)
                for result in (_results(claim) if claim else [])
                if not request or result["request"].partition("/")[0] == request
            ]
        return found


def _results(claim: Json) -> list[Json]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return (allocation.get("devices") or {}).get("results") or []


def _claim_names(pod: Json) -> dict[str, str]:
    """Entry of spec.resourceClaims → the claim's name, for those that exist already."""
    generated = {
        item["name"]: item.get("resourceClaimName")
        for item in (pod.get("status") or {}).get("resourceClaimStatuses") or []
    }
    names = {}
    for entry in pod["spec"].get("resourceClaims") or []:
        name = entry.get("resourceClaimName") or generated.get(entry["name"])
        if name:
            names[entry["name"]] = name
    return names


def _plugin_wants(pod: Json) -> dict[str, int]:
    wants: dict[str, int] = {}
    for container in pod["spec"]["containers"]:
        for name, amount in ((container.get("resources") or {}).get("limits") or {}).items():
            if name.startswith("nvidia.com/") and str(amount).isdigit() and int(amount):
                wants[name] = wants.get(name, 0) + int(amount)
    return wants


def _reported(pod: Json) -> set[str]:
    """Devices that the pod's status tells of."""
    return {
        str(item["resourceID"])
        for container in (pod.get("status") or {}).get("containerStatuses") or []
        for resource in container.get("allocatedResourcesStatus") or []
        for item in resource.get("resources") or []
    }


def _asks(container: Json, device: PluginDevice) -> bool:
    limits = (container.get("resources") or {}).get("limits") or {}
    return device.resource in limits
