"""OpenAPI v3, as far as kubectl reads it: the fields, and that the server checks them."""

from typing import Any

from simulator.apiserver.api import Api
from simulator.apiserver.kinds import Kind
from simulator.apiserver.schema import built_in_schemas, references

_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_WRITES = ("dryRun", "fieldManager", "fieldValidation", "force")


def document(api: Api, path: str) -> dict[str, Any] | None:
    """`v3` is the index, `v3/apis/GROUP/VERSION` one document; None for anything else."""
    if path == "v3":
        return _index(api)
    root, _, rest = path.removeprefix("v3/").partition("/")
    group, _, version = rest.partition("/") if root == "apis" else ("", "", rest)
    kinds = [kind for kind in api.kinds if (kind.group, kind.version) == (group, version)]
    return _document(api, kinds) if kinds and path.startswith("v3/") else None


def _root(kind: Kind) -> str:
    return f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"


def _index(api: Api) -> dict[str, Any]:
    revision = api.store.revision
    roots = dict.fromkeys(_root(kind) for kind in api.kinds)
    return {
        "paths": {
            root: {"serverRelativeURL": f"/openapi/v3/{root}?hash={revision}"} for root in roots
        }
    }


def _document(api: Api, kinds: list[Kind]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for kind in kinds:
        place = "namespaces/{namespace}/" if kind.namespaced else ""
        paths[f"/{_root(kind)}/{place}{kind.plural}"] = {"post": _operation(kind)}
        paths[f"/{_root(kind)}/{place}{kind.plural}/{{name}}"] = {
            "put": _operation(kind),
            "patch": _operation(kind),
        }
        if kind.custom:
            name = ".".join([*reversed(kind.group.split(".")), kind.version, kind.kind])
            schemas[name] = _custom_schema(api, kind)
            _add(schemas, _META)
        else:
            _add(schemas, kind.schema)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.37.2"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _about(kind: Kind) -> dict[str, str]:
    return {"group": kind.group, "kind": kind.kind, "version": kind.version}


def _operation(kind: Kind) -> dict[str, Any]:
    return {
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
            for name in _WRITES
        ],
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-group-version-kind": _about(kind),
    }


def _custom_schema(api: Api, kind: Kind) -> dict[str, Any]:
    schema = dict(api.custom.schema_of(kind) or {"type": "object"})
    properties = dict(schema.get("properties") or {})
    properties["metadata"] = {"allOf": [{"$ref": f"#/components/schemas/{_META}"}]}
    properties.setdefault("apiVersion", {"type": "string"})
    properties.setdefault("kind", {"type": "string"})
    schema["properties"] = properties
    return schema | {"x-kubernetes-group-version-kind": [_about(kind)]}


def _add(schemas: dict[str, Any], name: str) -> None:
    wanted = [name]
    known = built_in_schemas()
    while wanted:
        one = wanted.pop()
        if one not in schemas:
            schemas[one] = known[one]
            wanted.extend(references(known[one]))
