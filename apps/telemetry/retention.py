"""Partitions of the coming hours are made ahead, those of the past are dropped."""

from datetime import datetime, timedelta

from apps.telemetry import store
from apps.telemetry.models import Track

AHEAD = timedelta(hours=2)


def sweep(now: datetime) -> int:
    """Repeatable; returns how many partitions were dropped."""
    store.make_partitions(now - timedelta(hours=1), now + AHEAD)
    dropped = store.drop_partitions(now)
    Track.objects.filter(tried_at__lt=now - store.KEPT - timedelta(hours=1)).delete()
    return dropped
