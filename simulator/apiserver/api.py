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
from simulator.apiserver.completion import complete
from simulator.apiserver.custom import CustomKinds
from simulator.apiserver.decoding import tidy
from simulator.apiserver.defaults import fill_defaults
from simulator.apiserver.fitting import Undecodable, fit, fit_config
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
        warnings = fit(kind, self.type_of(kind), item, options.validation)
        self._place(kind, namespace, item)
        return self._insert(kind, item, UPDATE, options, warnings)

    def _place(self, kind: Kind, namespace: str, item: dict[str, Any]) -> None:
        """Settle name and namespace. Raises Refused where they contradict the path."""
        meta = item["metadata"]
        if not kind.namespaced:
            meta.pop("namespace", None)
        elif meta.setdefault("namespace", namespace) != namespace:
            raise problems.foreign_namespace()
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = self._unused_name(kind, namespace, meta["generateName"])
        if kind.namespaced:
            self._check_namespace(kind, namespace, meta.get("name", ""))

    def _unused_name(self, kind: Kind, namespace: str, prefix: str) -> str:
        while True:
            name = prefix[:58] + "".join(secrets.choice(_SUFFIX) for _ in range(5))
            if self.store.get(kind, namespace, name) is None:
                return name

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
        kind_type = self.type_of(kind)
        if meta.get("resourceVersion"):
            raise problems.revision_on_create()
        tidy(item, kind_type)
        fill_defaults(kind, item, kind_type)
        prepare_create(kind, item)
        if operation == UPDATE:
            writer = _writer(kind, options, UPDATE, "")
            updated(None, item, kind_type, writer, now_text())
        complete(kind, item)
        meta["uid"] = str(uuid.uuid4())
        meta["creationTimestamp"] = now_text()
        check_create(kind, item)
        self.custom.check(kind, item)
        if there := self.store.get(kind, meta.get("namespace", ""), meta["name"]):
            going = "deletionTimestamp" in there.parsed()["metadata"]
            raise problems.already_exists(kind, meta["name"], going=going)
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
        warnings = fit(kind, self.type_of(kind), item, options.validation)
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
        meta = item["metadata"] if isinstance(item.get("metadata"), dict) else {}
        if meta.get("name") != name:
            raise problems.bad_request(
                f"the name of the object ({meta.get('name', '')}) does not match the name on the "
                f"URL ({name})"
            )
        try:
            warnings = fit(kind, self.type_of(kind), item, options.validation)
        except Undecodable as failure:
            raise problems.bad_patch(item, failure.trouble) from None
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
        if meta.get("namespace", namespace) != namespace:
            raise problems.foreign_namespace()
        if "managedFields" in meta:
            raise problems.bad_request("metadata.managedFields must be nil")
        fit_config(kind, self.type_of(kind), config)
        reset_for_apply(kind, config, subresource)
        writer = _writer(kind, options, APPLY, subresource)
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
            return self._insert(kind, item, APPLY, options, [])
        record(item, result.owners)
        return self._replace(kind, entry, item, APPLY, options, subresource, [])

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
        tidy(item, kind_type)
        fill_defaults(kind, item, kind_type)
        check_update(kind, item, old, subresource)
        self.custom.check(kind, item)
        if operation == UPDATE:
            writer = _writer(kind, options, UPDATE, subresource)
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
        part = subresource if subresource in ("status", "scale") else ""
        writer = Writer(options.manager, UPDATE, part, kind.group_version)
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
            place = "/".join(filter(None, (kind.plural, entry.namespace, entry.name)))
            raise problems.conflict(
                kind,
                entry.name,
                f"StorageError: invalid object, Code: 4, Key: /registry/{place}, ResourceVersion: "
                f"0, AdditionalErrorMsg: Precondition failed: UID in precondition: {meta['uid']}, "
                f"UID in object meta: {old['metadata']['uid']}",
            )
        if asked and not asked.isdigit():
            raise problems.plain_failure(f'strconv.ParseUint: parsing "{asked}": invalid syntax')
        if asked and asked != str(entry.revision):
            raise problems.conflict(kind, entry.name)


def may_vanish(kind: Kind, item: dict[str, Any]) -> bool:
    """Whether an object that is being deleted has nothing left to wait for."""
    meta = item["metadata"]
    if "deletionTimestamp" not in meta or meta.get("finalizers"):
        return False
    if kind.resource == "namespaces":
        return not item.get("spec", {}).get("finalizers")
    return not meta.get("deletionGracePeriodSeconds")


def _writer(kind: Kind, options: WriteOptions, operation: str, subresource: str) -> Writer:
    owns_status = subresource == "status" or not kind.status
    return Writer(options.manager, operation, subresource, kind.group_version, owns_status)


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
