from celery import shared_task
from django.utils import timezone

from apps.rollouts import evidence, reconcile, selectors, webhooks
from apps.rollouts.models import Delivery, Migration


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


@shared_task(acks_late=True, soft_time_limit=100, time_limit=120)
def build_evidence(migration_id: int) -> None:
    migration = Migration.objects.filter(pk=migration_id, ended_at__isnull=False).first()
    if migration is not None:
        evidence.build(migration)


@shared_task
def sweep_evidence() -> None:
    """Migrations that ended while a worker died before it had signed what they leave behind."""
    for pk in evidence.unsigned(timezone.now()):
        build_evidence.delay(pk)
