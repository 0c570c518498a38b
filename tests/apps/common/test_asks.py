from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.common import asks, tasks
from apps.common.models import Ask

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def answerers(monkeypatch: pytest.MonkeyPatch) -> dict[str, asks.Answerer]:
    known: dict[str, asks.Answerer] = {}
    monkeypatch.setattr(asks, "ANSWERERS", known)
    return known


def waiting(kind: str = "test.echo") -> Ask:
    return Ask.objects.create(
        kind=kind, question={"say": "hi"}, expires_at=timezone.now() + timedelta(seconds=60)
    )


def test_an_ask_is_answered_once(answerers: dict[str, asks.Answerer]) -> None:
    calls: list[int] = []

    @asks.answers("test.echo")
    def echo(ask: Ask) -> dict[str, Any]:
        calls.append(ask.pk)
        return {"said": ask.question["say"]}

    ask = waiting()
    asks.answer(ask.pk)
    asks.answer(ask.pk)
    ask.refresh_from_db()
    assert (ask.state, ask.answer, calls) == (Ask.State.ANSWERED, {"said": "hi"}, [ask.pk])


def test_a_refusal_is_the_problem_that_the_person_reads(
    answerers: dict[str, asks.Answerer],
) -> None:
    @asks.answers("test.echo")
    def refuse(ask: Ask) -> dict[str, Any]:
        raise asks.Unanswerable("The cluster is away.")

    ask = waiting()
    asks.answer(ask.pk)
    ask.refresh_from_db()
    assert (ask.state, ask.problem) == (Ask.State.FAILED, "The cluster is away.")


def test_a_fault_inside_shows_a_sentence_and_no_traceback(
    answerers: dict[str, asks.Answerer],
) -> None:
    @asks.answers("test.echo")
    def broken(ask: Ask) -> dict[str, Any]:
        raise KeyError("token=abc")

    ask = waiting()
    asks.answer(ask.pk)
    ask.refresh_from_db()
    assert ask.state == Ask.State.FAILED
    assert "abc" not in ask.problem


def test_an_interrupted_worker_leaves_the_ask_to_another(
    answerers: dict[str, asks.Answerer],
) -> None:
    @asks.answers("test.echo")
    def interrupted(ask: Ask) -> dict[str, Any]:
        raise KeyboardInterrupt

    ask = waiting()
    with pytest.raises(KeyboardInterrupt):
        asks.answer(ask.pk)
    ask.refresh_from_db()
    assert (ask.state, ask.lease_token, ask.answered_at) == (Ask.State.WAITING, None, None)


def test_the_sweep_fails_what_nobody_answered_and_forgets_what_is_old() -> None:
    late, old = waiting(), waiting()
    now = timezone.now()
    Ask.objects.filter(pk=late.pk).update(expires_at=now - timedelta(seconds=1))
    Ask.objects.filter(pk=old.pk).update(expires_at=now - timedelta(hours=2))
    tasks.sweep_asks()
    assert Ask.objects.get().pk == late.pk
    assert Ask.objects.get().state == Ask.State.FAILED
