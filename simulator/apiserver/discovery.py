"""Discovery: which groups, versions and resources there are, old form and aggregated."""

from collections.abc import Iterable
from typing import Any

from simulator.apiserver.kinds import Kind, Kinds

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
PART_VERBS = ("get", "patch", "update")
AGGREGATED = {
    "g=apidiscovery.k8s.io;v=v2;as=apigroupdiscoverylist": "apidiscovery.k8s.io/v2",
    "g=apidiscovery.k8s.io;v=v2beta1;as=apigroupdiscoverylist": "apidiscovery.k8s.io/v2beta1",
}
# Actions on an object or on nothing: (of plural, name, kind with its group and version).
ACTIONS: dict[tuple[str, str], tuple[tuple[str, str, str, str, str], ...]] = {
    ("", "v1"): (
        ("pods", "binding", "", "v1", "Binding"),
        ("pods", "eviction", "policy", "v1", "Eviction"),
        ("pods", "log", "", "v1", "Pod"),
        ("pods", "proxy", "", "v1", "PodProxyOptions"),
        ("serviceaccounts", "token", "authentication.k8s.io", "v1", "TokenRequest"),
        ("namespaces", "finalize", "", "v1", "Namespace"),
    ),
}
REVIEWS = {
    "authorization.k8s.io": {
        "localsubjectaccessreviews": "LocalSubjectAccessReview",
        "selfsubjectaccessreviews": "SelfSubjectAccessReview",
        "selfsubjectrulesreviews": "SelfSubjectRulesReview",
        "subjectaccessreviews": "SubjectAccessReview",
    },
    "authentication.k8s.io": {
        "selfsubjectreviews": "SelfSubjectReview",
        "tokenreviews": "TokenReview",
    },
}
ACTION_VERBS = {"log": ("get",), "proxy": ("create", "delete", "get", "patch", "update")}


def groups(kinds: Kinds) -> dict[str, list[str]]:
    found = kinds.group_versions()
    for group in REVIEWS:
        found.setdefault(group, ["v1"])
    return found


def group_list(kinds: Kinds) -> dict[str, Any]:
    listed = [_group(name, versions) for name, versions in groups(kinds).items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}


def one_group(kinds: Kinds, name: str) -> dict[str, Any] | None:
    versions = groups(kinds).get(name)
    if not name or versions is None:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1"} | _group(name, versions)


def _group(name: str, versions: list[str]) -> dict[str, Any]:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def core_versions(url: str) -> dict[str, Any]:
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": url}],
    }


def resource_list(kinds: Kinds, group: str, version: str) -> dict[str, Any] | None:
    """The old form, of one group and version; None where it is not served."""
    if version not in groups(kinds).get(group, ()):
        return None
    resources: list[dict[str, Any]] = []
    for kind in _of(kinds, group, version):
        resources.append(_resource(kind))
        resources += [_part(kind, name, *about) for name, about in _parts(kind)]
    for plural, name in REVIEWS.get(group, {}).items():
        resources.append(
            {
                "name": plural,
                "singularName": name.lower(),
                "namespaced": plural.startswith("local"),
                "kind": name,
                "verbs": ["create"],
            }
        )
    listed = f"{group}/{version}" if group else version
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": listed,
        "resources": resources,
    }


def _of(kinds: Kinds, group: str, version: str) -> Iterable[Kind]:
    return (kind for kind in kinds if (kind.group, kind.version) == (group, version))


def _resource(kind: Kind) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": kind.plural,
        "singularName": kind.singular or kind.kind.lower(),
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(VERBS),
    }
    if kind.short:
        entry["shortNames"] = list(kind.short)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    return entry


def _parts(kind: Kind) -> list[tuple[str, tuple[str, str, str]]]:
    parts: list[tuple[str, tuple[str, str, str]]] = []
    for plural, name, group, version, kind_name in ACTIONS.get((kind.group, kind.version), ()):
        if plural == kind.plural:
            parts.append((name, (group, version, kind_name)))
    if kind.scale:
        parts.append(("scale", ("autoscaling", "v1", "Scale")))
    if kind.status:
        parts.append(("status", (kind.group, kind.version, kind.kind)))
    return parts


def _part_verbs(name: str) -> list[str]:
    if name in ("status", "scale"):
        return list(PART_VERBS)
    return list(ACTION_VERBS.get(name, ("create",)))


def _part(kind: Kind, name: str, group: str, version: str, kind_name: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": f"{kind.plural}/{name}",
        "singularName": "",
        "namespaced": kind.namespaced,
    }
    if (group, version) != (kind.group, kind.version):
        entry |= {"group": group, "version": version}
    return entry | {"kind": kind_name, "verbs": _part_verbs(name)}


def aggregated(kinds: Kinds, api_version: str, *, core: bool) -> dict[str, Any]:
    """The whole of /api or /apis in one answer (apidiscovery.k8s.io)."""
    items = []
    for group, versions in groups(kinds).items():
        if (not group) != core:
            continue
        listed = [
            {
                "version": version,
                "resources": _aggregated_resources(kinds, group, version),
                "freshness": "Current",
            }
            for version in versions
        ]
        items.append({"metadata": {"name": group} if group else {}, "versions": listed})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": api_version,
        "metadata": {},
        "items": items,
    }


def _aggregated_resources(kinds: Kinds, group: str, version: str) -> list[dict[str, Any]]:
    resources = [_aggregated_resource(kind) for kind in _of(kinds, group, version)]
    for plural, name in REVIEWS.get(group, {}).items():
        resources.append(
            {
                "resource": plural,
                "responseKind": {"group": group, "version": version, "kind": name},
                "scope": "Namespaced" if plural.startswith("local") else "Cluster",
                "singularResource": name.lower(),
                "verbs": ["create"],
            }
        )
    return resources


def _aggregated_resource(kind: Kind) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "resource": kind.plural,
        "responseKind": {"group": "", "version": "", "kind": kind.kind},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular or kind.kind.lower(),
        "verbs": list(VERBS),
    }
    if kind.short:
        entry["shortNames"] = list(kind.short)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    parts = [
        {
            "subresource": name,
            "responseKind": _response_kind(kind, group, version, kind_name),
            "verbs": _part_verbs(name),
        }
        for name, (group, version, kind_name) in _parts(kind)
    ]
    return entry | ({"subresources": parts} if parts else {})


def _response_kind(kind: Kind, group: str, version: str, name: str) -> dict[str, str]:
    """Group and version are left out where they are those of the resource itself."""
    if (group, version) == (kind.group, kind.version):
        group = version = ""
    return {"group": group, "version": version, "kind": name}
