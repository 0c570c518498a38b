"""The API's documentation, made from docs/openapi.yaml: works offline and under our CSP."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from apps.api import services

DOCUMENT = settings.BASE_DIR / "docs" / "openapi.yaml"


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str
    is_required: bool
    description: str
    fields: "list[Field]"


@dataclass(frozen=True, slots=True)
class Operation:
    key: str
    method: str
    path: str
    summary: str
    parameters: list[Field]
    body: list[Field]
    answers: list[tuple[str, list[Field]]]


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    description: str
    operations: list[Operation]


@cache
def groups() -> list[Group]:
    """The operations by tag. The document is part of the release, so it is read once."""
    document: dict[str, Any] = yaml.safe_load(DOCUMENT.read_text(encoding="utf-8"))
    schemas = document["components"]["schemas"]
    found: dict[str, list[Operation]] = {tag["name"]: [] for tag in document["tags"]}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            found[operation["tags"][0]].append(_operation(path, method, operation, schemas))
    texts = {tag["name"]: tag["description"] for tag in document["tags"]}
    return [Group(name, texts[name], operations) for name, operations in found.items()]


def _operation(
    path: str, method: str, operation: dict[str, Any], schemas: dict[str, Any]
) -> Operation:
    parameters = [
        Field(
            one["name"],
            f"{_type(one.get('schema', {}), schemas)}, in {one['in']}",
            one.get("required", False),
            one.get("description", ""),
            [],
        )
        for one in operation.get("parameters", [])
    ]
    answers = [
        (f"{status} {response.get('description', '')}".strip(), _fields(_json(response), schemas))
        for status, response in operation["responses"].items()
        if status.startswith("2")
    ]
    return Operation(
        operation["operationId"],
        method.upper(),
        path,
        operation.get("summary", ""),
        parameters,
        _fields(_json(operation.get("requestBody", {})), schemas),
        answers,
    )


def _json(holder: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = holder.get("content", {}).get("application/json", {}).get("schema", {})
    return schema


def _resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    while True:
        if "$ref" in schema:
            schema = schemas[schema["$ref"].rpartition("/")[2]]
        elif len(schema.get("allOf", [])) == 1:
            schema = schema["allOf"][0]
        else:
            return schema


def _fields(schema: dict[str, Any], schemas: dict[str, Any], depth: int = 0) -> list[Field]:
    schema = _resolved(schema, schemas)
    if "items" in schema:
        schema = _resolved(schema["items"], schemas)
    if depth > 3:
        return []
    needed = schema.get("required", [])
    return [
        Field(
            name,
            _type(inner, schemas),
            name in needed,
            _resolved(inner, schemas).get("description", inner.get("description", "")),
            _fields(inner, schemas, depth + 1),
        )
        for name, inner in schema.get("properties", {}).items()
    ]


def _type(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    schema = _resolved(schema, schemas)
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    for mix in ("oneOf", "anyOf"):
        if mix in schema:
            return " | ".join(_type(one, schemas) for one in schema[mix])
    kind = schema.get("type", "any")
    kinds = kind if isinstance(kind, list) else [kind]
    if "array" in kinds:
        return f"list of {_type(schema.get('items', {}), schemas)}"
    text = " or ".join(kinds)
    return f"{text} ({schema['format']})" if "format" in schema else text


@require_GET
@login_required
def docs(request: HttpRequest) -> HttpResponse:
    url = f"{settings.PUBLIC_URL}/api/v1/deployments/"
    curl = f"curl -H 'Authorization: Bearer {services.PREFIX}…' {url}"
    return render(request, "api/docs.html", {"groups": groups(), "curl": curl})


@require_GET
@login_required
def document(request: HttpRequest) -> HttpResponse:
    return HttpResponse(DOCUMENT.read_bytes(), content_type="application/yaml")
