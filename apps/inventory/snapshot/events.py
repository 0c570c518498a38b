"""Events into rows. They are kept for a day."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from apps.common import bulk
from apps.inventory.models import Event
from apps.inventory.snapshot.batch import Batch

EVENT_SECONDS = 24 * 3600
_COLUMNS = (
    "cluster_id",
    "uid",
    "namespace",
    "about_kind",
    "about_uid",
    "about_name",
    "type",
    "reason",
    "message",
    "source",
    "count",
    "first_at",
    "last_at",
)


def write(cluster_id: int, batch: Batch) -> bool:
    """Write the batch's events, the older ones than a day left out; False when there were none."""
    now = timezone.now()
    found = []
    for event in batch.events.values():
        last = moment(event["last_at"]) or now
        if last > now - timedelta(seconds=EVENT_SECONDS):
            plain = [_clean(event[name]) for name in _COLUMNS[1:-2]]
            found.append((cluster_id, *plain, moment(event["first_at"]), last))
    if found:
        bulk.upsert(Event, _COLUMNS, found, key=("cluster_id", "uid"))
    return bool(found)


def moment(text: Any) -> datetime | None:
    """A time of the API as a datetime; None for what is none."""
    if not isinstance(text, str) or not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else None


def _clean(value: Any) -> Any:
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value
