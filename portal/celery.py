"""The Celery app and the one table of what runs by the clock.

Messages are hints and rows are truth: each sweep finds whatever a lost message left behind, so a
wiped broker costs at most one round.
"""

import os
from typing import Any

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

app = Celery("claimyard", task_cls="apps.common.hints:Hint")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

# Task name -> seconds between runs.
SWEEPS = {
    "apps.common.tasks.sweep_asks": 15,
    "apps.api.tasks.sweep_replays": 3600,
    "apps.inventory.tasks.sweep_clusters": 30,
    "apps.inventory.tasks.sweep_mirror": 300,
    "apps.claims.tasks.sweep_uses": 3600,
    "apps.catalog.tasks.sweep_classes": 10,
    "apps.catalog.tasks.expire_approvals": 300,
    "apps.quotas.tasks.sweep_namespaces": 10,
    "apps.deployments.tasks.sweep_deployments": 10,
    "apps.deployments.tasks.observe_clusters": 10,
    "apps.rollouts.tasks.sweep_migrations": 5,
    "apps.rollouts.tasks.sweep_deliveries": 5,
    "apps.rollouts.tasks.sweep_evidence": 60,
    "apps.telemetry.tasks.sweep_servers": 15,
    "apps.telemetry.tasks.sweep_minutes": 60,
    "apps.telemetry.tasks.sweep_placement": 60,
    "apps.telemetry.tasks.sweep_readings": 300,
    "apps.telemetry.tasks.sweep_usage": 600,
}
app.conf.beat_schedule = {
    name: {"task": name, "schedule": float(seconds), "options": {"expires": seconds}}
    for name, seconds in SWEEPS.items()
}
app.conf.beat_scheduler = "redbeat.RedBeatScheduler"
app.conf.beat_max_loop_interval = 5


@app.on_after_configure.connect
def tell_redbeat(sender: Celery, **_: Any) -> None:
    """RedBeat reads only names without a prefix; otherwise it falls back to the broker's."""
    from django.conf import settings

    sender.conf.update(
        redbeat_redis_url=settings.CELERY_REDBEAT_REDIS_URL,
        redbeat_redis_options={"socket_timeout": 10},
        redbeat_lock_timeout=settings.CELERY_REDBEAT_LOCK_TIMEOUT,
    )
