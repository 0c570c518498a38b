"""A long answer lets short ones pass, and ends when it is taken back."""

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.common import asks
from apps.common.models import Ask
from tests.workers.placement.test_placement_worker import Mirror, mirror, service
from workers.placement import turns
from workers.placement.kinds import ANSWERS, Deadline, Json
from workers.placement.service import Service

__all__ = ["mirror", "service"]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def at_every_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "EVERY_SECONDS", 0.0)


def waiting(mirror: Mirror, kind: str) -> Ask:
    return Ask.objects.create(
        kind=f"placement.{kind}",
        cluster_id=mirror.cluster.pk,
        question={},
        expires_at=timezone.now() + timedelta(minutes=1),
    )


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A shadow that looks at its deadline once for each thing that the test does meanwhile."""
    meanwhile: list[Any] = []

    def answer(_: object, __: Json) -> Json:
        deadline = Deadline(60)
        steps: Iterator[Any] = iter(meanwhile)
        done = []
        for step in steps:
            step()
            done.append(deadline.is_over())
        return {"looked": done}

    monkeypatch.setitem(ANSWERS, "placement.shadow", answer)
    return meanwhile


def test_a_count_that_is_asked_meanwhile_is_answered_before_the_shadow(
    mirror: Mirror, service: Service, slow: list[Any]
) -> None:
    counts: list[Ask] = []
    slow.append(lambda: counts.append(waiting(mirror, "match")))
    slow.append(lambda: counts[0].refresh_from_db())
    shadow = waiting(mirror, "shadow")
    asks.answer(shadow.pk)
    shadow.refresh_from_db()
    assert counts[0].state == Ask.State.ANSWERED
    assert shadow.answer is not None
    assert shadow.answer["looked"] == [False, False]
    assert counts[0].answered_at is not None
    assert shadow.answered_at is not None
    assert counts[0].answered_at < shadow.answered_at


def test_long_ones_wait_for_each_other(mirror: Mirror, service: Service, slow: list[Any]) -> None:
    other: list[Ask] = []
    slow.append(lambda: other.append(waiting(mirror, "fragments")))
    asks.answer(waiting(mirror, "shadow").pk)
    other[0].refresh_from_db()
    assert other[0].state == Ask.State.WAITING
    service.serve()
    other[0].refresh_from_db()
    assert other[0].state == Ask.State.ANSWERED


def test_a_shadow_that_is_taken_back_stops(
    mirror: Mirror, service: Service, slow: list[Any]
) -> None:
    shadow = waiting(mirror, "shadow")
    reached: list[int] = []
    slow.append(lambda: asks.take_back(shadow))
    slow.append(lambda: reached.append(1))
    asks.answer(shadow.pk)
    shadow.refresh_from_db()
    assert reached == []
    assert (shadow.state, shadow.problem) == (Ask.State.FAILED, "You took the question back.")
    assert shadow.answer is None


def test_time_that_others_take_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def others() -> None:
        now[0] += 10

    deadline = Deadline(5)
    with turns.under_way(turns.Turn(lambda: True, others)):
        now[0] += 4
        assert not deadline.is_over()
        now[0] += 2
        assert deadline.is_over()


def test_a_settled_ask_cannot_be_taken_back(mirror: Mirror, service: Service) -> None:
    ask = waiting(mirror, "match")
    asks.answer(ask.pk)
    ask.refresh_from_db()
    assert asks.take_back(ask).state == Ask.State.ANSWERED
