"""The demo's two migrations: one that goes through, and one that takes itself back."""

from typing import Any

from apps.deployments.models import Deployment
from apps.inventory.models import Cluster
from apps.rollouts import services
from apps.rollouts.models import Migration
from apps.tenancy.models import User

#: Short windows and few samples: a demo is watched for minutes. Limits are wide, because a few
#: dozen requests are all the evidence that so short a window has.
GATES: list[dict[str, Any]] = [
    {
        "name": "ttft-p50",
        "metric": "ttft",
        "statistic": "p50",
        "ratio_at_most": 1.35,
        "margin": 0.1,
        "window_seconds": 45,
        "min_requests": 20,
        "failures": 3,
        "no_data_seconds": 300,
        "worst_pod": False,
    },
    {
        "name": "errors",
        "metric": "errors",
        "at_most": 0.01,
        "window_seconds": 45,
        "min_requests": 20,
        "no_data_seconds": 300,
        "worst_pod": False,
    },
    {
        "name": "kv-pressure",
        "metric": "kv_usage",
        "statistic": "max",
        "at_most": 0.95,
        "window_seconds": 45,
        "no_data_seconds": 300,
    },
]
SETTINGS: dict[str, Any] = {
    "steps": [
        {"weight": 25, "hold_seconds": 20},
        {"weight": 50, "hold_seconds": 20},
        {"weight": 100, "hold_seconds": 20},
    ],
    "interval_seconds": 10,
    "warm_weight": 10,
    "warm_seconds": 20,
    "drain_seconds": 15,
    "ready_seconds": 600,
    "approvals": [],
    "drill": True,
    "gates": GATES,
}
#: Name, tenant, deployment. The scenario makes the ranker's new pool slow.
MIGRATIONS = (
    ("assistant-to-claims", "chat", "assistant"),
    ("ranker-to-claims", "search", "ranker"),
)


def fill(actor: User, cluster: Cluster) -> list[str]:
    """Draw up and start what is not there yet; their names. Repeatable."""
    made = []
    for name, tenant, deployment in MIGRATIONS:
        if Migration.objects.filter(name=name).exists():
            continue
        row = Deployment.objects.filter(
            tenant__slug=tenant, name=deployment, cluster=cluster, retired_at=None
        ).first()
        if row is None:
            continue
        migration = services.create_migration(
            actor=actor, name=name, cluster=cluster, deployments=[row], content=SETTINGS
        )
        services.start_migration(actor=actor, migration=migration)
        made.append(name)
    return made
