from datetime import timedelta

from celery import shared_task
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from apps.catalog import reconcile, selectors
from apps.catalog.models import Approval, ClassInCluster, VersionState
from kube.errors import Transient

SETTLED_CHECK_SECONDS = 60


@shared_task(
    acks_late=True,
    autoretry_for=(Transient,),
    retry_backoff=True,
    retry_backoff_max=60,
    max_retries=5,
    soft_time_limit=45,
    time_limit=55,  # under the lease, so that a killed worker's lease outlives its work
)
def reconcile_class(placement_id: int) -> None:
    reconcile.reconcile_class(placement_id)


@shared_task
def sweep_classes() -> None:
    """Whatever a lost message left, and a look for drift at what is settled."""
    idle = Q(lease_until=None) | Q(lease_until__lt=Now())
    due = Q(checked_at=None) | Q(
        checked_at__lt=timezone.now() - timedelta(seconds=SETTLED_CHECK_SECONDS)
    )
    waiting = selectors.unsettled_classes().filter(idle).values_list("pk", flat=True)
    settled = ClassInCluster.objects.filter(idle & due, cluster__retired_at=None)
    for pk in {*waiting, *settled.values_list("pk", flat=True)[:500]}:
        reconcile_class.delay(pk)


@shared_task
def expire_approvals() -> None:
    """End reviews that nobody decided; their versions are drafts again."""
    late = Approval.objects.filter(state=Approval.State.PENDING, expires_at__lt=Now())
    for approval in late.select_related("class_version", "pattern_version")[:500]:
        ended = Approval.objects.filter(pk=approval.pk, state=Approval.State.PENDING).update(
            state=Approval.State.EXPIRED, decided_at=timezone.now()
        )
        if ended:
            type(approval.version).objects.filter(
                pk=approval.version.pk, state=VersionState.IN_REVIEW
            ).update(state=VersionState.DRAFT)
