"""The kinds of questions, and reading one without trusting it."""

import time
from collections.abc import Callable
from typing import Any

from domain.errors import InvalidValue
from workers.placement import turns
from workers.placement.warm import Snapshot

Json = dict[str, Any]
Answerer = Callable[[Snapshot, Json], Json]
BUDGET_SECONDS = 8.0
LONG_SECONDS = 20.0
"""For answers that let others pass and that a person waits for once."""

ANSWERS: dict[str, Answerer] = {}


def answers(kind: str) -> Callable[[Answerer], Answerer]:
    """Register the function that answers `placement.<kind>` from a snapshot."""

    def register(function: Answerer) -> Answerer:
        ANSWERS[f"placement.{kind}"] = function
        return function

    return register


class Deadline:
    """When an answer has to be given with what is known by then.

    Looking at it lets other asks pass; their time is not counted. Raises Cancelled then.
    """

    def __init__(self, seconds: float = BUDGET_SECONDS) -> None:
        self._at = time.monotonic() + seconds

    def is_over(self) -> bool:
        self._at += turns.pause()
        return time.monotonic() > self._at


def texts(question: Json, name: str) -> list[str]:
    value = question.get(name, [])
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InvalidValue(f"{name} must be a list of CEL expressions.", field=name)
    return value


def text(question: Json, name: str) -> str:
    value = question.get(name, "")
    if not isinstance(value, str):
        raise InvalidValue(f"{name} must be text.", field=name)
    return value


def table(question: Json, name: str) -> Json:
    value = question.get(name)
    if not isinstance(value, dict):
        raise InvalidValue(f"{name} must be an object as the Kubernetes API has it.", field=name)
    return value


def claims(question: Json, name: str = "claims") -> list[Json]:
    """A list of ResourceClaims; raises InvalidValue for anything else."""
    value = question.get(name) or []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise InvalidValue(f"{name} must be a list of ResourceClaims.", field=name)
    return value


def may_end(question: Json) -> list[str] | None:
    """Namespaces whose claims may be told to end; a person hears nothing of other tenants'."""
    value = question.get("may_end")
    if value is not None and not isinstance(value, list):
        raise InvalidValue("may_end must be a list of namespaces.", field="may_end")
    return value


def candidates(question: Json) -> dict[str, list[Json]]:
    """Other claims that would do, by name: {"pattern v2": [claim, …]}."""
    value = question.get("candidates") or {}
    if not isinstance(value, dict):
        raise InvalidValue("candidates must map names to claims.", field="candidates")
    return {str(name): claims({"candidates": found}, "candidates") for name, found in value.items()}
