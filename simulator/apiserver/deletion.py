"""Deletion: preconditions, grace, finalizers, and what a propagation policy leaves to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from simulator.apiserver import problems
from simulator.apiserver.api import Api, Outcome
from simulator.apiserver.decoding import loaded
from simulator.apiserver.kinds import Kind

DELETED = 299  # an Outcome that is a Status, not an object
GRACEFUL = {"pods", "namespaces"}
RETURNED = {
    "pods",
    "services",
    "serviceaccounts",
    "namespaces",
    "resourcequotas",
    "persistentvolumeclaims",
    "resourceclaims.resource.k8s.io",
    "resourceclaimtemplates.resource.k8s.io",
    "deviceclasses.resource.k8s.io",
    "resourceslices.resource.k8s.io",
}
_POLICIES = ("Background", "Foreground", "Orphan")
_FINALIZERS = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    policy: str = ""
    grace: int | None = None
    uid: str = ""
    revision: str = ""
    dry_run: bool = False

    @classmethod
    def read(cls, query: Mapping[str, str], body: bytes, media: str = "") -> "DeleteOptions":
        """From the query and the body, which wins. Raises Refused (400, 422)."""
        given: dict[str, Any] = {}
        if body.strip():
            given = loaded(body, media)
            if not isinstance(given, dict):
                raise problems.bad_request("expected DeleteOptions")
        policy = given.get("propagationPolicy") or query.get("propagationPolicy", "")
        orphan = given.get("orphanDependents")
        if orphan is not None:
            policy = "Orphan" if orphan else "Background"
        if policy and policy not in _POLICIES:
            raise problems.invalid_options("propagationPolicy", policy)
        grace = given.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
        wanted = given.get("preconditions") or {}
        dry = given.get("dryRun") or query.getall("dryRun", []) if hasattr(query, "getall") else []
        return cls(
            policy=policy,
            grace=None if grace is None else int(grace),
            uid=wanted.get("uid", ""),
            revision=wanted.get("resourceVersion", ""),
            dry_run="All" in dry,
        )


class Deleter:
    def __init__(self, api: Api) -> None:
        self._api = api

    def delete(self, kind: Kind, namespace: str, name: str, options: DeleteOptions) -> Outcome:
        """Delete now, or leave a marked object to its finalizers. Raises Refused: 404, 409."""
        entry = self._api.existing(kind, namespace, name)
        item = entry.parsed()
        meta = item["metadata"]
        self._check(kind, name, meta, options)
        before = entry.data
        _mark(kind, item, options)
        if _can_go(kind, item):
            item = item if kind.resource in GRACEFUL else entry.parsed()
            if not options.dry_run:
                self._api.store.remove(kind, item)
                self._api.custom.gone(kind, item)
            if kind.resource in RETURNED:
                return Outcome(200, orjson.dumps(item))
            return Outcome(DELETED, orjson.dumps(_success(kind, meta)))
        if options.dry_run or orjson.dumps(item) == before:
            return Outcome(200, orjson.dumps(item))
        return Outcome(200, self._api.store.put(kind, item).data)

    def _check(
        self, kind: Kind, name: str, meta: Mapping[str, Any], options: DeleteOptions
    ) -> None:
        if options.uid and options.uid != meta["uid"]:
            raise problems.outdated(
                kind,
                name,
                f"the UID in the precondition ({options.uid}) does not match the UID in record "
                f"({meta['uid']}). The object might have been deleted and then recreated",
            )
        if options.revision and options.revision != meta["resourceVersion"]:
            raise problems.outdated(
                kind,
                name,
                f"the ResourceVersion in the precondition ({options.revision}) does not match the "
                f"ResourceVersion in record ({meta['resourceVersion']}). The object might have "
                "been modified",
            )


def _success(kind: Kind, meta: Mapping[str, Any]) -> dict[str, Any]:
    details = {"name": meta["name"]}
    if kind.group:
        details["group"] = kind.group
    details |= {"kind": kind.plural, "uid": meta["uid"]}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }


def _mark(kind: Kind, item: dict[str, Any], options: DeleteOptions) -> None:
    """Stamp the object as being deleted; a second deletion can only shorten the grace."""
    meta = item["metadata"]
    grace = _grace(kind, item, options)
    if finalizer := _FINALIZERS.get(options.policy):
        others = [name for name in meta.get("finalizers", ()) if name not in _FINALIZERS.values()]
        meta["finalizers"] = [*others, finalizer]
    if "deletionTimestamp" not in meta:
        due = datetime.now(UTC) + timedelta(seconds=grace)
        meta["deletionTimestamp"] = due.strftime("%Y-%m-%dT%H:%M:%SZ")
        meta["deletionGracePeriodSeconds"] = grace
        if "generation" in meta:
            meta["generation"] += 1
    elif grace < meta.get("deletionGracePeriodSeconds", 0):
        due = datetime.now(UTC) + timedelta(seconds=grace)
        meta["deletionTimestamp"] = due.strftime("%Y-%m-%dT%H:%M:%SZ")
        meta["deletionGracePeriodSeconds"] = grace
    if kind.resource == "namespaces":
        item.setdefault("status", {})["phase"] = "Terminating"
        meta.pop("deletionGracePeriodSeconds", None)


def _grace(kind: Kind, item: dict[str, Any], options: DeleteOptions) -> int:
    if kind.resource != "pods":
        return 0
    spec, status = item.get("spec", {}), item.get("status", {})
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    if options.grace is not None:
        return max(options.grace, 0)
    default: int = spec.get("terminationGracePeriodSeconds", 30)
    return default


def _can_go(kind: Kind, item: dict[str, Any]) -> bool:
    meta = item["metadata"]
    if meta.get("finalizers"):
        return False
    if kind.resource == "namespaces":
        return not item.get("spec", {}).get("finalizers")
    return not meta.get("deletionGracePeriodSeconds")
