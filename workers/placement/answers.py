"""What the worker answers: each function takes a snapshot and a question and returns plain JSON.

Every one is bounded in time. An answer that ran out of it says so by `partial` and how many nodes
it looked at; it never pretends to have looked at all.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any

from domain.errors import InvalidValue
from domain.placement import (
    Decision,
    Features,
    Fleet,
    Funnel,
    PodFit,
    Upsert,
    apply_all,
    explain,
    fits_pod,
    match_count,
    message,
    place,
)
from workers.placement.warm import Snapshot

Json = dict[str, Any]
BUDGET_SECONDS = 8.0
SHOWN_NODES = 20

ANSWERS: dict[str, Callable[[Snapshot, Json], Json]] = {}


def _answers(kind: str) -> Callable[[Callable[[Snapshot, Json], Json]], Callable[..., Json]]:
    def register(function: Callable[[Snapshot, Json], Json]) -> Callable[..., Json]:
        ANSWERS[f"placement.{kind}"] = function
        return function

    return register


@_answers("match")
def match(snapshot: Snapshot, question: Json) -> Json:
    """How many devices class and request selectors accept, and how many of those are free."""
    found = match_count(
        snapshot.fleet,
        _texts(question, "class_selectors"),
        _texts(question, "request_selectors"),
        snapshot.features,
    )
    return {
        "total": found.total,
        "matches": found.matches,
        "free": found.free,
        "problems": list(found.problems),
    }


@_answers("explain")
def why(snapshot: Snapshot, question: Json) -> Json:
    """The funnel of a claim or of one request."""
    asked = _object(question, "claim" if "claim" in question else "request")
    return {"funnel": funnel_json(explain(snapshot.fleet, asked, snapshot.features))}


@_answers("check")
def check(snapshot: Snapshot, question: Json) -> Json:
    """Whether a pod with its claims, or claims alone, would fit now, and on which nodes."""
    if "pod" in question:
        return _check_pod(snapshot, question)
    claims = question.get("claims")
    if not isinstance(claims, list) or not claims:
        raise InvalidValue("Give at least one claim.", field="claims")
    decisions, total = _in_time(
        snapshot.fleet,
        lambda node: place(snapshot.fleet, claims, [node], "first", snapshot.features)[0],
        until=lambda decision: decision.outcome in ("fatal", "unknown"),
    )
    fitting = [one.node for one in decisions if one.fits]
    answer = _summary(decisions, fitting, total)
    if not fitting:
        answer["funnels"] = _funnels(snapshot.fleet, claims, snapshot.features)
    return answer


def _check_pod(snapshot: Snapshot, question: Json) -> Json:
    pod = _object(question, "pod")
    fleet = _with_claims(snapshot.fleet, question.get("claims") or [])
    found, total = _in_time(
        fleet,
        lambda node: fits_pod(fleet, pod, node, snapshot.features),
        until=lambda fit: fit.outcome in ("fatal", "unknown"),
    )
    fitting = [fit.node for fit in found if fit.fits]
    answer = _summary(found, fitting, total)
    answer["message"] = "" if fitting else message(found)
    if not fitting:
        answer["funnels"] = _funnels(fleet, _claims_of(fleet, pod), snapshot.features)
    return answer


def _in_time[T](
    fleet: Fleet, answer: Callable[[str], T], *, until: Callable[[T], bool]
) -> tuple[list[T], int]:
    """Ask for every node by name until the budget is spent or an answer ends the attempt."""
    names = sorted(fleet.nodes)
    stop_at = time.monotonic() + BUDGET_SECONDS
    found: list[T] = []
    for name in names:
        found.append(answer(name))
        if until(found[-1]) or time.monotonic() > stop_at:
            break
    return found, len(names)


def _summary(found: Iterable[Decision | PodFit], fitting: list[str], total: int) -> Json:
    looked_at = list(found)
    last = looked_at[-1] if looked_at else None
    ended = last.outcome if last is not None and last.outcome in ("fatal", "unknown") else ""
    return {
        "fits": bool(fitting) and not ended,
        "outcome": ended or ("fits" if fitting else "no"),
        "reason": _reason(last) if ended else "",
        "nodes": fitting[:SHOWN_NODES],
        "fitting": len(fitting),
        "looked_at": len(looked_at),
        "of": total,
        "partial": len(looked_at) < total and not ended,
        "considered_not": list(last.considered_not) if last is not None else [],
    }


def _reason(answer: Decision | PodFit | None) -> str:
    if isinstance(answer, PodFit):
        return "; ".join(answer.reasons)
    return "" if answer is None else answer.reason


def _with_claims(fleet: Fleet, claims: list[Json]) -> Fleet:
    """The fleet as it would be with these templates or claims, which are not in the cluster yet."""
    return apply_all(fleet, [Upsert(claim) for claim in claims])


def _claims_of(fleet: Fleet, pod: Json) -> list[Json]:
    """The pod's claims as objects, from templates where they do not exist yet."""
    namespace = str(pod.get("metadata", {}).get("namespace") or "")
    found: list[Json] = []
    for entry in pod.get("spec", {}).get("resourceClaims") or []:
        template = fleet.templates.get((namespace, str(entry.get("resourceClaimTemplateName"))))
        if template is not None:
            found.append({"metadata": {"name": entry["name"]}, "spec": template["spec"]["spec"]})
            continue
        held = fleet.claims.get((namespace, str(entry.get("resourceClaimName"))))
        if held is not None and not held.holdings:
            found.append(dict(held.raw))
    return found


def _funnels(fleet: Fleet, claims: Iterable[Json], features: Features) -> list[Json]:
    return [funnel_json(explain(fleet, claim, features)) for claim in claims]


def funnel_json(funnel: Funnel) -> Json:
    return {
        "request": funnel.request,
        "layers": [
            {
                "name": layer.name,
                "count": layer.count,
                "removed": layer.removed,
                "sample": list(layer.removed_sample),
                "detail": layer.detail,
            }
            for layer in funnel.layers
        ],
        "first_empty": funnel.first_empty,
        "matches": funnel.matches,
        "free": funnel.free,
        "on_nodes": funnel.on_nodes,
        "parts": [funnel_json(part) for part in funnel.parts],
        "problem": funnel.problem,
    }


def _texts(question: Json, name: str) -> list[str]:
    value = question.get(name, [])
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InvalidValue(f"{name} must be a list of CEL expressions.", field=name)
    return value


def _object(question: Json, name: str) -> Json:
    value = question.get(name)
    if not isinstance(value, dict):
        raise InvalidValue(f"{name} must be an object as the Kubernetes API has it.", field=name)
    return value
