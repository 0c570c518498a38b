"""What the API server refuses: names, missing fields, changes of what cannot change."""

import re
from collections.abc import Callable
from typing import Any

from simulator.apiserver.claim_rules import (
    LABEL,
    LABEL_TEXT,
    check_claim,
    check_claim_status,
    check_claim_template,
    check_class,
    check_slice,
)
from simulator.apiserver.kinds import Kind
from simulator.apiserver.problems import (
    Cause,
    duplicate,
    forbidden_field,
    invalid,
    invalid_value,
    required,
)
from simulator.apiserver.selectors import selects

Item = dict[str, Any]
_SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{_SUBDOMAIN}')"
)
_LABELLED = {"namespaces", "services"}
IMMUTABLE = "field is immutable"


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
        (LABEL, LABEL_TEXT, 63)
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


_CREATE: dict[str, Callable[[Item], list[Cause]]] = {
    "pods": _check_pod,
    "deployments.apps": _check_workload,
    "replicasets.apps": _check_workload,
    "statefulsets.apps": _check_workload,
    "daemonsets.apps": _check_workload,
    "deviceclasses.resource.k8s.io": check_class,
    "resourceslices.resource.k8s.io": check_slice,
    "resourceclaims.resource.k8s.io": check_claim,
    "resourceclaimtemplates.resource.k8s.io": check_claim_template,
}
