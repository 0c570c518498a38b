"""Objects as a real cluster holds them."""

from typing import Any

Json = dict[str, Any]
DRIVER = "gpu.nvidia.com"


def node(name: str, **labels: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {
            "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "0"},
            "capacity": {"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "0"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def plugin_node(name: str, cards: int) -> Json:
    found = node(name, **{"nvidia.com/gpu.count": str(cards)})
    for part in ("allocatable", "capacity"):
        found["status"][part]["nvidia.com/gpu"] = str(cards)
    return found


def resource_slice(name: str, cards: int = 8, generation: int = 1) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{name}-{DRIVER}"},
        "spec": {
            "driver": DRIVER,
            "nodeName": name,
            "pool": {"name": name, "generation": generation, "resourceSliceCount": 1},
            "devices": [device(name, number) for number in range(cards)],
        },
    }


def device(node_name: str, number: int) -> Json:
    return {
        "name": f"gpu-{number}",
        "attributes": {
            "type": {"string": "gpu"},
            "uuid": {"string": f"GPU-{node_name}-{number}"},
            "productName": {"string": "NVIDIA H100 80GB HBM3"},
            "brand": {"string": "Nvidia"},
            "architecture": {"string": "Hopper"},
            "cudaComputeCapability": {"version": "9.0.0"},
            "driverVersion": {"version": "580.95.5"},
            "cudaDriverVersion": {"version": "13.0.0"},
            "resource.kubernetes.io/pciBusID": {"string": f"0000:{number:02x}:00.0"},
            "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{number:02x}"},
        },
        "capacity": {"memory": {"value": "81559Mi"}},
    }


def device_class() -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": DRIVER},
        "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]},
    }


def claim(name: str, namespace: str = "default", **labels: str) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": DRIVER}}]}
        },
    }


def allocation(node_name: str, *devices: str) -> Json:
    """A claim's status that holds these devices of a node."""
    return {
        "allocation": {
            "allocationTimestamp": "2026-11-30T10:00:00Z",
            "devices": {
                "results": [
                    {"request": "gpu", "driver": DRIVER, "pool": node_name, "device": name}
                    for name in devices
                ]
            },
            "nodeSelector": {
                "nodeSelectorTerms": [
                    {
                        "matchFields": [
                            {"key": "metadata.name", "operator": "In", "values": [node_name]}
                        ]
                    }
                ]
            },
        },
        "reservedFor": [{"resource": "pods", "name": "server", "uid": "pod-uid"}],
    }


def pod(name: str, node_name: str, namespace: str = "default", **limits: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "nodeName": node_name,
            "containers": [{"name": "main", "image": "x", "resources": {"limits": limits}}],
        },
        "status": {
            "phase": "Running",
            "startTime": "2026-11-30T10:00:00Z",
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "True",
                    "lastTransitionTime": "2026-11-30T09:59:00Z",
                },
                {"type": "Ready", "status": "True"},
            ],
        },
    }
