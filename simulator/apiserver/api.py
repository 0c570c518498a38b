"""What the server does to objects: the verbs, apart from HTTP."""

import copy
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import orjson

from simulator.apiserver import problems
from simulator.apiserver.custom import CustomKinds
from simulator.apiserver.decoding import fitted, wrong_type
from simulator.apiserver.defaults import fill_defaults
from simulator.apiserver.kinds import Kind, Kinds
from simulator.apiserver.ownership import (
    APPLY,
    UPDATE,
    Writer,
    applied,
    record,
    updated,
)
from simulator.apiserver.rules import check_create, check_update
from simulator.apiserver.schema import Type
from simulator.apiserver.store import Entry, Store
from simulator.apiserver.strategy import counts, keep_system_fields, prepare_create, reset_for_apply

_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
RESTAMPED = ("resourceVersion", "managedFields")


def now_text() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Of one write. `validation` is Strict, Warn or Ignore."""

    manager: str = "unknown"
    dry_run: bool = False
    validation: str = "Warn"
    force: bool = False


@dataclass(slots=True)
class Outcome:
    """An answer's object as bytes, and what to warn of."""

    code: int
    data: bytes
    warnings: list[str] = field(default_factory=list)


class Api:
    def __init__(self, store: Store, kinds: Kinds) -> None:
        self.store = store
        self.kinds = kinds
        self.custom = CustomKinds(store, kinds)

    def type_of(self, kind: Kind) -> Type:
        return self.custom.type_of(kind)

    def existing(self, kind: Kind, namespace: str, name: str) -> Entry:
        entry = self.store.get(kind, namespace, name)
        if entry is None:
            raise problems.not_found(kind, name)
        return entry

    # -- create

    def create(
        self, kind: Kind, namespace: str, item: dict[str, Any], options: WriteOptions
    ) -> Outcome:
        warnings = self.fit(kind, item, options)
        self._place(kind, namespace, item)
        return self._insert(kind, item, UPDATE, options, warnings)

    def _place(self, kind: Kind, namespace: str, item: dict[str, Any]) -> None:
        """Settle name and namespace. Raises Refused where they contradict the path."""
        meta = item["metadata"]
        if not kind.namespaced:
            meta.pop("namespace", None)
        elif meta.setdefault("namespace", namespace) != namespace:
            raise problems.bad_request(
                "the namespace of the provided object does not match the namespace sent on the "
                "request"
            )
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = meta["generateName"][:58] + "".join(
                secrets.choice(_SUFFIX) for _ in range(5)
            )
        if kind.namespaced:
            self._check_namespace(kind, namespace, meta.get("name", ""))

    def _check_namespace(self, kind: Kind, namespace: str, name: str) -> None:
        namespaces = self.kinds.find("", "v1", "namespaces")
        assert namespaces is not None
        entry = self.store.get(namespaces, "", namespace)
        if entry is None:
            raise problems.not_found(namespaces, namespace)
        if b'"deletionTimestamp"' in entry.data and entry.fields[0] == "Terminating":
            failure = problems.forbidden(
                kind,
                name,
                f"unable to create new content in namespace {namespace} because it is being "
                "terminated",
            )
            failure.details = {
                **(failure.details or {}),
                "causes": [
                    {
                        "reason": "NamespaceTerminating",
                        "message": f"namespace {namespace} is being terminated",
                        "field": "metadata.namespace",
                    }
                ],
            }
            raise failure

    def _insert(
        self,
        kind: Kind,
        item: dict[str, Any],
        operation: str,
        options: WriteOptions,
        warnings: list[str],
    ) -> Outcome:
        meta = item["metadata"]
        prepare_create(kind, item)
        fill_defaults(kind, item, self.type_of(kind))
        meta["uid"] = str(uuid.uuid4())
        meta["creationTimestamp"] = now_text()
        check_create(kind, item, self.type_of(kind))
        self.custom.check(kind, item)
        if self.store.get(kind, meta.get("namespace", ""), meta["name"]) is not None:
            raise problems.already_exists(kind, meta["name"])
        if operation == UPDATE:
            writer = Writer(options.manager, UPDATE, "", kind.group_version)
            updated(None, item, self.type_of(kind), writer, now_text())
        if options.dry_run:
            return Outcome(201, _dumped(kind, item), warnings)
        entry = self.store.put(kind, item)
        self.custom.changed(kind, item)
        self._after_create(kind, item)
        return Outcome(201, entry.data, warnings)

    def _after_create(self, kind: Kind, item: dict[str, Any]) -> None:
        if kind.resource != "namespaces":
            return
        accounts = self.kinds.find("", "v1", "serviceaccounts")
        assert accounts is not None
        account = {"metadata": {"name": "default", "namespace": item["metadata"]["name"]}}
        self._insert(accounts, account, UPDATE, WriteOptions(manager="kube-controller-manager"), [])

    # -- update

    def update(
        self,
        kind: Kind,
        namespace: str,
        item: dict[str, Any],
        options: WriteOptions,
        subresource: str = "",
    ) -> Outcome:
        """Replace an object. Raises Refused: 404, 409 on a stale resourceVersion, 422."""
        name = item["metadata"].get("name", "")
        entry = self.existing(kind, namespace, name)
        warnings = self.fit(kind, item, options)
        return self._replace(kind, entry, item, UPDATE, options, subresource, warnings)

    def patch(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        change: Callable[[dict[str, Any]], dict[str, Any]],
        options: WriteOptions,
        subresource: str = "",
    ) -> Outcome:
        entry = self.existing(kind, namespace, name)
        item = change(entry.parsed())
        meta = item.get("metadata")
        if not isinstance(meta, dict) or meta.get("name") != name:
            raise problems.bad_request(
                f"the name of the object ({(meta or {}).get('name', '')}) does not match the name "
                f"on the URL ({name})"
            )
        warnings = self.fit(kind, item, options)
        return self._replace(kind, entry, item, UPDATE, options, subresource, warnings)

    def apply(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        config: dict[str, Any],
        options: WriteOptions,
        subresource: str = "",
    ) -> Outcome:
        """Server-side apply; makes the object where it is missing (not for a subresource)."""
        meta = config["metadata"]
        if meta.setdefault("name", name) != name:
            raise problems.bad_request(
                f"the name of the object ({meta['name']}) does not match the name on the URL "
                f"({name})"
            )
        if "managedFields" in meta:
            raise problems.bad_request("metadata.managedFields must be nil")
        warnings = self.fit(kind, config, options, applying=True)
        reset_for_apply(kind, config, subresource)
        writer = Writer(options.manager, APPLY, subresource, kind.group_version)
        entry = self.store.get(kind, namespace, name)
        if entry is None and subresource:
            raise problems.not_found(kind, name)
        if entry is None and meta.get("uid"):
            raise problems.conflict(
                kind,
                name,
                f"uid mismatch: the provided object specified uid {meta['uid']}, and no existing "
                "object was found",
            )
        live = entry.parsed() if entry else None
        result = applied(live, config, self.type_of(kind), writer, now_text(), force=options.force)
        item = copy.deepcopy(result.item)
        item["metadata"].setdefault("name", name)
        if entry is None:
            self._place(kind, namespace, item)
            record(item, result.owners)
            return self._insert(kind, item, APPLY, options, warnings)
        record(item, result.owners)
        return self._replace(kind, entry, item, APPLY, options, subresource, warnings)

    def _replace(
        self,
        kind: Kind,
        entry: Entry,
        item: dict[str, Any],
        operation: str,
        options: WriteOptions,
        subresource: str,
        warnings: list[str],
    ) -> Outcome:
        old = entry.parsed()
        self._check_preconditions(kind, entry, item, old)
        kind_type = self.type_of(kind)
        item = keep_system_fields(kind, item, old, subresource)
        fill_defaults(kind, item, kind_type)
        check_update(kind, item, old, subresource, kind_type)
        self.custom.check(kind, item)
        if operation == UPDATE:
            writer = Writer(options.manager, UPDATE, subresource, kind.group_version)
            updated(old, item, kind_type, writer, now_text())
        if _same(item, old):
            return Outcome(200, entry.data, warnings)
        if options.dry_run:
            return Outcome(200, _dumped(kind, item), warnings)
        return self._saved(kind, item, warnings)

    def write_subresource(
        self,
        kind: Kind,
        entry: Entry,
        item: dict[str, Any],
        subresource: str,
        options: WriteOptions,
    ) -> Outcome:
        """Store what a subresource made of an object; counts a change of its specification."""
        old = entry.parsed()
        if counts(kind) and subresource == "scale" and item.get("spec") != old.get("spec"):
            item["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        writer = Writer(
            options.manager,
            UPDATE,
            subresource if subresource in ("status", "scale") else "",
            kind.group_version,
        )
        updated(old, item, self.type_of(kind), writer, now_text())
        if _same(item, old):
            return Outcome(200, entry.data)
        if options.dry_run:
            return Outcome(200, _dumped(kind, item))
        return self._saved(kind, item, [])

    def _saved(self, kind: Kind, item: dict[str, Any], warnings: list[str]) -> Outcome:
        if may_vanish(kind, item):
            last = self.store.remove(kind, item)
            self.custom.gone(kind, item)
            return Outcome(200, last.data, warnings)
        entry = self.store.put(kind, item)
        self.custom.changed(kind, item)
        return Outcome(200, entry.data, warnings)

    def _check_preconditions(
        self, kind: Kind, entry: Entry, item: dict[str, Any], old: dict[str, Any]
    ) -> None:
        meta = item["metadata"]
        asked = meta.get("resourceVersion")
        if meta.get("uid") and meta["uid"] != old["metadata"]["uid"]:
            raise problems.conflict(
                kind,
                entry.name,
                f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: "
                f"{old['metadata']['uid']}",
            )
        if asked and asked != str(entry.revision):
            raise problems.conflict(kind, entry.name)

    def fit(
        self, kind: Kind, item: dict[str, Any], options: WriteOptions, *, applying: bool = False
    ) -> list[str]:
        """Drop unknown fields and tell of them. Raises Refused (400) if strict, or ill-typed."""
        misfits = fitted(item, self.type_of(kind))
        for misfit in misfits:
            if misfit.expected is not None:
                raise wrong_type(kind, misfit)
        if misfits and applying:
            raise _not_declared(kind, item, misfits[0].path)
        unknown = [f'unknown field "{misfit.path}"' for misfit in misfits]
        if unknown and options.validation == "Strict":
            raise problems.bad_request(
                f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
                f"strict decoding error: {', '.join(unknown)}"
            )
        return unknown if options.validation == "Warn" else []


def may_vanish(kind: Kind, item: dict[str, Any]) -> bool:
    """Whether an object that is being deleted has nothing left to wait for."""
    meta = item["metadata"]
    if "deletionTimestamp" not in meta or meta.get("finalizers"):
        return False
    if kind.resource == "namespaces":
        return not item.get("spec", {}).get("finalizers")
    return not meta.get("deletionGracePeriodSeconds")


def _not_declared(kind: Kind, item: dict[str, Any], path: str) -> problems.Refused:
    meta = item["metadata"]
    name = f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else f"/{meta['name']}"
    return problems.Refused(
        500,
        f"failed to create typed patch object ({name}; {kind.group_version}, Kind={kind.kind}): "
        f".{path}: field not declared in schema",
        reason="",
    )


def _same(new: dict[str, Any], old: dict[str, Any]) -> bool:
    """Whether a write changes nothing but stamps."""
    return _unstamped(new) == _unstamped(old) and _claims(new) == _claims(old)


def _unstamped(item: dict[str, Any]) -> dict[str, Any]:
    return item | {"metadata": {k: v for k, v in item["metadata"].items() if k not in RESTAMPED}}


def _claims(item: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {k: v for k, v in entry.items() if k != "time"}
        for entry in item["metadata"].get("managedFields", ())
    ]


def _dumped(kind: Kind, item: dict[str, Any]) -> bytes:
    first = {"kind": kind.kind, "apiVersion": kind.group_version, "metadata": item["metadata"]}
    first.update((name, value) for name, value in item.items() if name not in first)
    return orjson.dumps(first)
