"""How scattered a cluster's free devices were before a migration and are after it, as recorded."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from apps.rollouts.models import Migration
from apps.telemetry import measure as telemetry
from apps.telemetry.scopes import Scope
from domain.figures import Figure

METRIC = "fragmentation"
#: It is recorded about once a minute.
WINDOW = timedelta(minutes=10)
Json = dict[str, Any]


def before_and_after(migration: Migration) -> Json:
    """The share of cards that are free only in part: the last before the start, and the last."""
    end = migration.ended_at or timezone.now()
    start = migration.started_at or end
    return {"before": _at(migration, start), "after": _at(migration, end)}


def _at(migration: Migration, moment: datetime) -> Json:
    asked: Json = {"statistic": "last"}
    found = telemetry.measure(migration.cluster, METRIC, Scope(), moment - WINDOW, moment, **asked)
    return _told(found)


def _told(figure: Figure) -> Json:
    return {"value": figure.value, "state": figure.state.value, "detail": figure.detail}
