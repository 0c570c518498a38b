from datetime import timedelta
from typing import Any

from celery import shared_task
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from apps.audit import services as audit
from apps.catalog import reconcile
from apps.catalog.models import Approval, ClassInCluster, VersionState
from kube.errors import Transient

UNSETTLED_CHECK_SECONDS = 10
SETTLED_CHECK_SECONDS = 60


@shared_task(
    acks_late=True,
    autoretry_for=(Transient,),
    retry_backoff=True,
    retry_backoff_max=60,
    max_retries=3,
    soft_time_limit=45,
    time_limit=55,  # under the lease, so that a killed worker's lease outlives its work
)
def reconcile_class(placement_id: int) -> None:
    reconcile.reconcile_class(placement_id)


def due(rows: QuerySet[Any]) -> list[int]:
    """Keys of Applied rows that need a run: unsettled ones soon, settled ones for their drift."""
    now = timezone.now()
    idle = Q(lease_until=None) | Q(lease_until__lt=Now())
    new = Q(checked_at=None)
    unsettled = ~Q(observed_generation=F("generation")) & Q(
        checked_at__lt=now - timedelta(seconds=UNSETTLED_CHECK_SECONDS)
    )
    old = Q(checked_at__lt=now - timedelta(seconds=SETTLED_CHECK_SECONDS))
    found = rows.filter(idle & (new | unsettled | old)).order_by("checked_at")
    return list(found.values_list("pk", flat=True)[:500])


@shared_task
def sweep_classes() -> None:
    """Whatever a lost message left, and a look for drift at what is settled."""
    for pk in due(ClassInCluster.objects.filter(cluster__retired_at=None)):
        reconcile_class.delay(pk)


@shared_task
def expire_approvals() -> None:
    """End reviews that nobody decided; their versions are drafts again."""
    late = Approval.objects.filter(state=Approval.State.PENDING, expires_at__lt=Now())
    for approval in late.select_related("class_version", "pattern_version")[:500]:
        _expire(approval)


@transaction.atomic
def _expire(approval: Approval) -> None:
    ended = Approval.objects.filter(pk=approval.pk, state=Approval.State.PENDING).update(
        state=Approval.State.EXPIRED, decided_at=timezone.now()
    )
    if not ended:
        return
    version = approval.version
    held = type(version).objects.filter(pk=version.pk, state=VersionState.IN_REVIEW)
    held.update(state=VersionState.DRAFT)
    audit.record(actor=None, verb="expired", subject=version, message="Nobody decided in time.")
