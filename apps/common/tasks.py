from datetime import timedelta

from celery import shared_task
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from apps.common import asks
from apps.common.models import Ask


@shared_task(acks_late=True, soft_time_limit=50, time_limit=55)
def answer_ask(ask_id: int) -> None:
    asks.answer(ask_id)


@shared_task
def sweep_asks() -> None:
    """Send what a lost message left waiting, fail what nobody answered, forget what is old."""
    now = timezone.now()
    late = Ask.objects.filter(state=Ask.State.WAITING, expires_at__lt=now)
    late.update(
        state=Ask.State.FAILED,
        answered_at=now,
        problem="Nobody answered in time. Is a worker running? Try again.",
    )
    kept_until = now - timedelta(seconds=Ask.KEPT_SECONDS)
    Ask.objects.filter(expires_at__lt=kept_until).delete()
    idle = Q(lease_until=None) | Q(lease_until__lt=Now())
    waiting = Ask.objects.filter(idle, state=Ask.State.WAITING).exclude(
        kind__startswith=asks.PLACEMENT
    )
    for pk in waiting.values_list("pk", flat=True)[:500]:
        answer_ask.delay(pk)
