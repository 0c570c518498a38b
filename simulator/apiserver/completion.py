"""What the registry and admission add to an object on creation; nobody owns these fields."""

from collections.abc import Callable
from typing import Any
from zlib import crc32

from simulator.apiserver.kinds import Kind

Item = dict[str, Any]
_EVICTION_SECONDS = 300
_EMPTY_STATUS: dict[str, Item] = {
    "deployments.apps": {},
    "replicasets.apps": {"replicas": 0},
    "replicationcontrollers": {"replicas": 0},
    "statefulsets.apps": {"replicas": 0, "availableReplicas": 0},
    "daemonsets.apps": {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    },
    "jobs.batch": {},
    "cronjobs.batch": {},
    "services": {"loadBalancer": {}},
    "namespaces": {"phase": "Active"},
    "resourcequotas": {},
    "persistentvolumeclaims": {"phase": "Pending"},
    "persistentvolumes": {"phase": "Pending"},
    "resourceclaims.resource.k8s.io": {},
    "devicetaintrules.resource.k8s.io": {},
    "poddisruptionbudgets.policy": {
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
    },
    "validatingadmissionpolicies.admissionregistration.k8s.io": {},
}


def complete(kind: Kind, item: Item) -> None:
    """Fill in, in place, what only the server may set. Called once, on creation."""
    if (status := _EMPTY_STATUS.get(kind.resource)) is not None:
        item["status"] = dict(status)
    if completer := _COMPLETERS.get(kind.resource):
        completer(item)


def _pod(item: Item) -> None:
    spec = item["spec"]
    account = spec.setdefault("serviceAccountName", spec.get("serviceAccount") or "default")
    spec.setdefault("serviceAccount", account)
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    _tolerate_outages(spec)
    item["status"] = {"phase": "Pending", "qosClass": _quality(spec)}


def _tolerate_outages(spec: Item) -> None:
    tolerations = spec.setdefault("tolerations", [])
    for trouble in ("not-ready", "unreachable"):
        key = f"node.kubernetes.io/{trouble}"
        if not any(t.get("key") == key or not t.get("key") for t in tolerations):
            tolerations.append(
                {
                    "key": key,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": _EVICTION_SECONDS,
                }
            )


def _quality(spec: Item) -> str:
    kinds = []
    for container in spec.get("containers", ()):
        resources = container.get("resources") or {}
        limits = {
            k: v for k, v in (resources.get("limits") or {}).items() if k in ("cpu", "memory")
        }
        requests = resources.get("requests") or {}
        asked = {k: v for k, v in requests.items() if k in ("cpu", "memory")}
        if not limits and not asked:
            kinds.append("BestEffort")
        else:
            kinds.append("Guaranteed" if len(limits) == 2 and asked == limits else "Burstable")
    return kinds[0] if kinds and len(set(kinds)) == 1 else "Burstable" if kinds else "BestEffort"


def _service(item: Item) -> None:
    spec = item["spec"]
    if spec["type"] != "ExternalName":
        address = spec.setdefault("clusterIP", _cluster_address(item["metadata"]))
        spec.setdefault("clusterIPs", [address])
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")


def _cluster_address(meta: Item) -> str:
    """An address of 10.96.0.0/16 that stays the same for the same name."""
    number = crc32(f"{meta.get('namespace')}/{meta.get('name')}".encode()) % 65000 + 10
    return f"10.96.{number // 256}.{number % 256}"


def _namespace(item: Item) -> None:
    finalizers = item.setdefault("spec", {}).setdefault("finalizers", [])
    if "kubernetes" not in finalizers:
        finalizers.append("kubernetes")


def _event(item: Item) -> None:
    """Fields that an event shows even when they are empty."""
    for name in ("eventTime", "firstTimestamp", "lastTimestamp"):
        item.setdefault(name, None)
    item.setdefault("source", {})
    for name in ("reportingComponent", "reportingInstance"):
        item.setdefault(name, "")


_COMPLETERS: dict[str, Callable[[Item], None]] = {
    "pods": _pod,
    "services": _service,
    "namespaces": _namespace,
    "events": _event,
}
