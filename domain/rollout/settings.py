"""What a migration's owner sets, and what is refused before it starts."""

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

import msgspec

from domain.errors import InvalidValue
from domain.gates import METRICS, TEMPLATES, Gate, content_of, gates_from
from domain.rollout.words import Stage

Point = Literal["confirm", "before", "after", "rollback"]
MOST_STEPS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """`weight` percent to the new pool for at least `hold_seconds`; `manual` then asks a person."""

    weight: int
    hold_seconds: int = 60
    manual: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A signed call: `confirm` is asked until it agrees, `before` and `after` a step may refuse
    and so end in rollback, `rollback` only tells.
    """

    name: str
    point: Point
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`capacity` full sizes the new pool like the old one from the start, so that caches compare;
    by-weight grows it before each step. `ready_seconds`: a pool that is not ready by then is given
    up. `approvals` are the stages that a person lets begin.
    """

    steps: tuple[Step, ...] = (
        Step(weight=5),
        Step(weight=25),
        Step(weight=50),
        Step(weight=100),
    )
    interval_seconds: int = 15
    warm_weight: int = 1
    warm_seconds: int = 60
    drain_seconds: int = 60
    ready_seconds: int = 1800
    capacity: Literal["full", "by-weight"] = "full"
    on_breach: Literal["rollback", "freeze"] = "rollback"
    approvals: tuple[Stage, ...] = (Stage.CANARY,)
    drill: bool = True
    gates: tuple[Gate, ...] = TEMPLATES["standard"].gates
    hooks: tuple[Hook, ...] = ()


def settings_from(content: object) -> Settings:
    """Read JSON-like content; raise InvalidValue naming the field. `gates` may be the name of a
    template.
    """
    if not isinstance(content, dict):
        raise InvalidValue("Settings are a table of names and values.", field="settings")
    given = dict(content)
    for key in given:
        if key not in Settings.__dataclass_fields__:
            raise InvalidValue(f"There is no setting {str(key)[:60]!r}.", field=str(key)[:60])
    gates = _gates(given.pop("gates", "standard"))
    try:
        found = msgspec.convert(given, Settings, strict=True)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at ")
        raise InvalidValue(f"{text}.", field=path.strip("`").removeprefix("$.")) from None
    found = replace(found, gates=gates)
    _check_steps(found)
    _check_numbers(found)
    _check_hooks(found)
    _check_sizes(found)
    return found


def _gates(given: object) -> tuple[Gate, ...]:
    if isinstance(given, str):
        if given not in TEMPLATES:
            raise InvalidValue(
                f"There is no template {given[:60]!r}; one of {', '.join(TEMPLATES)}.",
                field="gates",
            )
        return TEMPLATES[given].gates
    gates = gates_from(given)
    if not any(not gate.dry_run for gate in gates):
        raise InvalidValue(
            "Without a gate that counts nothing would be judged: add one, or take a template.",
            field="gates",
        )
    return gates


def settings_content(settings: Settings) -> dict[str, Any]:
    """As JSON, every value named, so that a later default changes no migration under way."""
    content: dict[str, Any] = msgspec.to_builtins(settings)
    content["gates"] = content_of(settings.gates)
    return content


def _check_steps(found: Settings) -> None:
    weights = [step.weight for step in found.steps]
    if not 1 <= len(weights) <= MOST_STEPS:
        raise InvalidValue(f"1 to {MOST_STEPS} steps.", field="steps")
    for number, weight in enumerate(weights):
        before = weights[number - 1] if number else 0
        if not before < weight <= 100:
            raise InvalidValue(
                f"Weights rise from step to step, up to 100; {weight} follows {before}.",
                field=f"steps[{number}].weight",
            )
    if weights[-1] != 100:
        raise InvalidValue(
            f"The last step has to reach 100; it ends at {weights[-1]}.", field="steps"
        )
    for number, step in enumerate(found.steps):
        if not 0 <= step.hold_seconds <= 7 * 86400:
            raise InvalidValue("0 s to 7 days.", field=f"steps[{number}].hold_seconds")


_RANGES = (
    ("interval_seconds", 5, 3600),
    ("warm_weight", 1, 50),
    ("warm_seconds", 0, 86400),
    ("drain_seconds", 0, 86400),
    ("ready_seconds", 30, 86400),
)


def _check_numbers(found: Settings) -> None:
    for name, least, most in _RANGES:
        if not least <= getattr(found, name) <= most:
            raise InvalidValue(f"{least} to {most}.", field=name)
    if found.warm_weight > found.steps[0].weight:
        raise InvalidValue(
            f"Warming up with more than the first step ({found.steps[0].weight}) is no warm-up.",
            field="warm_weight",
        )


def _check_sizes(found: Settings) -> None:
    for number, gate in enumerate(found.gates if found.capacity == "by-weight" else ()):
        if METRICS[gate.metric].by_size and gate.is_relative and not gate.dry_run:
            raise InvalidValue(
                f"{gate.name} compares {gate.metric}, and by weight the new pool is smaller than "
                "the old one: fewer servers hold fewer prefixes. Take the capacity full, an "
                "absolute limit, or dry_run.",
                field=f"gates[{number}].metric",
            )


_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,48}[a-z0-9])?")


def _check_hooks(found: Settings) -> None:
    names = [hook.name for hook in found.hooks]
    for number, hook in enumerate(found.hooks):
        if not _NAME.fullmatch(hook.name) or names.count(hook.name) > 1:
            raise InvalidValue(
                "Each webhook has its own name of lower-case letters, digits and hyphens.",
                field=f"hooks[{number}].name",
            )
        if not hook.url.startswith("https://") or len(hook.url) > 500:
            raise InvalidValue(
                "A webhook is called over https, at an address of 500 characters at most.",
                field=f"hooks[{number}].url",
            )


def in_blackout(blackout: list[dict[str, Any]], now: datetime) -> bool:
    """Whether `now` (UTC) is in one of the spans {"from": "08:00", "to": "18:00", "days": [0..6]}.

    A span whose end is before its start goes over midnight and belongs to the day it starts on.
    """
    minute = now.hour * 60 + now.minute
    for span in blackout:
        start, end = _minute(span.get("from", "00:00")), _minute(span.get("to", "24:00"))
        days = span.get("days") or list(range(7))
        if start <= end:
            if start <= minute < end and now.weekday() in days:
                return True
        elif (minute >= start and now.weekday() in days) or (
            minute < end and (now.weekday() - 1) % 7 in days
        ):
            return True
    return False


def _minute(text: str) -> int:
    hours, _, minutes = text.partition(":")
    return int(hours) * 60 + int(minutes or 0)
