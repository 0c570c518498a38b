"""Who owns which field: `metadata.managedFields`, server-side apply and its conflicts.

The rules are those of structured-merge-diff: a manager owns what it applied last, or what it
changed by any other write; an applied field that another manager owns with another value is a
conflict.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from simulator.apiserver.fieldsets import (
    FieldSet,
    Path,
    decoded,
    difference,
    dotted,
    encoded,
    fields_of,
)
from simulator.apiserver.merging import merged, without
from simulator.apiserver.problems import Refused
from simulator.apiserver.schema import Type

APPLY, UPDATE = "Apply", "Update"
MAX_UPDATERS = 10
_UNTRACKED = {("f:apiVersion",), ("f:kind",), ("f:metadata",)} | {
    ("f:metadata", f"f:{name}")
    for name in (
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "generation",
        "managedFields",
        "resourceVersion",
    )
}


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes: `manager` of at most 128 characters, "" or the subresource that was written."""

    manager: str
    operation: str
    subresource: str
    api_version: str
    owns_status: bool = True

    def key(self) -> tuple[str, str, str, str]:
        return self.manager, self.operation, self.subresource, self.api_version


@dataclass(frozen=True, slots=True)
class Owner:
    writer: Writer
    time: str
    fields: FieldSet

    def place(self) -> tuple[str, ...]:
        writer = self.writer
        return (
            writer.operation,
            self.time,
            writer.manager,
            writer.api_version,
            writer.subresource,
        )

    def as_dict(self) -> dict[str, Any]:
        entry = {
            "manager": self.writer.manager,
            "operation": self.writer.operation,
            "apiVersion": self.writer.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": encoded(self.fields),
        }
        if self.writer.subresource:
            entry["subresource"] = self.writer.subresource
        return entry


def owners_of(item: Mapping[str, Any]) -> list[Owner]:
    return [
        Owner(
            Writer(
                entry.get("manager", ""),
                entry.get("operation", UPDATE),
                entry.get("subresource", ""),
                entry.get("apiVersion", ""),
            ),
            entry.get("time", ""),
            decoded(entry.get("fieldsV1") or {}),
        )
        for entry in item["metadata"].get("managedFields") or ()
    ]


def record(item: dict[str, Any], owners: list[Owner]) -> None:
    """Write the owners into the object, appliers first, as the real server orders them."""
    kept = _bounded([owner for owner in owners if owner.fields])
    ordered = sorted(kept, key=Owner.place)
    if ordered:
        item["metadata"]["managedFields"] = [owner.as_dict() for owner in ordered]
    else:
        item["metadata"].pop("managedFields", None)


def _bounded(owners: list[Owner]) -> list[Owner]:
    """At most ten updaters; the oldest are thrown together as `ancient-changes`."""
    updaters = sorted(
        (owner for owner in owners if owner.writer.operation == UPDATE), key=lambda o: o.time
    )
    if len(updaters) <= MAX_UPDATERS:
        return owners
    surplus = updaters[: len(updaters) - MAX_UPDATERS + 1]
    together = Owner(
        replace(surplus[0].writer, manager="ancient-changes", subresource=""),
        surplus[-1].time,
        frozenset().union(*(owner.fields for owner in surplus)),
    )
    return [owner for owner in owners if owner not in surplus] + [together]


def tracked(fields: FieldSet | set[Path], writer: Writer) -> FieldSet:
    """The fields that this writer can own: no system fields, and no status from elsewhere."""
    return frozenset(
        path
        for path in fields
        if path[:2] not in _UNTRACKED
        and path not in _UNTRACKED
        and (writer.owns_status or path[0] != "f:status")
    )


def updated(
    old: dict[str, Any] | None, new: dict[str, Any], kind: Type, writer: Writer, now: str
) -> None:
    """Give the fields in which `new` differs from `old` to `writer`; repeatable."""
    owners = owners_of(old) if old else []
    if old and (not owners or new["metadata"].get("managedFields") == [{}]):
        new["metadata"].pop("managedFields", None)  # cleared on purpose: not tracked until applied
        return
    change = difference(_plain(old or {}), _plain(new), kind)
    given, gone = tracked(change.given, writer), tracked(change.removed, writer)
    result = []
    mine: Owner | None = None
    for owner in owners:
        if owner.writer.key() == writer.key():
            mine = owner
        else:
            result.append(replace(owner, fields=_left(owner.fields, given, gone)))
    before = mine.fields if mine else frozenset()
    after = frozenset((before | given) - gone)
    time = now if mine is None or after != before or given else mine.time
    record(new, [*result, Owner(writer, time, after)])


def _left(fields: FieldSet, taken: FieldSet, gone: FieldSet) -> FieldSet:
    items = frozenset(path for path in taken if not path[-1].startswith("f:"))
    return frozenset(fields - (taken - items) - gone)


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    meta = {k: v for k, v in item.get("metadata", {}).items() if k != "managedFields"}
    return item | {"metadata": meta} if meta else item


@dataclass(frozen=True, slots=True)
class Applied:
    item: dict[str, Any]
    owners: list[Owner]


def applied(
    live: dict[str, Any] | None,
    config: dict[str, Any],
    kind: Type,
    writer: Writer,
    now: str,
    *,
    force: bool,
) -> Applied:
    """`config` over `live`. Raises Refused (409) where another manager owns a changed field."""
    owners = owners_of(live) if live else []
    base = _plain(live) if live else {"metadata": {}}
    asked = tracked(fields_of(config, kind), writer)
    mine = next((o for o in owners if o.writer.key() == writer.key()), None)
    others = [owner for owner in owners if owner is not mine]
    result = merged(base, config, kind)
    change = tracked(difference(base, result, kind).given, writer)
    clashes = {owner.writer: owner.fields & change for owner in others if owner.fields & change}
    if clashes and not force:
        raise _refusal(clashes)
    if clashes:
        others = [replace(o, fields=o.fields - clashes.get(o.writer, frozenset())) for o in others]
    if mine is not None:
        dropped = _droppable(mine.fields - asked, others, asked)
        result = without(result, dropped, kind)
    time = mine.time if mine is not None and mine.fields == asked else now
    return Applied(result, [*others, Owner(writer, time, asked)])


def _droppable(given_up: FieldSet, others: list[Owner], asked: FieldSet) -> list[Path]:
    """Of the fields that an applier gave up, those that nobody else owns, wholly or in part."""
    held: set[Path] = set()
    for fields in (asked, *(owner.fields for owner in others)):
        for path in fields:
            held.update(path[:depth] for depth in range(1, len(path) + 1))
    return [path for path in given_up if path not in held]


def _refusal(clashes: Mapping[Writer, FieldSet]) -> Refused:
    lines: list[tuple[str, str]] = []
    for writer, fields in sorted(clashes.items(), key=lambda pair: pair[0].manager):
        lines += [(_described(writer), dotted(path)) for path in sorted(fields)]
    count = f"{len(lines)} conflict{'s' if len(lines) > 1 else ''}"
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {described}",
            "field": field,
        }
        for described, field in lines
    ]
    return Refused(
        409,
        f"Apply failed with {count}: {_told(lines)}",
        details={"causes": causes},
    )


def _described(writer: Writer) -> str:
    using = "" if writer.operation == APPLY else f" using {writer.api_version}"
    if writer.subresource:
        return f'"{writer.manager}" with subresource "{writer.subresource}"{using}'
    return f'"{writer.manager}"{using}'


def _told(lines: list[tuple[str, str]]) -> str:
    by_writer: dict[str, list[str]] = {}
    for described, field in lines:
        by_writer.setdefault(described, []).append(field)
    told = []
    for described, fields in by_writer.items():
        if len(fields) == 1:
            told.append(f"conflict with {described}: {fields[0]}")
        else:
            listed = "\n".join(f"- {field}" for field in fields)
            told.append(f"conflicts with {described}:\n{listed}")
    return "\n".join(told)
