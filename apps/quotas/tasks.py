from typing import Any

from celery import shared_task

from apps.catalog.tasks import due
from apps.common import asks
from apps.common.models import Ask
from apps.inventory import connections
from apps.quotas import leaving, occupants, reconcile
from apps.quotas.models import TenantNamespace
from kube.errors import ClusterError, Transient


@shared_task(
    acks_late=True,
    autoretry_for=(Transient,),
    retry_backoff=True,
    retry_backoff_max=60,
    max_retries=3,
    soft_time_limit=45,
    time_limit=55,
)
def reconcile_namespace(row_id: int) -> None:
    reconcile.reconcile_namespace(row_id)


@shared_task
def sweep_namespaces() -> None:
    """Whatever a lost message left, and a look for drift at what is settled."""
    rows = TenantNamespace.objects.filter(cluster__retired_at=None)
    for pk in due(rows):
        reconcile_namespace.delay(pk)


@asks.answers("quotas.leaving")
def what_goes(ask: Ask) -> dict[str, Any]:
    """What taking a cluster back would remove, and what would keep the namespace."""
    row = TenantNamespace.objects.select_related("tenant", "cluster").get(pk=ask.question["space"])
    running = occupants.of(row.tenant, row.cluster)
    about = {"tenant": row.tenant.slug, "cluster": row.cluster.slug, "namespace": row.namespace}
    if row.cluster.retired_at is not None:
        return about | {"running": running, "is_retired": True}
    try:
        with connections.opened(row.cluster) as connection:
            found = leaving.look(connection, row)
    except ClusterError as error:
        raise asks.Unanswerable(error.message) from None
    return about | {"running": running, "is_retired": False} | found.as_answer()
