"""What of an object is kept: enough for placement to decide, without the bulk.

The results have the API's own shape, so that whoever reads API objects can read these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from domain.manifests.labels import TENANT
from kube.client import Json

_CONTAINER = ("name", "resources", "ports", "restartPolicy", "image")
_POD_SPEC = (
    "nodeName",
    "schedulerName",
    "nodeSelector",
    "affinity",
    "tolerations",
    "priority",
    "priorityClassName",
    "resourceClaims",
    "overhead",
    "hostNetwork",
    "resources",
)
_POD_STATUS = (
    "phase",
    "conditions",
    "startTime",
    "resourceClaimStatuses",
    "extendedResourceClaimStatus",
    "reason",
    "message",
)
# Of a tenant's pods besides: what their deployment's conditions are told from.
_OWN_STATUS = (*_POD_STATUS, "podIP", "containerStatuses")
_NODE_STATUS = ("allocatable", "capacity", "conditions", "nodeInfo")
_META = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "labels",
    "ownerReferences",
)


def body(raw: Json, api_version: str, kind: str) -> Json:
    """The whole object, without the record of who set which field."""
    metadata = dict(raw["metadata"])
    metadata.pop("managedFields", None)
    return {**raw, "apiVersion": api_version, "kind": kind, "metadata": metadata}


def compact_node(raw: Json) -> Json:
    """Without annotations, images and volumes: a node's body is mostly those."""
    spec = raw.get("spec") or {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _some(raw["metadata"], _META),
        "spec": _some(spec, ("unschedulable", "taints", "providerID")),
        "status": _some(raw.get("status") or {}, _NODE_STATUS),
    }


def compact_pod(raw: Json) -> Json:
    """What a scheduler looks at. A pod that waits for a node is kept whole, since someone will ask
    why; only its environment is left out, where people put secrets."""
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    if not spec.get("nodeName"):
        whole = body(raw, "v1", "Pod")
        return {**whole, "spec": {**spec, **_containers(spec, _without_env)}}
    is_own = TENANT in (raw["metadata"].get("labels") or {})
    small = _some(spec, _POD_SPEC) | _containers(spec, lambda one: _some(one, _CONTAINER))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _some(raw["metadata"], _META),
        "spec": small,
        "status": _some(status, _OWN_STATUS if is_own else _POD_STATUS),
    }


def _containers(spec: Json, reduce: Callable[[Json], Json]) -> Json:
    return {
        part: [reduce(one) for one in spec[part]]
        for part in ("containers", "initContainers")
        if spec.get(part)
    }


def _without_env(container: Json) -> Json:
    return {key: value for key, value in container.items() if key not in ("env", "envFrom")}


def _some(raw: Any, names: tuple[str, ...]) -> Json:
    return {name: raw[name] for name in names if name in raw}
