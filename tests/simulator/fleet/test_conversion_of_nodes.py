"""A node whose labels say which driver runs there."""

from typing import Any

from tests.simulator.fleet.cluster import Live, until

PLUGIN = "nvidia.com/gpu.deploy.device-plugin"
DRA = "nvidia.com/gpu.deploy.dra-driver"


def deploy(live: Live, *, plugin: bool, dra: bool) -> None:
    labels = {PLUGIN: str(plugin).lower(), DRA: str(dra).lower()}
    live.client.patch("/api/v1/nodes/plugin-1", {"metadata": {"labels": labels}})


def units(live: Live) -> int:
    status = live.client.get("/api/v1/nodes/plugin-1").body["status"]
    return int(status["allocatable"].get("nvidia.com/gpu", 0))


def slices(live: Live) -> list[dict[str, Any]]:
    found = live.items("/apis/resource.k8s.io/v1/resourceslices")
    return [one for one in found if one["spec"].get("nodeName") == "plugin-1"]


def drivers(live: Live) -> set[str]:
    pods = live.items("/api/v1/namespaces/nvidia-dra-driver-gpu/pods")
    pods += live.items("/api/v1/namespaces/gpu-operator/pods")
    return {
        pod["metadata"]["namespace"]
        for pod in pods
        if pod["spec"].get("nodeName") == "plugin-1" and "deletionTimestamp" not in pod["metadata"]
    }


def test_labels_turn_the_plugin_off_and_the_dra_driver_on_and_back(live: Live) -> None:
    before = until(lambda: units(live))
    assert not slices(live)
    deploy(live, plugin=False, dra=True)
    until(lambda: units(live) == 0)
    until(lambda: slices(live))
    until(lambda: drivers(live) == {"nvidia-dra-driver-gpu"})
    deploy(live, plugin=True, dra=False)
    until(lambda: not slices(live))
    until(lambda: units(live) == before)
    until(lambda: drivers(live) == {"gpu-operator"})
