"""The readings of the last hours as they came, one row a server and scrape.

Rows are added and never changed; they go with their partition, an hour at a time.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from django.db import connection

from apps.telemetry.packing import pack, unpack
from domain.metrics import Reading, Timed

KEPT = timedelta(hours=24)
RAW_KEPT = timedelta(hours=3)


def rows_of(query: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Rows in PostgreSQL's binary form: a byte string comes as it is, not spelt in hex."""
    connection.ensure_connection()
    with psycopg.Cursor(connection.connection) as cursor:
        return cursor.execute(query.encode(), params, binary=True).fetchall()


def make_partitions(first: datetime, last: datetime) -> None:
    """Partitions for all hours between; those that are there stay. Repeatable."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT telemetry_make_partitions(%s, %s)", [first, last])


def drop_partitions(now: datetime) -> int:
    """Drop what is older than is kept; returns how many partitions went."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT telemetry_drop_partitions('telemetry_raw', %s)"
            " + telemetry_drop_partitions('telemetry_block', %s)",
            [now - RAW_KEPT, now - KEPT - timedelta(hours=1)],
        )
        return int(cursor.fetchone()[0])


def write(readings: Sequence[tuple[int, float, Reading]]) -> None:
    """Add readings as (track, unix seconds, reading); one that is there already stays as it is."""
    if not readings:
        return
    moments = [datetime.fromtimestamp(at, UTC) for _, at, _ in readings]
    make_partitions(min(moments), max(moments))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO telemetry_raw SELECT * FROM unnest("
            "%s::bigint[], %s::timestamptz[], %s::bytea[]) ON CONFLICT DO NOTHING",
            [
                [track for track, _, _ in readings],
                moments,
                [pack(reading) for _, _, reading in readings],
            ],
        )


def between(tracks: Iterable[int], since: datetime, until: datetime) -> dict[int, list[Timed]]:
    """Readings by track, in time order, both ends included. A track without any is absent."""
    found: dict[int, list[Timed]] = {}
    rows = rows_of(
        "SELECT track_id, at, packed FROM telemetry_raw"
        " WHERE track_id = ANY(%s) AND at >= %s AND at <= %s ORDER BY at",
        [list(tracks), since, until],
    )
    for track, at, packed in rows:
        found.setdefault(track, []).append((at.timestamp(), unpack(packed)))
    return found
