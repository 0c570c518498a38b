"""Asking what rows cannot answer.

`put` writes the question and sends its task on commit; the view waits for a few hundred
milliseconds at most and then shows a part that polls. Answerers register by kind.
"""

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from apps.common import leases
from apps.common.models import Ask
from domain.errors import DomainError

Answerer = Callable[[Ask], dict[str, Any]]
ANSWERERS: dict[str, Answerer] = {}
PLACEMENT = "placement."
CHANNEL = "claimyard_asks"

log = structlog.get_logger(__name__)


class Unanswerable(DomainError):
    """The answer cannot be had; the message tells the person why and what to do."""

    code = "unanswerable"


def answers(kind: str) -> Callable[[Answerer], Answerer]:
    """Register the function that answers asks of this kind. It may run twice and must not write."""

    def register(function: Answerer) -> Answerer:
        ANSWERERS[kind] = function
        return function

    return register


def put(
    kind: str,
    question: dict[str, Any],
    *,
    asked_by: Any = None,
    cluster_id: int | None = None,
    tenant_id: int | None = None,
    lifetime_seconds: int = Ask.LIFETIME_SECONDS,
) -> Ask:
    """Write the question; its task (or the placement worker's wake-up) leaves on commit."""
    from apps.common.tasks import answer_ask

    now = timezone.now()
    ask = Ask.objects.create(
        kind=kind,
        question=question,
        asked_by=asked_by,
        cluster_id=cluster_id,
        tenant_id=tenant_id,
        created_at=now,
        expires_at=now + timedelta(seconds=lifetime_seconds),
    )
    if kind.startswith(PLACEMENT):
        transaction.on_commit(_wake_placement)
    else:
        transaction.on_commit(partial(answer_ask.delay, ask.pk))
    return ask


def _wake_placement() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, '')", [CHANNEL])


def wait(ask: Ask, *, milliseconds: int | None = None) -> Ask:
    """Give the answer a moment to arrive; returns the ask as it is then, settled or not."""
    left = (settings.ASK_WAIT_MS if milliseconds is None else milliseconds) / 1000
    pause = 0.01
    while not ask.is_settled and left > 0:
        time.sleep(min(pause, left))
        left -= pause
        pause = min(pause * 1.5, 0.1)
        ask.refresh_from_db()
    return ask


def take_back(ask: Ask) -> Ask:
    """Who asked wants no answer any more; whoever works on it stops as soon as it looks."""
    rows = Ask.objects.filter(pk=ask.pk, state=Ask.State.WAITING)
    rows.update(
        state=Ask.State.FAILED, problem="You took the question back.", answered_at=timezone.now()
    )
    ask.refresh_from_db()
    return ask


def answer(ask_id: int, *, seconds: int = 60) -> None:
    """Answer one ask under its lease. Safe to run twice: a settled ask is left alone."""
    rows = Ask.objects.filter(pk=ask_id, state=Ask.State.WAITING)
    token = leases.claim(rows, seconds=seconds)
    if token is None:
        return
    ask = rows.filter(lease_token=token).first()
    if ask is None:
        return
    changes: dict[str, Any] = {}
    try:
        changes = _outcome(ask) | {"answered_at": timezone.now()}
    finally:
        # An interrupted worker only gives the lease back: another one answers.
        leases.finish(rows, token, **changes)


def _outcome(ask: Ask) -> dict[str, Any]:
    answerer = ANSWERERS.get(ask.kind)
    if answerer is None:
        return {"state": Ask.State.FAILED, "problem": f"Nobody answers {ask.kind} here."}
    try:
        return {"state": Ask.State.ANSWERED, "answer": answerer(ask), "problem": ""}
    except DomainError as refusal:
        return {"state": Ask.State.FAILED, "problem": str(refusal)}
    except Exception:
        # A person waits for this answer: they get a sentence, the log gets the traceback.
        log.exception("ask failed", ask=str(ask.key), kind=ask.kind)
        return {"state": Ask.State.FAILED, "problem": "It failed inside the portal; see its log."}
