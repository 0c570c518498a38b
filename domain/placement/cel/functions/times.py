"""Durations and timestamps."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from domain.placement.cel.functions.binding import overload
from domain.placement.cel.values import MAX_INT, MIN_INT, CelError, Duration, Timestamp

SECOND = 10**9
UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": SECOND}
UNITS |= {"m": 60 * SECOND, "h": 3600 * SECOND}
FIRST, LAST = -62135596800, 253402300799  # seconds of 0001-01-01 and of 9999-12-31
PART = re.compile(r"([0-9]*)(\.[0-9]*)?(ns|us|µs|μs|ms|s|m|h)")
INSTANT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))",
    re.ASCII,
)
OFFSET = re.compile(r"([+-]?)([0-9]{1,2}):([0-9]{2})", re.ASCII)


def checked_duration(nano: int) -> Duration:
    if not MIN_INT <= nano <= MAX_INT:
        raise CelError("integer overflow")
    return Duration(nano)


def checked_timestamp(nano: int) -> Timestamp:
    if not FIRST * SECOND <= nano < (LAST + 1) * SECOND:
        raise CelError("timestamp overflow")
    return Timestamp(nano)


def parse_duration(text: str) -> Duration | None:
    """Go's notation: `1h30m`, `-1.5s`, `0`."""
    sign, rest = (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))
    if rest == "0":
        return Duration(0)
    if not rest:
        return None
    total, at = 0, 0
    while at < len(rest):
        match = PART.match(rest, at)
        if not match or not (match[1] or (match[2] or "")[1:]):
            return None
        unit, fraction = UNITS[match[3]], (match[2] or ".")[1:]
        total += int(match[1] or 0) * unit
        total += int(fraction or 0) * unit // 10 ** len(fraction)
        at = match.end()
    nano = sign * total
    return Duration(nano) if MIN_INT <= nano <= MAX_INT else None


def parse_timestamp(text: str) -> Timestamp | None:
    match = INSTANT.fullmatch(text)
    if not match:
        return None
    year, month, day, hour, minute, second = (int(match[number]) for number in range(1, 7))
    try:
        base = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    nano = int((base - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)) * SECOND
    nano += int((match[7] or "0")[:9].ljust(9, "0"))
    if match[8]:
        hours, minutes = int(match[9]), int(match[10])
        if hours > 24 or minutes > 60:
            return None
        shift = (hours * 3600 + minutes * 60) * SECOND
        nano += shift if match[8] == "-" else -shift
    return Timestamp(nano)


def seconds_text(value: Duration) -> str:
    seconds = value.nano / SECOND
    text = repr(seconds)
    if "e" in text:
        text = f"{seconds:.9f}".rstrip("0")
    return text.removesuffix(".0").removesuffix(".")


def _moment(value: Timestamp, zone: tzinfo = UTC) -> datetime:
    seconds, nano = divmod(value.nano, SECOND)
    start = datetime(1970, 1, 1, tzinfo=UTC)
    try:
        return (start + timedelta(seconds=seconds, microseconds=nano // 1000)).astimezone(zone)
    except OverflowError:
        raise CelError("timestamp overflow") from None


def timestamp_text(value: Timestamp) -> str:
    moment, nano = _moment(value), value.nano % SECOND
    fraction = f".{nano:09d}".rstrip("0") if nano else ""
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}{fraction}Z"


def _zone(name: str) -> tzinfo:
    if ":" in name:
        match = OFFSET.fullmatch(name)
        if not match:
            raise CelError(f"invalid time zone: {name}")
        minutes = int(match[2]) * 60 + int(match[3])
        return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))
    try:
        return ZoneInfo(name) if name not in ("", "UTC") else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise CelError(f"unknown time zone {name}") from None


def _milliseconds(moment: datetime) -> int:
    return moment.microsecond // 1000


def _day_of_year(moment: datetime) -> int:
    return moment.timetuple().tm_yday - 1


FIELDS: dict[str, Callable[[datetime], int]] = {
    "year": lambda moment: moment.year,
    "month": lambda moment: moment.month - 1,
    "day_of_month": lambda moment: moment.day - 1,
    "day_of_month_1_based": lambda moment: moment.day,
    "day_of_week": lambda moment: moment.isoweekday() % 7,
    "day_of_year": _day_of_year,
    "hours": lambda moment: moment.hour,
    "minutes": lambda moment: moment.minute,
    "seconds": lambda moment: moment.second,
    "milliseconds": _milliseconds,
}


def _register(name: str, field: Callable[[datetime], int]) -> None:
    zoned = f"timestamp_to_{name}_tz" if name == "seconds" else f"timestamp_to_{name}_with_tz"

    @overload(f"timestamp_to_{name}")
    def in_utc(value: Timestamp) -> int:
        return field(_moment(value))

    @overload(zoned)
    def in_zone(value: Timestamp, zone: str) -> int:
        return field(_moment(value, _zone(zone)))


for _name, _field in FIELDS.items():
    _register(_name, _field)


def _whole(nano: int, unit: int) -> int:
    return nano // unit if nano >= 0 else -(-nano // unit)


@overload("duration_to_hours")
def duration_hours(value: Duration) -> int:
    return _whole(value.nano, 3600 * SECOND)


@overload("duration_to_minutes")
def duration_minutes(value: Duration) -> int:
    return _whole(value.nano, 60 * SECOND)


@overload("duration_to_seconds")
def duration_seconds(value: Duration) -> int:
    return _whole(value.nano, SECOND)


@overload("duration_to_milliseconds")
def duration_milliseconds(value: Duration) -> int:
    return _whole(value.nano, 10**6)
