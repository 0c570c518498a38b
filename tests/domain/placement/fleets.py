"""Small clusters for the tests of placement, written as the API serves them."""

from typing import Any

DRIVER = "gpu.example.com"
Raw = dict[str, Any]


def node(name: str = "node-0", **labels: str) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}},
    }


def device(name: str, model: str = "a100", memory: str = "40Gi", **more: Any) -> Raw:
    return {
        "name": name,
        "attributes": {"model": {"string": model}, "root": {"string": "r0"}},
        "capacity": {"memory": {"value": memory}},
        **more,
    }


def published(
    *devices: Raw, node_name: str = "node-0", name: str = "", pool: str = "", **spec: Any
) -> Raw:
    where = {"nodeName": node_name} if not {"allNodes", "nodeSelector"} & spec.keys() else {}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name or f"slice-{pool or node_name}"},
        "spec": {
            "driver": DRIVER,
            "pool": {"name": pool or node_name, "generation": 1, "resourceSliceCount": 1},
            **where,
            **({"devices": list(devices)} if devices else {}),
            **spec,
        },
    }


def device_class(name: str = "gpu", *expressions: str, **spec: Any) -> Raw:
    texts = expressions or (f'device.driver == "{DRIVER}"',)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": text}} for text in texts], **spec},
    }


def request(name: str = "r0", class_name: str = "gpu", **exactly: Any) -> Raw:
    return {"name": name, "exactly": {"deviceClassName": class_name, **exactly}}


def claim(name: str = "claim-0", *requests: Raw, **devices: Any) -> Raw:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"namespace": "default", "name": name, "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": list(requests) or [request()], **devices}},
    }


def allocated(name: str, *results: Raw, **status: Any) -> Raw:
    allocation = {"devices": {"results": list(results)}}
    return claim(name) | {"status": {"allocation": allocation, **status}}


def result(name: str, pool: str = "node-0", **more: Any) -> Raw:
    return {"request": "r0", "driver": DRIVER, "pool": pool, "device": name, **more}


def selecting(expression: str) -> list[Raw]:
    return [{"cel": {"expression": expression}}]


def model_is(model: str) -> list[Raw]:
    return selecting(f'device.attributes["{DRIVER}"].model == "{model}"')


def pod(name: str = "pod-0", **spec: Any) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": "default", "name": name, "uid": f"uid-{name}"},
        "spec": {"containers": [{"name": "main"}], **spec},
    }
