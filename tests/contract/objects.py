"""Small objects to write, as plain JSON."""

from typing import Any

Object = dict[str, Any]


def config_map(name: str, labels: dict[str, str] | None = None, **data: str) -> Object:
    meta = {"name": name} | ({"labels": labels} if labels else {})
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    return made | ({"data": data} if data else {})


def config_maps(namespace: str, name: str = "") -> str:
    return _path("/api/v1", namespace, "configmaps", name)


def deployment(name: str, replicas: int = 1, **container: Any) -> Object:
    """Its pods fit no node, so that nothing runs."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "nodeSelector": {"none": "such"},
                    "containers": [{"name": "main", "image": "example/main:1"} | container],
                },
            },
        },
    }


def deployments(namespace: str, name: str = "") -> str:
    return _path("/apis/apps/v1", namespace, "deployments", name)


def pod(name: str, **spec: Any) -> Object:
    container = {"name": "main", "image": "example/main:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"nodeSelector": {"none": "such"}, "containers": [container]} | spec,
    }


def pods(namespace: str, name: str = "") -> str:
    return _path("/api/v1", namespace, "pods", name)


def request(name: str = "gpu", **exactly: Any) -> Object:
    return {"name": name, "exactly": {"deviceClassName": "gpu.example.com"} | exactly}


def claim(name: str, *requests: Object) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": list(requests) or [request()]}},
    }


def claims(namespace: str, name: str = "") -> str:
    return _path("/apis/resource.k8s.io/v1", namespace, "resourceclaims", name)


def claim_template(name: str, *requests: Object) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {"spec": {"devices": {"requests": list(requests) or [request()]}}},
    }


def claim_templates(namespace: str, name: str = "") -> str:
    return _path("/apis/resource.k8s.io/v1", namespace, "resourceclaimtemplates", name)


def device_class(name: str, expression: str = "true") -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def device_classes(name: str = "") -> str:
    return _path("/apis/resource.k8s.io/v1", "", "deviceclasses", name)


def resource_slice(name: str, node: str, devices: int = 1) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{number}"} for number in range(devices)],
        },
    }


def resource_slices(name: str = "") -> str:
    return _path("/apis/resource.k8s.io/v1", "", "resourceslices", name)


def node(name: str, **labels: str) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def nodes(name: str = "") -> str:
    return _path("/api/v1", "", "nodes", name)


def definition(plural: str, group: str) -> Object:
    """A namespaced kind with status and scale, one required field and one default."""
    fields = {
        "size": {"type": "integer", "default": 1},
        "color": {"type": "string"},
        "parts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "value": {"type": "string"}},
                "required": ["name"],
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
    }
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": fields, "required": ["color"]},
            "status": {"type": "object", "properties": {"size": {"type": "integer"}}},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
        },
        "additionalPrinterColumns": [
            {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        ],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": "Widget"},
            "versions": [version],
        },
    }


def _path(root: str, namespace: str, plural: str, name: str) -> str:
    place = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{place}/{plural}" + (f"/{name}" if name else "")
