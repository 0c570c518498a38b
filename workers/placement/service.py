"""Snapshots and answers behind the asks."""

import time
from functools import partial
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from apps.common import asks
from apps.common.models import Ask
from domain.errors import InvalidValue
from workers.placement import (
    answers,
    comparing,
    linting,
    rehearsing,
    scattered,
    shadowing,
    turns,
    why,
)
from workers.placement.kinds import ANSWERS
from workers.placement.warm import Snapshots, answered_from

MOST = 100
LEASE_SECONDS = 60
# What registers kinds of answers.
ROOMS = (answers, comparing, linting, rehearsing, scattered, shadowing, why)


LONG = frozenset(
    f"placement.{kind}" for kind in ("shadow", "fragments", "compare-class", "compare-pattern")
)


class Service:
    """Answers every kind of ANSWERS from warm snapshots; one per process."""

    def __init__(self) -> None:
        self.snapshots = Snapshots()

    def register(self) -> None:
        for kind in ANSWERS:
            asks.answers(kind)(self.answer)

    def answer(self, ask: Ask) -> dict[str, Any]:
        """Raises DomainError for a question that cannot be read or a cluster not mirrored yet."""
        if ask.cluster_id is None:
            raise InvalidValue("Name the cluster.", field="cluster")
        started = time.perf_counter()
        snapshot = self.snapshots.of(ask.cluster_id)
        with turns.under_way(turns.Turn(partial(_is_wanted, ask.pk), self.serve_short)):
            answer = ANSWERS[ask.kind](snapshot, ask.question)
        took = round((time.perf_counter() - started) * 1000, 1)
        return answer | answered_from(snapshot) | {"took_ms": took}

    def serve(self) -> None:
        """All that waits, the short ones first."""
        self.serve_short()
        for pk in _waiting().filter(kind__in=LONG).values_list("pk", flat=True)[:MOST]:
            asks.answer(pk, seconds=LEASE_SECONDS)
            self.serve_short()

    def serve_short(self) -> None:
        for pk in _waiting().exclude(kind__in=LONG).values_list("pk", flat=True)[:MOST]:
            asks.answer(pk, seconds=LEASE_SECONDS)

    def keep_warm(self) -> None:
        self.snapshots.refresh_held()


def _waiting() -> QuerySet[Ask]:
    rows = Ask.objects.filter(state=Ask.State.WAITING, kind__startswith=asks.PLACEMENT)
    return rows.filter(Q(lease_until=None) | Q(lease_until__lt=Now())).order_by("created_at")


def _is_wanted(pk: int) -> bool:
    return Ask.objects.filter(pk=pk, state=Ask.State.WAITING).exists()
