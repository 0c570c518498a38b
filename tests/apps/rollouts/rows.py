"""Nodes, pods and objects of a mirrored cluster, as rows."""

from typing import Any

from apps.inventory.models import Cluster, Mirrored, Node, Pod

PLUGIN = "nvidia.com/gpu"
PRODUCT = "NVIDIA-H100-80GB-HBM3"


def add_node(cluster: Cluster, name: str, *, path: str = "device-plugin", **labels: str) -> None:
    known = {"nvidia.com/gpu.product": PRODUCT, "nvidia.com/gpu.memory": "81559"} | labels
    units = {PLUGIN: "8"} if path == "device-plugin" else {}
    Node.objects.create(
        cluster=cluster,
        name=name,
        path=path,
        is_ready=True,
        has_cards=True,
        driver_version="580.95.05",
        node_pool="gpus",
    )
    add_object(
        cluster,
        "nodes",
        {
            "metadata": {"name": name, "labels": known},
            "status": {
                "allocatable": units,
                "nodeInfo": {"containerRuntimeVersion": "containerd://2.1.4"},
            },
        },
    )


def add_object(cluster: Cluster, kind: str, body: dict[str, Any]) -> None:
    metadata = body["metadata"]
    Mirrored.objects.create(
        cluster=cluster,
        kind=kind,
        uid=f"{kind}-{metadata.get('namespace', '')}-{metadata['name']}",
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        resource_version="1",
        revision=1,
        body=body,
    )


def add_pod(cluster: Cluster, name: str, node: str, namespace: str = "labs", **labels: str) -> None:
    body = {
        "metadata": {
            "namespace": namespace,
            "name": name,
            "labels": {"pod-template-hash": "abc"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": "box-abc", "controller": True}],
        },
        "spec": {
            "nodeName": node,
            "containers": [{"name": "c", "resources": {"limits": {PLUGIN: "1"}}}],
        },
    }
    add_object(cluster, "pods", body)
    Pod.objects.create(
        cluster=cluster,
        uid=f"pods-{namespace}-{name}",
        namespace=namespace,
        name=name,
        node_name=node,
        phase="Running",
        requests={PLUGIN: 1},
        **labels,
    )
