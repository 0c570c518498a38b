import structlog
from celery import shared_task
from django.utils import timezone

from apps.inventory.models import Cluster
from apps.telemetry import collect, store
from kube.errors import ClusterError

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
    for pk in Cluster.objects.filter(retired_at=None).values_list("pk", flat=True):
        read_servers.apply_async((pk,), expires=15)


@shared_task
def sweep_readings() -> None:
    """Thin what is older than an hour and forget what is older than a day."""
    now = timezone.now()
    store.roll_up(now)
    store.forget(now)
