"""What carries requests to pools by weight: an InferencePool with a picker each, one HTTPRoute.

Every pool has a picker of its own: gateways that share one between two pools of a rule send all
requests to the pool it knows (serving.md of Gateway API Inference Extension, conformance test
GatewayWeightedAcrossTwoInferencePools). A picker's pods carry no deployment label, or the
deployment's Service would select them.
"""

import json
from typing import Any

from domain import canonical
from domain.manifests import labels as known
from domain.manifests.labels import Manifest, deployment_labels, pool_labels
from domain.manifests.spec import Pool, Routing, Serving

GATEWAY_GROUP = "gateway.networking.k8s.io"
POOL_GROUP = "inference.networking.k8s.io"
# A ClusterRole that is installed together with the portal's own account, see kube.rights.
PICKER_ROLE = "claimyard-picker"
PICKER_GRPC, PICKER_HEALTH, PICKER_METRICS = 9002, 9003, 9090
# The weights of upstream's own charts. The older group is read by every picker there is.
PICKER_CONFIG: dict[str, Any] = {
    "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
    "kind": "EndpointPickerConfig",
    "plugins": [
        {"type": "queue-scorer"},
        {"type": "kv-cache-utilization-scorer"},
        {"type": "prefix-cache-scorer"},
        {"type": "max-score-picker"},
    ],
    "schedulingProfiles": [
        {
            "name": "default",
            "plugins": [
                {"pluginRef": "queue-scorer", "weight": 2},
                {"pluginRef": "kv-cache-utilization-scorer", "weight": 2},
                {"pluginRef": "prefix-cache-scorer", "weight": 3},
                {"pluginRef": "max-score-picker"},
            ],
        }
    ],
}


def pool_name(deployment: str, pool: str) -> str:
    """The InferencePool of a model pool."""
    return f"{deployment}-{pool}"


def picker_name(deployment: str, pool: str) -> str:
    return f"{deployment}-{pool}-picker"


def picker_value(deployment: str, pool: str) -> str:
    """The value of the label by which a picker's pods are found."""
    return f"{deployment}.{pool}"


def pool_objects(serving: Serving, pool: Pool, routing: Routing) -> list[Manifest]:
    """The InferencePool of a model pool and its picker, in apply order."""
    return [
        _account(serving, pool),
        _binding(serving, pool),
        _config(serving, pool),
        _service(serving, pool),
        _picker(serving, pool, routing),
        _inference_pool(serving, pool, routing),
    ]


def _object(serving: Serving, pool: Pool, api_version: str, kind: str, name: str) -> Manifest:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": serving.namespace,
            "labels": pool_labels(serving.tenant, serving.name, pool.name),
        },
    }


def _of_picker(serving: Serving, pool: Pool, api_version: str, kind: str) -> Manifest:
    return _object(serving, pool, api_version, kind, picker_name(serving.name, pool.name))


def _account(serving: Serving, pool: Pool) -> Manifest:
    return _of_picker(serving, pool, "v1", "ServiceAccount")


def _binding(serving: Serving, pool: Pool) -> Manifest:
    group = "rbac.authorization.k8s.io"
    account = picker_name(serving.name, pool.name)
    return _of_picker(serving, pool, f"{group}/v1", "RoleBinding") | {
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": PICKER_ROLE},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": serving.namespace}],
    }


def _config(serving: Serving, pool: Pool) -> Manifest:
    text = json.dumps(PICKER_CONFIG, indent=2)
    return _of_picker(serving, pool, "v1", "ConfigMap") | {"data": {"config.yaml": text}}


def _selector(serving: Serving, pool: Pool) -> dict[str, str]:
    return {known.PICKER: picker_value(serving.name, pool.name)}


def _service(serving: Serving, pool: Pool) -> Manifest:
    ports = (("grpc", PICKER_GRPC, "kubernetes.io/h2c"), ("metrics", PICKER_METRICS, "http"))
    return _of_picker(serving, pool, "v1", "Service") | {
        "spec": {
            "selector": _selector(serving, pool),
            "ports": [
                {
                    "name": name,
                    "port": port,
                    "targetPort": name,
                    "protocol": "TCP",
                    "appProtocol": protocol,
                }
                for name, port, protocol in ports
            ],
        }
    }


def _picker(serving: Serving, pool: Pool, routing: Routing) -> Manifest:
    """A new picker is ready before the old one ends: without one, its pool refuses requests."""
    labels = {known.MANAGED_BY: known.MANAGER, known.TENANT: serving.tenant}
    return _of_picker(serving, pool, "apps/v1", "Deployment") | {
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 2,
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
            },
            "selector": {"matchLabels": _selector(serving, pool)},
            "template": {
                "metadata": {
                    "labels": labels | _selector(serving, pool),
                    "annotations": {known.CONFIG_DIGEST: canonical.digest(PICKER_CONFIG)[:16]},
                },
                "spec": _picker_pod(serving, pool, routing),
            },
        }
    }


def _picker_pod(serving: Serving, pool: Pool, routing: Routing) -> dict[str, Any]:
    name = picker_name(serving.name, pool.name)
    return {
        "serviceAccountName": name,
        # Streams under way go through the picker to their end.
        "terminationGracePeriodSeconds": serving.server.drain.grace_seconds,
        "containers": [_picker_container(serving, pool, routing)],
        "volumes": [{"name": "config", "configMap": {"name": name}}],
    }


def _picker_container(serving: Serving, pool: Pool, routing: Routing) -> dict[str, Any]:
    ports = (("grpc", PICKER_GRPC), ("health", PICKER_HEALTH), ("metrics", PICKER_METRICS))
    return {
        "name": "picker",
        "image": routing.picker_image,
        "args": [
            f"--pool-name={pool_name(serving.name, pool.name)}",
            f"--pool-namespace={serving.namespace}",
            f"--grpc-port={PICKER_GRPC}",
            f"--grpc-health-port={PICKER_HEALTH}",
            f"--metrics-port={PICKER_METRICS}",
            "--metrics-endpoint-auth=false",  # as open as the model servers' own metrics
            "--tracing=false",
            "--config-file=/config/config.yaml",
            "-v=1",
        ],
        "ports": [{"name": name, "containerPort": port, "protocol": "TCP"} for name, port in ports],
        "readinessProbe": _health("readiness"),
        "livenessProbe": _health("liveness"),
        "resources": {
            "requests": {"cpu": "250m", "memory": "256Mi"},
            "limits": {"memory": "4Gi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
        },
        "volumeMounts": [{"name": "config", "mountPath": "/config", "readOnly": True}],
    }


def _health(service: str) -> dict[str, Any]:
    return {
        "grpc": {"port": PICKER_HEALTH, "service": service},
        "periodSeconds": 5,
        "failureThreshold": 3,
        "timeoutSeconds": 2,
    }


def _inference_pool(serving: Serving, pool: Pool, routing: Routing) -> Manifest:
    name = pool_name(serving.name, pool.name)
    return _object(serving, pool, f"{POOL_GROUP}/v1", "InferencePool", name) | {
        "spec": {
            "selector": {"matchLabels": {known.DEPLOYMENT: serving.name, known.POOL: pool.name}},
            "targetPorts": [{"number": serving.server.port}],
            "endpointPickerRef": {
                "kind": "Service",
                "name": picker_name(serving.name, pool.name),
                "port": {"number": PICKER_GRPC},
                "failureMode": routing.failure_mode,
            },
        }
    }


def backends(serving: Serving) -> list[dict[str, Any]]:
    """All pools, also those without weight: their clusters are ready before the first request."""
    return [
        {
            "group": POOL_GROUP,
            "kind": "InferencePool",
            "name": pool_name(serving.name, pool.name),
            "weight": pool.weight,
        }
        for pool in serving.pools
    ]


def route(serving: Serving, routing: Routing) -> Manifest:
    """The whole route of a deployment; streams may take as long as they need."""
    parent: dict[str, Any] = {
        "group": GATEWAY_GROUP,
        "kind": "Gateway",
        "name": routing.gateway_name,
        "namespace": routing.gateway_namespace,
    }
    if routing.section:
        parent["sectionName"] = routing.section
    return {
        "apiVersion": f"{GATEWAY_GROUP}/v1",
        "kind": "HTTPRoute",
        "metadata": {
            "name": serving.name,
            "namespace": serving.namespace,
            "labels": deployment_labels(serving.tenant, serving.name),
        },
        "spec": {
            "parentRefs": [parent],
            "hostnames": [routing.hostname],
            "rules": [
                {
                    "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
                    "backendRefs": backends(serving),
                    "timeouts": {"request": "0s"},
                }
            ],
        },
    }
