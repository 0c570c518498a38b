"""The kinds of the Gateway API and its Inference Extension, as far as a gateway here reads them."""

from typing import Any

from simulator.fleet.api import NAMESPACES, Kind

type Json = dict[str, Any]

GROUP = "gateway.networking.k8s.io"
POOL_GROUP = "inference.networking.k8s.io"
GATEWAY_CLASSES = Kind(f"{GROUP}/v1", "gatewayclasses", "GatewayClass", namespaced=False)
GATEWAYS = Kind(f"{GROUP}/v1", "gateways", "Gateway")
ROUTES = Kind(f"{GROUP}/v1", "httproutes", "HTTPRoute")
POOLS = Kind(f"{POOL_GROUP}/v1", "inferencepools", "InferencePool")
DEFINITIONS = Kind(
    "apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", False
)
CONTROLLER = "simulator.claimyard.dev/gateway"


def definition(kind: Kind) -> Json:
    """A definition that serves the kind with a status, and leaves the fields to its users."""
    group, _, version = kind.version.partition("/")
    anything: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": DEFINITIONS.version,
        "kind": DEFINITIONS.kind,
        # A real API server keeps groups under k8s.io to those who have been approved.
        "metadata": {
            "name": f"{kind.plural}.{group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, it is a simulation"},
        },
        "spec": {
            "group": group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": {
                "plural": kind.plural,
                "singular": kind.kind.lower(),
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
            },
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": anything, "status": anything},
                        }
                    },
                }
            ],
        },
    }


def installed(namespace: str, name: str) -> list[tuple[Kind, Json]]:
    """What an administrator installs: definitions, a class, and one Gateway for everybody."""
    found: list[tuple[Kind, Json]] = [(NAMESPACES, {"metadata": {"name": namespace}})]
    found += [
        (DEFINITIONS, definition(kind)) for kind in (GATEWAY_CLASSES, GATEWAYS, ROUTES, POOLS)
    ]
    found.append(
        (
            GATEWAY_CLASSES,
            {"metadata": {"name": "simulated"}, "spec": {"controllerName": CONTROLLER}},
        )
    )
    listener = {
        "name": "http",
        "protocol": "HTTP",
        "port": 80,
        "allowedRoutes": {"namespaces": {"from": "All"}},
    }
    spec = {"gatewayClassName": "simulated", "listeners": [listener]}
    found.append((GATEWAYS, {"metadata": {"name": name, "namespace": namespace}, "spec": spec}))
    return found
