"""Which parts of an object a write may touch: system fields, spec and status, generation."""

from typing import Any

from simulator.apiserver.kinds import Kind

# Kinds whose registry counts changes of the specification.
COUNTED = {
    "daemonsets.apps",
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "jobs.batch",
    "cronjobs.batch",
    "pods",
    "replicationcontrollers",
    "poddisruptionbudgets.policy",
    "networkpolicies.networking.k8s.io",
    "customresourcedefinitions.apiextensions.k8s.io",
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "deviceclasses.resource.k8s.io",
    "devicetaintrules.resource.k8s.io",
    "resourceslices.resource.k8s.io",
    "priorityclasses.scheduling.k8s.io",
}
# Their status may be written together with labels and annotations.
OPEN_STATUS = {"pods", "nodes", "namespaces", "services", "persistentvolumes"}
# Their status is set by whoever creates them.
KEEPS_STATUS = {"nodes"}
_SYSTEM = (
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "resourceVersion",
)
_SPEC_OF_META = ("labels", "annotations", "finalizers", "ownerReferences")


def counts(kind: Kind) -> bool:
    return kind.custom or kind.resource in COUNTED


def prepare_create(kind: Kind, item: dict[str, Any]) -> None:
    meta = item["metadata"]
    for name in _SYSTEM:
        meta.pop(name, None)
    if counts(kind):
        meta["generation"] = 1
    if kind.status and kind.resource not in KEEPS_STATUS:
        item.pop("status", None)


def reset_for_apply(kind: Kind, config: dict[str, Any], subresource: str) -> None:
    """Take out of an applied configuration what this endpoint does not own."""
    if not kind.status:
        return
    if subresource == "status":
        for name in [n for n in config if n not in ("apiVersion", "kind", "metadata", "status")]:
            del config[name]
        if kind.resource not in OPEN_STATUS:
            for name in _SPEC_OF_META:
                config["metadata"].pop(name, None)
    elif kind.resource not in KEEPS_STATUS:
        config.pop("status", None)


def keep_system_fields(
    kind: Kind, new: dict[str, Any], old: dict[str, Any], subresource: str
) -> dict[str, Any]:
    """`new` with everything that this endpoint must not change taken from `old`."""
    if subresource == "status":
        new = _with_status_of(kind, new, old)
    elif kind.status and not subresource:
        new = {name: value for name, value in new.items() if name != "status"}
        if "status" in old:
            new["status"] = old["status"]
    meta, before = dict(new["metadata"]), old["metadata"]
    for name in (*_SYSTEM, "generateName", "namespace"):
        meta.pop(name, None)
        if name in before:
            meta[name] = before[name]
    new["metadata"] = meta
    if counts(kind) and subresource != "status" and _spec(kind, new) != _spec(kind, old):
        meta["generation"] = before.get("generation", 0) + 1
    return new


def _with_status_of(kind: Kind, new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    meta = dict(new["metadata"])
    if kind.resource not in OPEN_STATUS:
        for name in _SPEC_OF_META:
            meta.pop(name, None)
            if name in old["metadata"]:
                meta[name] = old["metadata"][name]
    result = {name: value for name, value in old.items() if name != "status"}
    result["metadata"] = meta
    if "status" in new:
        result["status"] = new["status"]
    if kind.resource == "resourceclaims.resource.k8s.io":
        _follow_allocation(result, old)
    return result


def _follow_allocation(claim: dict[str, Any], old: dict[str, Any]) -> None:
    """With its allocation gone, a claim's reports about devices go too."""
    if (old.get("status") or {}).get("allocation") and not claim["status"].get("allocation"):
        claim["status"] = {k: v for k, v in claim["status"].items() if k != "devices"}


def _spec(kind: Kind, item: dict[str, Any]) -> dict[str, Any]:
    apart = ("metadata", "status", "apiVersion", "kind") if kind.status else ("metadata",)
    return {name: value for name, value in item.items() if name not in apart}
