from celery import shared_task

from apps.catalog.tasks import due
from apps.quotas import reconcile
from apps.quotas.models import TenantNamespace
from kube.errors import Transient


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
