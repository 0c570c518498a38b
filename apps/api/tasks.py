from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from apps.api.models import Replay


@shared_task
def sweep_replays() -> None:
    """Forget answers to repeated POSTs after a day."""
    kept_from = timezone.now() - timedelta(seconds=Replay.KEPT_SECONDS)
    Replay.objects.filter(created_at__lt=kept_from).delete()
