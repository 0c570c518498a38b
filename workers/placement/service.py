"""Snapshots and answers behind the asks."""

import time
from typing import Any

from apps.common import asks
from apps.common.models import Ask
from domain.errors import InvalidValue
from workers.placement import answers, comparing, linting, rehearsing, scattered, shadowing, why
from workers.placement.kinds import ANSWERS
from workers.placement.warm import Snapshots, answered_from

# What registers kinds of answers.
ROOMS = (answers, comparing, linting, rehearsing, scattered, shadowing, why)


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
        answer = ANSWERS[ask.kind](snapshot, ask.question)
        took = round((time.perf_counter() - started) * 1000, 1)
        return answer | answered_from(snapshot) | {"took_ms": took}

    def keep_warm(self) -> None:
        self.snapshots.refresh_held()
