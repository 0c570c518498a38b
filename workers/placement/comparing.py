"""What a new version of a class or of a pattern would change: devices, and claims made anew."""

from collections.abc import Iterator, Mapping
from typing import Any

from domain import patterns
from domain.errors import InvalidValue
from domain.placement import Fleet, Upsert, apply, match_count
from domain.placement.claims import Held
from domain.placement.renewals import Difference, Renewal, difference, renew
from domain.placement.trials import requests_of
from workers.placement.kinds import LONG_SECONDS, Deadline, Json, answers, table, text, texts
from workers.placement.linting import remarks_json, remarks_on
from workers.placement.warm import Snapshot

MOST_SHOWN = 20


@answers("compare-class")
def compare_class(snapshot: Snapshot, question: Json) -> Json:
    """{"class", "before": [CEL], "after": [CEL]}: one class with other selectors."""
    name = text(question, "class")
    before, after = texts(question, "before"), texts(question, "after")
    changed = _with_class(snapshot.fleet, name, after)
    asked = [(held, held.raw) for held in snapshot.fleet.claims.values() if _asks(held, name)]
    return _answer(snapshot, changed, (before, after), asked)


@answers("compare-pattern")
def compare_pattern(snapshot: Snapshot, question: Json) -> Json:
    """{"before", "after": contents of patterns, "class_selectors": {class: [CEL]}}.

    Devices are those of the first request with the defaults. Claims are recognised by what the
    earlier version would have written; each is asked for by the later one with the same values.
    """
    old = patterns.pattern_from(table(question, "before"))
    new = patterns.pattern_from(table(question, "after"))
    classes = table(question, "class_selectors")
    sides = tuple(_selectors(one, classes) for one in (old, new))
    asked = list(_renewed(snapshot.fleet, old, new))
    return _answer(snapshot, snapshot.fleet, (sides[0], sides[1]), asked)


def _selectors(pattern: patterns.Pattern, classes: Json) -> list[str]:
    request = pattern.requests[0]
    own = patterns.request_selectors(request, patterns.defaults(pattern))
    return [*texts(classes, request.device_class), *own]


def _renewed(
    fleet: Fleet, old: patterns.Pattern, new: patterns.Pattern
) -> Iterator[tuple[Held, Mapping[str, Any] | str]]:
    known = {one.name for one in new.parameters}
    for held in fleet.claims.values():
        values = patterns.values_of(old, held.raw.get("spec") or {})
        if values is None:
            continue
        try:
            again = patterns.accept(new, {k: v for k, v in values.items() if k in known})
        except InvalidValue as refusal:
            yield held, str(refusal)
        else:
            yield held, {**held.raw, "spec": patterns.claim_spec(new, again), "status": {}}


def _asks(held: Held, class_name: str) -> bool:
    return any(body.get("deviceClassName") == class_name for _, _, body in requests_of([held.raw]))


def _with_class(fleet: Fleet, name: str, expressions: list[str]) -> Fleet:
    selectors = [{"cel": {"expression": one}} for one in expressions]
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": selectors},
    }
    return apply(fleet, Upsert(body))


def _answer(
    snapshot: Snapshot,
    changed: Fleet,
    sides: tuple[list[str], list[str]],
    asked: list[tuple[Held, Any]],
) -> Json:
    deadline = Deadline(LONG_SECONDS)
    fleet, features = snapshot.fleet, snapshot.features
    found = difference(fleet, *sides)
    before, after = (match_count(fleet, side, (), features) for side in sides)
    renewed = list(renew(changed, features, asked, deadline.is_over))
    return {
        "before": {"matches": before.matches, "free": before.free},
        "after": {"matches": after.matches, "free": after.free},
        "total": after.total,
        "problems": list(after.problems),
        "remarks": remarks_json(remarks_on(fleet, sides[1])),
        "devices": _devices(found),
        "claims": _claims(renewed, len(asked)),
        "partial": len(renewed) < len(asked),
    }


def _devices(found: Difference) -> Json:
    return {
        "lost": found.lost_count,
        "lost_sample": [str(one) for one in found.lost],
        "gained": found.gained_count,
        "gained_sample": [str(one) for one in found.gained],
    }


def _claims(renewed: list[Renewal], of: int) -> Json:
    lost = [one for one in renewed if one.outcome != "fits" and one.is_allocated]
    pending = [one for one in renewed if not one.is_allocated]
    return {
        "of": of,
        "looked_at": len(renewed),
        "fit": sum(one.outcome == "fits" for one in renewed),
        "lost": len(lost),
        "lost_sample": [{"claim": one.claim, "reason": one.reason} for one in lost[:MOST_SHOWN]],
        "pending": len(pending),
        "pending_fit": sum(one.outcome == "fits" for one in pending),
    }
