"""History: uses of clusters that are no longer looked at end, and very old ones are let go."""

from datetime import timedelta

from celery import shared_task
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from apps.claims.models import Use

KEPT_DAYS = 400


@shared_task
def sweep_uses() -> None:
    """Repeatable: what is done already is left alone."""
    left = Use.objects.filter(ended_at=None).exclude(cluster__retired_at=None)
    for use in left.select_related("cluster").iterator(chunk_size=2000):
        retired = use.cluster.retired_at
        Use.objects.filter(pk=use.pk).update(ended_at=Greatest(F("allocated_at"), retired))
    Use.objects.filter(ended_at__lt=timezone.now() - timedelta(days=KEPT_DAYS)).delete()
