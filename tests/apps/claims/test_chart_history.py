from datetime import UTC, datetime, timedelta

from apps.claims.charts import from_then

FIRST = datetime(2026, 5, 4, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def test_what_was_before_history_began_is_not_drawn_as_zero() -> None:
    series = {"h100": [(FIRST - MINUTE, 0), (FIRST, 2), (FIRST + MINUTE, 3)]}
    assert from_then(series, FIRST) == {"h100": [(FIRST, 2), (FIRST + MINUTE, 3)]}


def test_without_a_beginning_everything_stays() -> None:
    series = {"h100": [(FIRST, 0)]}
    assert from_then(series, None) == series
