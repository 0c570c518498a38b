"""Makes `types.json`, the shape of every built-in kind, from OpenAPI v3 documents.

Prose is left out. Run it against the documents of a Kubernetes release, or of a running server
saved with `kubectl get --raw /openapi/v3/...`:

    python -m simulator.apiserver.typetable DIRECTORY
"""

import json
import sys
from pathlib import Path
from typing import Any

from simulator.apiserver.kinds import BUILT_IN
from simulator.apiserver.schema import references

EXTRA = (
    "io.k8s.api.autoscaling.v1.Scale",
    "io.k8s.api.policy.v1.Eviction",
    "io.k8s.api.core.v1.Binding",
    "io.k8s.api.authentication.v1.TokenRequest",
    "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",
)
KEPT = (
    "$ref",
    "type",
    "format",
    "items",
    "additionalProperties",
    "properties",
    "allOf",
    "oneOf",
    "required",
    "default",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-group-version-kind",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-int-or-string",
    "x-kubernetes-embedded-resource",
)


def trimmed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [trimmed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for key in KEPT:
        if key not in schema:
            continue
        if key == "properties":
            kept[key] = {name: trimmed(value) for name, value in schema[key].items()}
        elif key in ("default", "x-kubernetes-group-version-kind"):
            kept[key] = schema[key]
        else:
            kept[key] = trimmed(schema[key])
    return kept


def collected(documents: list[dict[str, Any]]) -> dict[str, Any]:
    every: dict[str, Any] = {}
    for document in documents:
        every.update(document.get("components", {}).get("schemas", {}))
    wanted = [kind.schema for kind in BUILT_IN] + list(EXTRA)
    kept: dict[str, Any] = {}
    while wanted:
        name = wanted.pop()
        if name not in kept:
            kept[name] = trimmed(every[name])
            wanted.extend(references(kept[name]))
    return dict(sorted(kept.items()))


def main(directory: Path) -> None:
    documents = [json.loads(path.read_text()) for path in sorted(directory.glob("*.json"))]
    lines = (
        f"{json.dumps(name)}:{json.dumps(schema, separators=(',', ':'))}"
        for name, schema in collected(documents).items()
    )
    target = Path(__file__).with_name("types.json")
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.stdout.write(f"{target.name}: {target.stat().st_size} bytes\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
