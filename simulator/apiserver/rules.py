"""What the API server refuses: names, missing fields, changes of what cannot change."""

import re
from collections.abc import Callable
from typing import Any

from simulator.apiserver.kinds import Kind
from simulator.apiserver.problems import (
    Cause,
    duplicate,
    forbidden_field,
    invalid,
    invalid_value,
    required,
    unsupported_value,
)
from simulator.apiserver.selectors import selects

Item = dict[str, Any]
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{_SUBDOMAIN}')"
)
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
    f"used for validation is '{_LABEL}')"
)
_LABELLED = {"namespaces", "services"}
IMMUTABLE = "field is immutable"
MAX_DEVICES = 128


def check_create(kind: Kind, item: Item) -> None:
    """Raises Refused (422) with every cause."""
    causes = _check_name(kind, item["metadata"])
    if not any(cause.field == "metadata.name" for cause in causes):
        causes += _check_labels(item["metadata"])
    if check := _CREATE.get(kind.resource):
        causes += check(item)
    if causes:
        raise invalid(kind, item["metadata"].get("name", ""), causes)


def check_update(kind: Kind, new: Item, old: Item, subresource: str) -> None:
    """Raises Refused (422) where an update changes what it must not."""
    causes = _check_labels(new["metadata"])
    if subresource != "status":
        if check := _CREATE.get(kind.resource):
            causes += check(new)
        for path in _FIXED.get(kind.resource, ()):
            causes += _check_fixed(path, new, old)
        if kind.resource == "pods":
            causes += _check_pod_update(new, old)
        if "roleRef" in old and new["roleRef"] != old["roleRef"]:
            causes.append(invalid_value("roleRef", _role_shown(new["roleRef"]), IMMUTABLE))
        if "deletionTimestamp" in old["metadata"]:
            causes += _check_finalizers(new["metadata"], old["metadata"])
    elif kind.resource == "resourceclaims.resource.k8s.io":
        causes += check_claim_status(new, old)
    if causes:
        raise invalid(kind, new["metadata"]["name"], causes)


def _check_name(kind: Kind, meta: Item) -> list[Cause]:
    name = meta.get("name", "")
    if not name:
        return [required("metadata.name", "name or generateName is required")]
    if kind.group == "rbac.authorization.k8s.io":
        return _check_path_segment(name)
    pattern, text, limit = (
        (_LABEL, _LABEL_TEXT, 63)
        if kind.resource in _LABELLED
        else (_SUBDOMAIN, _SUBDOMAIN_TEXT, 253)
    )
    causes = []
    if len(name) > limit:
        causes.append(
            invalid_value("metadata.name", name, f"must be no more than {limit} characters")
        )
    if kind.resource in _LABELLED and "." in name:
        causes.append(invalid_value("metadata.name", name, "must not contain dots"))
    elif not re.fullmatch(pattern, name):
        causes.append(invalid_value("metadata.name", name, text))
    return causes


def _check_path_segment(name: str) -> list[Cause]:
    if name in (".", ".."):
        return [invalid_value("metadata.name", name, f"may not be '{name}'")]
    return [
        invalid_value("metadata.name", name, f"may not contain '{char}'")
        for char in "/%"
        if char in name
    ]


_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]")
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def _check_labels(meta: Item) -> list[Cause]:
    causes = []
    for key, value in (meta.get("labels") or {}).items():
        prefix, slash, name = key.rpartition("/")
        if not _QUALIFIED.fullmatch(name) or (slash and not re.fullmatch(_SUBDOMAIN, prefix)):
            causes.append(invalid_value("metadata.labels", key, _NAME_PART))
        if len(value) > 63:
            causes.append(invalid_value("metadata.labels", value, "must be no more than 63 bytes"))
        if not _VALUE.fullmatch(value):
            causes.append(invalid_value("metadata.labels", value, _VALUE_TEXT))
    return causes


def _role_shown(role: Item) -> Item:
    return {
        "APIGroup": role.get("apiGroup", ""),
        "Kind": role.get("kind", ""),
        "Name": role.get("name", ""),
    }


def _at(item: Item, path: str) -> Any:
    found: Any = item
    for step in path.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _check_fixed(path: str, new: Item, old: Item) -> list[Cause]:
    value = _at(new, path)
    if value == _at(old, path):
        return []
    shown = None if new.get("kind") == "ResourceClaim" else value  # declarative rules show nothing
    return [invalid_value(path, shown, IMMUTABLE)]


# Fields that an update must leave as they are.
_FIXED: dict[str, tuple[str, ...]] = {
    "deployments.apps": ("spec.selector",),
    "replicasets.apps": ("spec.selector",),
    "daemonsets.apps": ("spec.selector",),
    "jobs.batch": ("spec.selector", "spec.template", "spec.completionMode"),
    "resourceclaims.resource.k8s.io": ("spec",),
    "resourceclaimtemplates.resource.k8s.io": ("spec",),
    "resourceslices.resource.k8s.io": (
        "spec.driver",
        "spec.pool.name",
        "spec.nodeName",
    ),
    "secrets": ("type",),
    "priorityclasses.scheduling.k8s.io": ("value",),
}


def _check_finalizers(new: Item, old: Item) -> list[Cause]:
    added = sorted(set(new.get("finalizers", ())) - set(old.get("finalizers", ())))
    if not added:
        return []
    return [
        forbidden_field(
            "metadata.finalizers",
            "no new finalizers can be added if the object is being deleted, found new finalizers "
            f"[]string{{{', '.join(chr(34) + name + chr(34) for name in added)}}}",
        )
    ]


_POD_MAY_CHANGE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def _check_pod_update(new: Item, old: Item) -> list[Cause]:
    if _fixed_part(new) == _fixed_part(old):
        return []
    return [
        forbidden_field(
            "spec",
            f"pod updates may not change fields other than {_POD_MAY_CHANGE}",
        )
    ]


def _fixed_part(item: Item) -> Item:
    spec = dict(item.get("spec", {}))
    for name in ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"):
        spec.pop(name, None)
    for name in ("containers", "initContainers"):
        if name in spec:
            spec[name] = [{k: v for k, v in c.items() if k != "image"} for c in spec[name]]
    return spec


def _check_pod(item: Item) -> list[Cause]:
    return _check_pod_spec(item.get("spec", {}), "spec")


def _check_pod_spec(spec: Item, path: str) -> list[Cause]:
    containers = spec.get("containers")
    if not containers:
        return [required(f"{path}.containers")]
    causes = []
    seen: set[str] = set()
    for place, container in enumerate(containers):
        where = f"{path}.containers[{place}]"
        name = container.get("name")
        if not name:
            causes.append(required(f"{where}.name"))
        elif name in seen:
            causes.append(duplicate(f"{where}.name", name))
        seen.add(name)
        if not container.get("image"):
            causes.append(required(f"{where}.image"))
    return causes


def _check_workload(item: Item) -> list[Cause]:
    spec = item.get("spec", {})
    selector = spec.get("selector")
    template = spec.get("template", {})
    labels = template.get("metadata", {}).get("labels")
    causes = []
    replicas = spec.get("replicas", 0)
    if replicas < 0:
        causes.append(
            invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")
        )
    if not selector:
        causes.append(required("spec.selector"))
    if not selector or not selects(selector, labels or {}):
        causes.append(
            invalid_value(
                "spec.template.metadata.labels",
                labels,
                "`selector` does not match template `labels`",
            )
        )
    return causes + _check_pod_spec(template.get("spec", {}), "spec.template.spec")


def _check_claim(item: Item) -> list[Cause]:
    return _check_claim_spec(item.get("spec", {}), "spec")


def _check_claim_template(item: Item) -> list[Cause]:
    return _check_claim_spec(item.get("spec", {}).get("spec", {}), "spec.spec")


def _check_claim_spec(spec: Item, path: str) -> list[Cause]:
    causes: list[Cause] = []
    seen: set[str] = set()
    for place, request in enumerate(spec.get("devices", {}).get("requests", ())):
        where = f"{path}.devices.requests[{place}]"
        name = request.get("name", "")
        if not name:
            causes.append(required(f"{where}.name"))
        elif name in seen:
            causes.append(duplicate(where, request))
        elif not re.fullmatch(_LABEL, name):
            causes.append(invalid_value(f"{where}.name", name, _LABEL_TEXT))
        seen.add(name)
        causes += _check_request(request, where)
    return causes


_ON_NODES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")


def _check_slice(item: Item) -> list[Cause]:
    spec = item.get("spec", {})
    causes = []
    if sum(1 for name in _ON_NODES if spec.get(name)) != 1:
        listed = ", ".join(f"`{name}`" for name in _ON_NODES)
        causes.append(required("spec", f"exactly one of {listed} is required"))
    seen: set[str] = set()
    for place, device in enumerate(spec.get("devices", ())):
        if device.get("name", "") in seen:
            causes.append(duplicate(f"spec.devices[{place}]", device["name"]))
        seen.add(device.get("name", ""))
    if len(seen) > MAX_DEVICES:
        causes.append(
            Cause(
                "spec.devices",
                "FieldValueTooMany",
                f"Too many: {len(seen)}: must have at most {MAX_DEVICES} items",
            )
        )
    return causes


def check_claim_status(new: Item, old: Item) -> list[Cause]:
    """An allocation is set or cleared as a whole, and nothing is reserved without one."""
    status, before = new.get("status") or {}, old.get("status") or {}
    allocation, had = status.get("allocation"), before.get("allocation")
    causes = []
    if allocation and had and allocation != had:
        causes.append(invalid_value("status.allocation", None, IMMUTABLE))
    if status.get("reservedFor") and not allocation:
        causes.append(
            forbidden_field(
                "status.reservedFor", "may not be specified when `allocated` is not set"
            )
        )
    return causes


def _check_request(request: Item, where: str) -> list[Cause]:
    has_exactly, has_list = "exactly" in request, bool(request.get("firstAvailable"))
    if has_exactly == has_list:
        words = "exactly one of `exactly` or `firstAvailable` is required"
        if has_exactly:
            return [invalid_value(where, None, f"{words}, but multiple fields are set")]
        return [required(where, words)]
    causes = []
    if has_exactly:
        causes += _check_device_request(request["exactly"], f"{where}.exactly")
    for place, part in enumerate(request.get("firstAvailable", ())):
        causes += _check_device_request(part, f"{where}.firstAvailable[{place}]")
    return causes


def _check_device_request(part: Item, where: str) -> list[Cause]:
    causes = []
    if not part.get("deviceClassName"):
        causes.append(required(f"{where}.deviceClassName"))
    mode = part.get("allocationMode")
    count = part.get("count", 0)
    if mode == "All" and count:
        causes.append(
            invalid_value(
                f"{where}.count", count, "must not be specified when allocationMode is 'All'"
            )
        )
    elif mode == "ExactCount" and count <= 0:
        causes.append(invalid_value(f"{where}.count", count, "must be greater than zero"))
    elif mode not in ("All", "ExactCount"):
        causes.append(unsupported_value(f"{where}.allocationMode", mode, ("All", "ExactCount")))
    return causes


_CREATE: dict[str, Callable[[Item], list[Cause]]] = {
    "pods": _check_pod,
    "deployments.apps": _check_workload,
    "replicasets.apps": _check_workload,
    "statefulsets.apps": _check_workload,
    "daemonsets.apps": _check_workload,
    "resourceslices.resource.k8s.io": _check_slice,
    "resourceclaims.resource.k8s.io": _check_claim,
    "resourceclaimtemplates.resource.k8s.io": _check_claim_template,
}
