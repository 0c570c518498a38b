import structlog
from celery import shared_task
from django.utils import timezone

from apps.inventory.models import Cluster
from apps.telemetry import (
    asking,
    collect,
    history,
    parts,
    recorded,
    retention,
    rollup,
    trying,
    usage,
)
from apps.telemetry.models import MetricsSource
from kube.errors import ClusterError

# Imported for what they answer: see apps.common.asks.
ANSWERS = (asking.answer_series, asking.answer_figures, trying.answer_try)

log = structlog.get_logger(__name__)


@shared_task(soft_time_limit=25, time_limit=30)
def read_servers(cluster_id: int) -> None:
    """Read one cluster's model servers. A cluster that is away is told by its own page."""
    cluster = Cluster.objects.filter(pk=cluster_id, retired_at=None).first()
    if cluster is None:
        return
    try:
        collect.read_cluster(cluster)
    except ClusterError as error:
        log.info("model servers not read", cluster=cluster.slug, reason=error.reason)


@shared_task
def sweep_servers() -> None:
    """Send one task a cluster whose servers are read by the portal itself."""
    elsewhere = MetricsSource.objects.exclude(kind=MetricsSource.Kind.PODS)
    rows = Cluster.objects.filter(retired_at=None).exclude(metrics_source__in=elsewhere)
    for pk in rows.values_list("pk", flat=True):
        read_servers.apply_async((pk,), expires=15)


@shared_task(soft_time_limit=50, time_limit=60)
def sweep_minutes() -> None:
    """Roll up the minutes that are over, and write down how things stand, cluster by cluster."""
    for cluster in Cluster.objects.filter(retired_at=None):
        rollup.roll_up(cluster.pk, timezone.now())
        history.record(cluster, timezone.now())


@shared_task(soft_time_limit=50, time_limit=60)
def sweep_placement() -> None:
    """Ask the placement process what each class matches and how scattered the free cards are."""
    for cluster in Cluster.objects.filter(retired_at=None):
        recorded.record(cluster, timezone.now())


@shared_task
def sweep_readings() -> None:
    """Make the next hours' partitions, drop what is older than is kept."""
    retention.sweep(timezone.now())


@shared_task(soft_time_limit=280, time_limit=300)
def sweep_usage() -> None:
    """Note which part of a card things are, and sum up the days that are over."""
    for cluster in Cluster.objects.filter(retired_at=None):
        parts.note(cluster)
    usage.sum_up(timezone.now())
