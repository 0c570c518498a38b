"""What docs/openapi.yaml says of all operations alike: callers, problems, ETags, retries."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension

TAGS = {
    "clusters": "Clusters that the portal mirrors.",
    "writes": "The one switch that stops all writes to all clusters.",
    "nodes": "Nodes, with their cards counted.",
    "devices": "Devices as they are handed out, whole or in parts.",
    "claims": "ResourceClaims as last seen.",
    "device-classes": "Device classes: versions that one person writes and another approves.",
    "claim-patterns": "Claim patterns: approved, parameterised requests for devices.",
    "approvals": "Reviews of versions.",
    "tenants": "Tenants, their members, quotas and deployments.",
    "quotas": "Quotas of all tenants, with their use.",
    "deployments": "Deployments of all your tenants.",
    "migrations": "Moves of model pools to claims, in stages, with gates and the way back.",
    "evidence-key": "The public key that evidence of migrations is signed with.",
    "series": "What charts show: figures over time, each with its state.",
    "figures": "The catalogue of figures, and what they are now.",
    "usage": "Hours of devices by tenant, class and deployment.",
    "placement": "What would fit, why not, and what if; questions that change nothing.",
    "asks": "Questions that a cluster or the placement worker answers.",
    "audit": "Who changed what.",
}
_PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "RFC 9457, with a stable code, the fields and the request.",
    "required": ["type", "title", "status", "code", "detail", "request_id"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
        "request_id": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "code", "detail"],
                "properties": {
                    "field": {"type": "string", "description": "Such as pools[0].replicas."},
                    "code": {"type": "string"},
                    "detail": {"type": "string"},
                },
            },
        },
    },
}
_ETAG = {"ETag": {"description": "For If-None-Match and If-Match.", "schema": {"type": "string"}}}


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "apps.api.auth.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A token from the account page: read or write, for a tenant or roles.",
        }


def complete(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """A postprocessing hook of drf-spectacular."""
    schemas = result["components"].setdefault("schemas", {})
    schemas["Problem"] = _PROBLEM
    for path, operations in result["paths"].items():
        tag = path.split("/")[3].replace("cluster-trials", "clusters")
        for method, operation in operations.items():
            if tag not in TAGS:
                raise LookupError(f"{path}: {tag} is not described in TAGS")
            operation["tags"] = [tag]
            operation.pop("description", None)  # the docstring of a view is for its readers
            _complete(method, operation)
    result["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
    return result


def _complete(method: str, operation: dict[str, Any]) -> None:
    parameters = operation.setdefault("parameters", [])
    if method == "post":
        parameters.append(
            _header(
                "Idempotency-Key", "The same key and request again: the same answer, done once."
            )
        )
    if method in ("put", "patch", "delete"):
        parameters.append(_header("If-Match", "Refused with 412 if it has changed since."))
    if method == "get":
        parameters.append(_header("If-None-Match", "304 while nothing has changed."))
        operation["responses"]["304"] = {"description": "Not changed."}
    for status, response in operation["responses"].items():
        if status.startswith("2") and "content" in response:
            response["headers"] = _ETAG
    operation["responses"]["default"] = {
        "description": "A problem.",
        "content": {
            "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
        },
    }


def _header(name: str, description: str) -> dict[str, Any]:
    return {
        "in": "header",
        "name": name,
        "required": False,
        "description": description,
        "schema": {"type": "string"},
    }
