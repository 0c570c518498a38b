"""Trying a cluster's Prometheus as it is stored: which version answers, and how many targets."""

from typing import Any

from django.utils import timezone

from apps.common import asks
from apps.common.models import Ask
from apps.telemetry import promclient
from apps.telemetry.models import MetricsSource
from apps.telemetry.promclient import Unanswered

TRY = "telemetry.try"


def ask_try(user: Any, source: MetricsSource) -> Ask:
    """Ask a worker to reach the source's Prometheus as it is stored."""
    return asks.put(TRY, {"source": source.pk}, asked_by=user, cluster_id=source.cluster_id)


@asks.answers(TRY)
def answer_try(ask: Ask) -> dict[str, Any]:
    """Which version answers, and how many targets it scrapes."""
    source = MetricsSource.objects.select_related("cluster").get(pk=ask.question["source"])
    version, problem, targets = "", "", 0
    try:
        with promclient.opened(source) as prometheus:
            version = prometheus.version()
            found = prometheus.query("count(up)", timezone.now().timestamp())
            targets = int(found[0].value) if found else 0
    except Unanswered as error:
        problem = str(error)
    MetricsSource.objects.filter(pk=source.pk).update(
        checked_at=timezone.now(), version=version[:60], problem=problem[:500]
    )
    return {"version": version, "targets": targets, "problem": problem}
