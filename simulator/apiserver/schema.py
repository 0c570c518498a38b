"""The shape of objects: which fields there are, and how lists and maps merge.

One model for both sources: the built-in kinds of `types.json` and the schema of a
CustomResourceDefinition.
"""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import orjson

_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
# Go structs with their own JSON form: one value for everybody.
_OPAQUE = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
    "io.k8s.apimachinery.pkg.runtime.RawExtension",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
}


@dataclass(slots=True)
class Type:
    """`shape` is scalar, struct, map, list or any; `scalar` is OpenAPI's word for a scalar.

    `name` is what the type is called in Go, where that is known. `filled` names the fields of a
    struct that are there even when nobody set them. `atomic` means that the whole value has one
    owner. `keys` are those of an associative list, `key_defaults` what an absent key counts as.
    `merge_key` is that of strategic merge patch; "" with `strategic` set means a set of scalars.
    """

    shape: str = "any"
    scalar: str = ""
    name: str = ""
    fields: dict[str, "Type"] = field(default_factory=dict)
    element: "Type | None" = None
    atomic: bool = False
    associative: str = ""  # "map" or "set", of a list that is not atomic
    keys: tuple[str, ...] = ()
    key_defaults: dict[str, Any] = field(default_factory=dict)
    merge_key: str = ""
    strategic: bool = False
    retain_keys: bool = False
    open: bool = False  # unknown fields of a struct are kept
    required: tuple[str, ...] = ()
    filled: frozenset[str] = frozenset()
    default: Any = None

    def child(self, name: str) -> "Type":
        """The type under a field name or map key; ANY where the schema is silent."""
        found = self.fields.get(name)
        if found is not None:
            return found
        if self.shape == "map" and self.element is not None:
            return self.element
        return ANY


ANY = Type()
STRING = Type("scalar", "string")


class TypeTable:
    """Turns OpenAPI schemas into Types; references are resolved once and may be circular."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self.schemas = schemas
        self._named: dict[str, Type] = {}

    def named(self, name: str) -> Type:
        found = self._named.get(name)
        if found is None:
            found = self._named[name] = Type()
            self._fill(found, self.schemas[name], name)
        return found

    def built(self, schema: dict[str, Any]) -> Type:
        reference = schema.get("$ref") or _only_reference(schema)
        extras = {key for key in schema if key.startswith("x-kubernetes-")}
        if reference and not extras:
            return self.named(reference.rsplit("/", 1)[1])
        made = Type()
        if reference:
            name = reference.rsplit("/", 1)[1]
            schema = self.schemas[name] | schema
            self._fill(made, schema, name)
        else:
            self._fill(made, schema, "")
        return made

    def _fill(self, made: Type, schema: dict[str, Any], name: str) -> None:
        made.default = schema.get("default")
        made.name = schema.get("format", "") or name.rpartition(".")[2]
        made.required = tuple(schema.get("required", ()))
        if name in _OPAQUE:
            made.atomic = True
            return
        if name == _QUANTITY:
            made.shape, made.scalar = "scalar", "quantity"
        elif schema.get("format") == "int-or-string" or schema.get("x-kubernetes-int-or-string"):
            made.shape, made.scalar = "scalar", "int-or-string"
        elif schema.get("type") == "array":
            self._fill_list(made, schema)
        elif schema.get("type") == "object" or "properties" in schema:
            self._fill_object(made, schema)
        elif "type" in schema:
            made.shape, made.scalar = "scalar", schema["type"]

    def _fill_list(self, made: Type, schema: dict[str, Any]) -> None:
        made.shape = "list"
        made.element = self.built(schema["items"]) if "items" in schema else ANY
        kind = schema.get("x-kubernetes-list-type", "atomic")
        made.atomic = kind == "atomic"
        made.associative = "" if made.atomic else kind
        made.keys = tuple(schema.get("x-kubernetes-list-map-keys", ()))
        made.key_defaults = {
            key: made.element.fields[key].default
            for key in made.keys
            if key in made.element.fields and made.element.fields[key].default is not None
        }
        strategy = schema.get("x-kubernetes-patch-strategy", "")
        made.strategic = "merge" in strategy.split(",")
        made.retain_keys = "retainKeys" in strategy
        made.merge_key = schema.get("x-kubernetes-patch-merge-key", "")

    def _fill_object(self, made: Type, schema: dict[str, Any]) -> None:
        made.atomic = schema.get("x-kubernetes-map-type") == "atomic"
        made.retain_keys = "retainKeys" in schema.get("x-kubernetes-patch-strategy", "")
        made.open = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        extra = schema.get("additionalProperties")
        if "properties" in schema:
            made.shape = "struct"
            made.fields = {key: self.built(value) for key, value in schema["properties"].items()}
            made.filled = frozenset(
                key
                for key, value in schema["properties"].items()
                if value.get("default") == {}
                or (key in made.required and value.get("type") == "array")
            )
        elif isinstance(extra, dict):
            made.shape, made.element = "map", self.built(extra)
        elif made.open or extra is True:
            made.shape, made.element = "map", ANY
        else:
            made.shape = "struct"
        if schema.get("x-kubernetes-embedded-resource"):
            made.fields.setdefault("apiVersion", STRING)
            made.fields.setdefault("kind", STRING)
            made.fields.setdefault("metadata", ANY)


def references(schema: Any) -> set[str]:
    """The names of all schemas that a schema refers to."""
    if isinstance(schema, list):
        return {name for item in schema for name in references(item)}
    if not isinstance(schema, dict):
        return set()
    found = {name for value in schema.values() for name in references(value)}
    if isinstance(schema.get("$ref"), str):
        found.add(schema["$ref"].rsplit("/", 1)[1])
    return found


def _only_reference(schema: dict[str, Any]) -> str | None:
    parts = schema.get("allOf", ())
    if len(parts) == 1 and "$ref" in parts[0]:
        reference: str = parts[0]["$ref"]
        return reference
    return None


@cache
def built_in_schemas() -> dict[str, Any]:
    loaded: dict[str, Any] = orjson.loads(Path(__file__).with_name("types.json").read_bytes())
    return loaded


@cache
def table() -> TypeTable:
    return TypeTable(built_in_schemas())


@cache
def metadata_type() -> Type:
    return table().named(_META)


def built_in(name: str) -> Type:
    return table().named(name)


def of_custom_resource(openapi: dict[str, Any] | None) -> Type:
    """The type of a custom resource; without a schema all of it is kept as it came."""
    made = TypeTable({}).built(
        openapi or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    )
    if made.shape == "map":
        made = Type("struct", open=True)
    made.filled |= {"metadata"}
    made.fields["apiVersion"] = STRING
    made.fields["kind"] = STRING
    made.fields["metadata"] = metadata_type()
    return made
