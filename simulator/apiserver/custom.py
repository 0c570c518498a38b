"""CustomResourceDefinitions: a created one makes its kinds served."""

from datetime import UTC, datetime
from typing import Any

from simulator.apiserver.decoding import right_type
from simulator.apiserver.kinds import CUSTOM_RESOURCES, Kind, Kinds
from simulator.apiserver.problems import Cause, invalid, required
from simulator.apiserver.schema import ANY, Type, built_in, of_custom_resource
from simulator.apiserver.store import Store

REPLICAS = ".spec.replicas", ".status.replicas", ".spec.selector"


class CustomKinds:
    """Keeps `kinds` in step with the stored definitions."""

    def __init__(self, store: Store, kinds: Kinds) -> None:
        self._store = store
        self._kinds = kinds
        self._types: dict[tuple[str, str, str], Type] = {}
        self._schemas: dict[tuple[str, str, str], dict[str, Any]] = {}
        self._replicas: dict[tuple[str, str, str], tuple[str, str, str]] = {}
        self._columns: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        definition = self._definition = kinds.find(*CUSTOM_RESOURCES)
        if definition is not None:
            for entry in store.shelf(definition).entries.values():
                self._serve(entry.parsed())

    def type_of(self, kind: Kind) -> Type:
        if not kind.custom:
            return built_in(kind.schema)
        return self._types[(kind.group, kind.version, kind.plural)]

    def columns_of(self, kind: Kind) -> list[dict[str, Any]]:
        return self._columns.get((kind.group, kind.version, kind.plural), [])

    def schema_of(self, kind: Kind) -> dict[str, Any] | None:
        return self._schemas.get((kind.group, kind.version, kind.plural))

    def replica_paths(self, kind: Kind) -> tuple[str, str, str]:
        """Where replicas wanted, replicas there and their selector stand in the object."""
        return self._replicas.get((kind.group, kind.version, kind.plural), REPLICAS)

    def check(self, kind: Kind, item: dict[str, Any]) -> None:
        """Complete a definition, or check a custom resource. Raises Refused (422)."""
        if kind is self._definition:
            _complete(kind, item)
        elif kind.custom:
            causes = _faults(item, self.type_of(kind), "")
            if causes:
                raise invalid(kind, item["metadata"].get("name", ""), causes)

    def changed(self, kind: Kind, item: dict[str, Any]) -> None:
        if kind is self._definition:
            self._serve(item)

    def gone(self, kind: Kind, item: dict[str, Any]) -> None:
        """A definition went: its objects go with it, and its kinds are no longer served."""
        if kind is not self._definition:
            return
        spec = item["spec"]
        for served in self._kinds.remove(spec["group"], spec["names"]["plural"]):
            for entry in list(self._store.shelf(served).entries.values()):
                self._store.remove(served, entry.parsed())
            self._store.drop_resource(served)

    def _serve(self, definition: dict[str, Any]) -> None:
        spec = definition["spec"]
        names = spec["names"]
        self._kinds.remove(spec["group"], names["plural"])
        for version in spec["versions"]:
            if not version.get("served"):
                continue
            subresources = version.get("subresources") or {}
            kind = Kind(
                spec["group"],
                version["name"],
                names["kind"],
                names["plural"],
                namespaced=spec["scope"] == "Namespaced",
                singular=names.get("singular", names["kind"].lower()),
                short=tuple(names.get("shortNames", ())),
                categories=tuple(names.get("categories", ())),
                status="status" in subresources,
                scale="scale" in subresources,
                selectable=tuple(
                    field["jsonPath"].lstrip(".") for field in version.get("selectableFields", ())
                ),
                custom=True,
            )
            key = kind.group, kind.version, kind.plural
            self._kinds.add(kind)
            schema = (version.get("schema") or {}).get("openAPIV3Schema")
            self._types[key] = of_custom_resource(schema)
            self._schemas[key] = schema or {}
            if scale := subresources.get("scale"):
                self._replicas[key] = (
                    scale["specReplicasPath"],
                    scale["statusReplicasPath"],
                    scale.get("labelSelectorPath", ""),
                )
            self._columns[key] = version.get("additionalPrinterColumns", [])


def _complete(kind: Kind, item: dict[str, Any]) -> None:
    if causes := _faults(item, built_in(kind.schema), ""):
        raise invalid(kind, item["metadata"].get("name", ""), causes)
    spec = item["spec"]
    names = spec["names"]
    expected = f"{names['plural']}.{spec['group']}"
    if item["metadata"].get("name") != expected:
        raise invalid(
            kind,
            item["metadata"].get("name", ""),
            [
                Cause(
                    "metadata.name",
                    "FieldValueInvalid",
                    f'Invalid value: "{item["metadata"].get("name", "")}": must be '
                    f'spec.names.plural+"."+spec.group',
                )
            ],
        )
    status = item.setdefault("status", {})
    status["acceptedNames"] = names
    status["storedVersions"] = [v["name"] for v in spec["versions"] if v.get("storage")]
    moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    status.setdefault(
        "conditions",
        [
            {
                "type": "NamesAccepted",
                "status": "True",
                "lastTransitionTime": moment,
                "reason": "NoConflicts",
                "message": "no conflicts found",
            },
            {
                "type": "Established",
                "status": "True",
                "lastTransitionTime": moment,
                "reason": "InitialNamesAccepted",
                "message": "the initial names have been accepted",
            },
        ],
    )


def _faults(value: Any, kind: Type, path: str) -> list[Cause]:
    """What the schema of a custom resource refuses: wrong types and missing fields."""
    causes: list[Cause] = []
    if isinstance(value, dict) and kind.shape in ("struct", "map"):
        for name, below in value.items():
            if name not in ("metadata", "apiVersion", "kind") or path:
                causes += _faults(below, kind.child(name), f"{path}.{name}".lstrip("."))
        missing = (name for name in kind.required if name not in value)
        causes += [required(f"{path}.{name}".lstrip(".")) for name in missing]
    elif isinstance(value, list) and kind.shape == "list":
        for place, item in enumerate(value):
            causes += _faults(item, kind.element or ANY, f"{path}[{place}]")
    elif kind.shape != "any" and not right_type(value, kind):
        wanted = {"struct": "object", "map": "object", "list": "array"}.get(kind.shape, kind.scalar)
        text = f'{path} in body must be of type {wanted}: "{_JSON[type(value)]}"'
        message = f'Invalid value: "{_JSON[type(value)]}": {text}'
        causes.append(Cause(path, "FieldValueTypeInvalid", message))
    return causes


_JSON = {
    dict: "object",
    list: "array",
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
