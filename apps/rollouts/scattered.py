"""How scattered a cluster's free devices are, before a migration and after it."""

from typing import Any

from apps.common import asks
from apps.common.models import Ask
from apps.rollouts.models import Migration
from domain.figures import State

KIND = "placement.fragments"
WAIT_MS = 1500
Json = dict[str, Any]


def ask(migration: Migration) -> int:
    """Put the question; its answer is read later, by this key."""
    key: int = asks.put(KIND, {}, cluster_id=migration.cluster_id, lifetime_seconds=600).pk
    return key


def answer_of(key: object, *, wait: bool = False) -> Json:
    """Whole cards that are free, and cards that are only partly used; without an answer, why."""
    found = Ask.objects.filter(pk=key).first() if isinstance(key, int) else None
    if found is not None and wait:
        found = asks.wait(found, milliseconds=WAIT_MS)
    if found is None or found.state != Ask.State.ANSWERED or not found.answer:
        text = found.problem if found is not None else ""
        return {"state": State.NOT_KEPT.value, "detail": text or "no placement worker answered"}
    answer = found.answer
    shown = {name: answer.get(name) for name in ("cards", "free", "stranded")}
    return {"state": State.LIVE.value, **shown}


def now(migration: Migration) -> Json:
    return answer_of(ask(migration), wait=True)
