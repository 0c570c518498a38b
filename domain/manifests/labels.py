"""The labels by which we know our own objects: nothing without them is changed or deleted."""

from typing import Any

Manifest = dict[str, Any]

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "claimyard"
TENANT = "claimyard.dev/tenant"
DEPLOYMENT = "claimyard.dev/deployment"
POOL = "claimyard.dev/pool"
METRICS_PORT = "claimyard.dev/metrics-port"
METRICS_PATH = "claimyard.dev/metrics-path"
PICKER = "claimyard.dev/picker"
CONFIG_DIGEST = "claimyard.dev/config-digest"
RESTARTED_AT = "claimyard.dev/restarted-at"


def deployment_labels(tenant: str, deployment: str) -> dict[str, str]:
    return {MANAGED_BY: MANAGER, TENANT: tenant, DEPLOYMENT: deployment}


def pool_labels(tenant: str, deployment: str, pool: str) -> dict[str, str]:
    return deployment_labels(tenant, deployment) | {POOL: pool}


def selector_of(deployment: str) -> str:
    """The label selector that finds everything of a deployment in its namespace."""
    return f"{MANAGED_BY}={MANAGER},{DEPLOYMENT}={deployment}"
