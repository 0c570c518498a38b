"""The 24 hours of readings the portal keeps itself: append, roll up, forget.

It is a stand-in for a metrics store, sized for the figures a page shows: one row per model server
and ten minutes, whatever the number of figures.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from django.db import transaction

from apps.telemetry.models import Chunk, Source
from apps.telemetry.packing import Timed, by_minute, chunk_start, pack, unpack

KEPT = timedelta(hours=24)
RAW_FOR = timedelta(hours=1)
ROLL_UP_BATCH = 500


@transaction.atomic
def append(source: Source, at: float, timed: Timed) -> None:
    """Add one reading to its chunk; repeating it changes nothing."""
    start = datetime.fromtimestamp(chunk_start(at), UTC)
    rows = Chunk.objects.select_for_update().filter(source=source, start=start)
    chunk = rows.first()
    if chunk is None:
        Chunk.objects.get_or_create(source=source, start=start, defaults={"packed": pack([timed])})
        return
    held = unpack(chunk.packed)
    if held and held[-1][0] >= at:
        return
    rows.update(packed=pack([*held, timed]))


def roll_up(now: datetime) -> int:
    """Thin chunks older than an hour to a reading a minute; returns how many were thinned."""
    old = Chunk.objects.filter(rolled_up=False, start__lt=now - RAW_FOR - timedelta(minutes=10))
    done = 0
    for chunk in old.order_by("start")[:ROLL_UP_BATCH]:
        thinned = pack(by_minute(unpack(chunk.packed)))
        done += Chunk.objects.filter(pk=chunk.pk, rolled_up=False).update(
            packed=thinned, rolled_up=True
        )
    return done


def forget(now: datetime) -> int:
    """Delete what is older than a day; returns how many chunks went."""
    gone, _ = Chunk.objects.filter(start__lt=now - KEPT).delete()
    Source.objects.filter(read_at__lt=now - KEPT - timedelta(hours=1)).delete()
    return gone


def between(sources: Iterable[Source], since: datetime, until: datetime) -> dict[int, list[Timed]]:
    """Readings by source id, in time order; one query. A source without any is absent."""
    first = datetime.fromtimestamp(chunk_start(since.timestamp()), UTC)
    rows = Chunk.objects.filter(
        source__in=[source.pk for source in sources], start__gte=first, start__lte=until
    )
    found: dict[int, list[Timed]] = {}
    for source_id, packed in rows.order_by("start").values_list("source_id", "packed"):
        inside = [
            (at, reading)
            for at, reading in unpack(packed)
            if since.timestamp() <= at <= until.timestamp()
        ]
        if inside:
            found.setdefault(source_id, []).extend(inside)
    return found
