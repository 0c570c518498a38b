from celery import shared_task
from django.utils import timezone

from apps.rollouts import reconcile, selectors, webhooks
from apps.rollouts.models import Delivery


@shared_task(acks_late=True, soft_time_limit=45, time_limit=55)
def reconcile_migration(migration_id: int) -> None:
    reconcile.reconcile_migration(migration_id)


@shared_task
def sweep_migrations() -> None:
    """Every migration that is under way: its gates are judged by the clock, not by messages."""
    for pk in selectors.due():
        reconcile_migration.apply_async((pk,), expires=10)


@shared_task(acks_late=True, soft_time_limit=30, time_limit=40)
def deliver(delivery_id: int) -> None:
    webhooks.deliver(delivery_id, timezone.now())


@shared_task
def sweep_deliveries() -> None:
    now = timezone.now()
    rows = Delivery.objects.filter(state=Delivery.State.WAITING, next_at__lte=now)
    for pk in rows.values_list("pk", flat=True)[:500]:
        deliver.delay(pk)
