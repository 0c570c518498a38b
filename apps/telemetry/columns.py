"""Hours of minutes as columns of numbers: what charts and long windows are made of.

A block is an hour of one track and one family, a row a minute, NaN where nothing is known. Buckets
of other bounds stand in columns of their own; a sum over servers is then NaN wherever not all have
the bound, which leaves exactly the bounds that all share.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import numpy as np
import orjson
from django.db import connection

from apps.telemetry import store

MINUTE = 60
HOUR = 3600
HEARD, KNOWN, SECONDS = "heard", "known", "seconds"

Array = np.ndarray
RowKey = tuple[int, str, int]  # track, family, minute since the epoch


@dataclass(frozen=True, slots=True)
class Table:
    """`values` has a row a minute and a column a name."""

    names: tuple[str, ...]
    values: Array

    @property
    def is_buckets(self) -> bool:
        """Whether the columns are a histogram's bounds, which are known together or not at all.

        Gauges and counters are known each for itself: a server's first minute has no increments.
        """
        return "inf" in self.names

    def column(self, name: str) -> Array:
        """A column; NaN all the way where there is none of that name."""
        if name in self.names:
            return self.values[:, self.names.index(name)]
        return np.full(len(self.values), np.nan)


@lru_cache(maxsize=1000)
def _names(columns: str) -> tuple[str, ...]:
    return tuple(orjson.loads(columns))


def _unpack(columns: str, packed: bytes) -> Table:
    names = _names(columns)
    values = np.frombuffer(zlib.decompress(packed), dtype="<f4")
    return Table(names, values.reshape(len(names), MINUTE).T)


def _pack(table: Table) -> tuple[str, bytes]:
    by_column = np.ascontiguousarray(table.values.T, dtype="<f4")
    return orjson.dumps(table.names).decode(), zlib.compress(by_column.tobytes(), 1)


def put(rows: Mapping[RowKey, Mapping[str, float]]) -> None:
    """Write minutes into their blocks; the same minute again replaces itself."""
    hours: dict[tuple[int, str, int], dict[int, Mapping[str, float]]] = {}
    for (track, family, minute), values in rows.items():
        hours.setdefault((track, family, minute // MINUTE), {})[minute % MINUTE] = values
    if not hours:
        return
    held = _held(hours)
    written = [(*key, *_pack(_merged(held.get(key), hours[key]))) for key in sorted(hours)]
    starts = [datetime.fromtimestamp(hour * HOUR, UTC) for _, _, hour, _, _ in written]
    store.make_partitions(min(starts), max(starts))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO telemetry_block SELECT * FROM unnest("
            "%s::bigint[], %s::text[], %s::timestamptz[], %s::text[], %s::bytea[])"
            " ON CONFLICT (track_id, family, start)"
            " DO UPDATE SET columns = excluded.columns, packed = excluded.packed",
            [
                [row[0] for row in written],
                [row[1] for row in written],
                starts,
                [row[3] for row in written],
                [row[4] for row in written],
            ],
        )


def _held(hours: Iterable[tuple[int, str, int]]) -> dict[tuple[int, str, int], Table]:
    keys = list(hours)
    rows = store.rows_of(
        "SELECT track_id, family, start, columns, packed FROM telemetry_block"
        " WHERE track_id = ANY(%s) AND start >= %s AND start <= %s",
        [
            list({track for track, _, _ in keys}),
            datetime.fromtimestamp(min(hour for _, _, hour in keys) * HOUR, UTC),
            datetime.fromtimestamp(max(hour for _, _, hour in keys) * HOUR, UTC),
        ],
    )
    return {
        (track, family, int(start.timestamp()) // HOUR): _unpack(columns, packed)
        for track, family, start, columns, packed in rows
    }


def _merged(held: Table | None, minutes: Mapping[int, Mapping[str, float]]) -> Table:
    names = held.names if held else ()
    known = set(names)
    new = [name for values in minutes.values() for name in values if name not in known]
    names = (*names, *dict.fromkeys(new))
    values = np.full((MINUTE, len(names)), np.nan, dtype="<f4")
    if held:
        values[:, : len(held.names)] = held.values
    places = {name: index for index, name in enumerate(names)}
    for minute, row in minutes.items():
        values[minute, :] = np.nan
        for name, value in row.items():
            values[minute, places[name]] = value
    return Table(names, values)


def load(tracks: Iterable[int], family: str, first: int, count: int) -> dict[int, Table]:
    """`count` minutes from minute `first` on, by track; tracks without any block are absent."""
    start, end = first // MINUTE, (first + count - 1) // MINUTE
    rows = store.rows_of(
        "SELECT track_id, start, columns, packed FROM telemetry_block"
        " WHERE track_id = ANY(%s) AND family = %s AND start >= %s AND start <= %s",
        [
            list(tracks),
            family,
            datetime.fromtimestamp(start * HOUR, UTC),
            datetime.fromtimestamp(end * HOUR, UTC),
        ],
    )
    parts: dict[int, list[tuple[int, Table]]] = {}
    for track, at, columns, packed in rows:
        hour = int(at.timestamp()) // HOUR
        parts.setdefault(track, []).append((hour * MINUTE, _unpack(columns, packed)))
    return {track: _aligned(found, first, count) for track, found in parts.items()}


def _aligned(parts: Sequence[tuple[int, Table]], first: int, count: int) -> Table:
    names = parts[0][1].names
    if any(table.names != names for _, table in parts):
        names = tuple(dict.fromkeys(name for _, table in parts for name in table.names))
    values = np.full((count, len(names)), np.nan, dtype="<f4")
    places = {name: index for index, name in enumerate(names)}
    for begin, table in parts:
        low, high = max(begin, first), min(begin + MINUTE, first + count)
        if low >= high:
            continue
        inside = table.values[low - begin : high - begin]
        if table.names == names:
            values[low - first : high - first] = inside
        else:
            values[low - first : high - first, [places[name] for name in table.names]] = inside
    return Table(names, values)


def summed(tables: Sequence[Table]) -> Table:
    """Tracks side by side, minute by minute; one that is not known in a minute is left out.

    Where one lacks a bound that another has, the sum at that bound is NaN.
    """
    if len(tables) == 1:
        return tables[0]
    names = tuple(dict.fromkeys(name for table in tables for name in table.names))
    total = np.zeros((len(tables[0].values), len(names)))
    heard = np.zeros(len(total), dtype=bool)
    some = np.zeros(total.shape, dtype=bool)
    is_buckets = any(table.is_buckets for table in tables)
    for table in tables:
        values = np.full(total.shape, np.nan)
        values[:, [names.index(name) for name in table.names]] = table.values
        known = ~np.isnan(values).all(axis=1)
        if is_buckets:
            total[known] += values[known]
        else:
            total += np.nan_to_num(values)
            some |= ~np.isnan(values)
        heard |= known
    total[~heard] = np.nan
    return Table(names, total if is_buckets else np.where(some, total, np.nan))


def steps(table: Table, step: int) -> Table:
    """Rows of `step` minutes each: sums, of the minutes that are known."""
    values = table.values
    rows = len(values) // step
    cut = values[: rows * step].reshape(rows, step, len(table.names)).astype("f8")
    if not table.is_buckets:
        there = ~np.isnan(cut)
        added = np.where(there, cut, 0.0).sum(axis=1)
        return Table(table.names, np.where(there.any(axis=1), added, np.nan))
    known = ~np.isnan(cut).all(axis=2)
    # Within a step a bound must be known in every known minute, as across servers.
    total = np.where(known[:, :, None], cut, 0.0).sum(axis=1)
    total[~known.any(axis=1)] = np.nan
    return Table(table.names, total)


def known_minutes(table: Table, step: int, name: str) -> Array:
    """In how many minutes of each step the column is known."""
    rows = len(table.values) // step
    known = ~np.isnan(table.column(name)[: rows * step])
    return np.asarray(known.reshape(rows, step).sum(axis=1), dtype="f8")


def quantiles(table: Table, q: float) -> Array:
    """The q-quantile of each row of buckets; NaN without observations. As domain.metrics.quantile.

    The columns are bounds; `sum` and the like are left aside.
    """
    order = sorted((float(name), index) for index, name in enumerate(table.names) if _bound(name))
    result = np.full(len(table.values), np.nan)
    if not order:
        return result
    bounds = np.array([bound for bound, _ in order])
    counts = table.values[:, [index for _, index in order]].astype("f8")
    unknown = np.isnan(counts)
    # The usual case first: rows whose bounds are all known. Those without any stay NaN.
    whole = ~unknown.any(axis=1)
    if len(bounds) >= 2 and np.isinf(bounds[-1]):
        result[whole] = _quantiles(bounds, counts[whole], q)
    mixed = np.flatnonzero(~whole & ~unknown.all(axis=1))
    if not len(mixed):
        return result
    unknown = unknown[mixed]
    patterns, which = np.unique(unknown, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = mixed[which.reshape(-1) == number]
        kept = ~pattern
        if kept.sum() >= 2 and np.isinf(bounds[kept][-1]):
            result[rows] = _quantiles(bounds[kept], counts[np.ix_(rows, kept)], q)
    return result


def _bound(name: str) -> bool:
    return name == "inf" or name[:1].isdigit() or name[:1] == "-"


def _quantiles(bounds: Array, counts: Array, q: float) -> Array:
    counts = np.maximum.accumulate(counts, axis=1)
    totals = counts[:, -1]
    ranks = q * totals
    at = (counts < ranks[:, None]).sum(axis=1)
    last = len(bounds) - 1
    rows = np.arange(len(counts))
    before = np.maximum(at - 1, 0)
    lower = np.where(at > 0, bounds[before], np.where(bounds[0] > 0, 0.0, bounds[0]))
    below = np.where(at > 0, counts[rows, before], 0.0)
    inside = counts[rows, np.minimum(at, last)] - below
    share = np.divide(ranks - below, inside, out=np.ones(len(rows)), where=inside > 0)
    upper = bounds[np.minimum(at, last - 1)]
    found = np.where(at >= last, bounds[last - 1], lower + (upper - lower) * share)
    return np.asarray(np.where(totals > 0, found, np.nan))


def minute_of(moment: datetime) -> int:
    return int(moment.timestamp()) // MINUTE


def oldest(now: datetime) -> datetime:
    """From when on minutes are kept."""
    return now - store.KEPT - timedelta(minutes=1)
