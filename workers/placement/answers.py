"""What the worker answers: each function takes a snapshot and a question and returns plain JSON.

Every one is bounded in time. An answer that ran out of it says so by `partial` and how many nodes
it looked at; it never pretends to have looked at all.
"""

import time
from collections.abc import Iterable, Sequence
from typing import Any

from domain.errors import InvalidValue
from domain.placement import (
    Decision,
    Features,
    Fleet,
    PodFit,
    Upsert,
    apply_all,
    explain,
    fitting,
    match_count,
    message,
    place,
)
from domain.placement.faults import Malformed
from domain.placement.fixes import nearest_fixes
from domain.placement.pods.fit import PodAttempt
from domain.placement.pods.reading import read_pod
from domain.placement.trials import Wanted, wanted_by
from workers.placement.kinds import (
    Deadline,
    Json,
    answers,
    candidates,
    claims,
    may_end,
    table,
    texts,
)
from workers.placement.linting import remarks_json, remarks_on
from workers.placement.shown import (
    SHOWN_NODES,
    fixes_json,
    funnel_json,
    funnels,
    reasons_json,
)
from workers.placement.warm import Snapshot

PROBED = 32
SLOW_SECONDS = 0.002
MOST_STEPS = 5_000


@answers("match")
def match(snapshot: Snapshot, question: Json) -> Json:
    """How many devices class and request selectors accept, and how many of those are free."""
    of_class, of_request = texts(question, "class_selectors"), texts(question, "request_selectors")
    found = match_count(snapshot.fleet, of_class, of_request, snapshot.features)
    return {
        "total": found.total,
        "matches": found.matches,
        "free": found.free,
        "problems": list(found.problems),
        "remarks": remarks_json(remarks_on(snapshot.fleet, [*of_class, *of_request])),
    }


@answers("explain")
def why_claim(snapshot: Snapshot, question: Json) -> Json:
    """The funnel of a claim or of one request."""
    asked = table(question, "claim" if "claim" in question else "request")
    return {"funnel": funnel_json(explain(snapshot.fleet, asked, snapshot.features))}


@answers("check")
def check(snapshot: Snapshot, question: Json) -> Json:
    """Whether a pod with its claims, or claims alone, would fit now, and where.

    `fixes`: true asks for the nearest fixes in the same answer; they take longer than the check.
    """
    deadline = Deadline()
    fleet, wanted = _asked(snapshot, question)
    if wanted.pod is not None:
        answer = check_pod(fleet, table(question, "pod"), snapshot.features, deadline)
    else:
        answer = check_claims(fleet, wanted.claims, snapshot.features, deadline)
    if answer["outcome"] == "no" and question.get("fixes"):
        answer |= _fixes(snapshot, question, deadline)
    return answer


@answers("fixes")
def fixes(snapshot: Snapshot, question: Json) -> Json:
    """The smallest changes with which what a check was asked about would fit now.

    `candidates` are claims that would also do.
    """
    return _fixes(snapshot, question, Deadline())


def _fixes(snapshot: Snapshot, question: Json, deadline: Deadline) -> Json:
    fleet, wanted = _asked(snapshot, question)
    found = nearest_fixes(
        fleet,
        wanted,
        snapshot.features,
        candidates=candidates(question),
        may_end=may_end(question),
        is_over=deadline.is_over,
    )
    return {"fixes": fixes_json(found)}


def _asked(snapshot: Snapshot, question: Json) -> tuple[Fleet, Wanted]:
    """What is to be placed; with a pod, on the fleet as if its claims were there already."""
    asked = claims(question)
    if "pod" in question:
        fleet = with_claims(snapshot.fleet, asked)
        return fleet, wanted_by(fleet, table(question, "pod"))
    if not asked:
        raise InvalidValue("Give at least one claim.", field="claims")
    return snapshot.fleet, Wanted(tuple(asked))


def check_claims(
    fleet: Fleet, asked: Sequence[Any], features: Features, deadline: Deadline
) -> Json:
    names = sorted(fleet.nodes)
    looked_at: Sequence[Decision] = _one_by_one(fleet, asked, features, names[:PROBED], deadline)
    ended = bool(looked_at) and looked_at[-1].outcome in ("fatal", "unknown")
    if len(names) > PROBED and not ended:
        looked_at = _the_rest(fleet, asked, features, names, looked_at, deadline)
    answer = summary(looked_at, fitting(looked_at), len(names))
    if not answer["fits"]:
        answer["funnels"] = funnels(fleet, asked, features)
    return answer


def _one_by_one(
    fleet: Fleet, asked: Sequence[Any], features: Features, names: Iterable[str], deadline: Deadline
) -> list[Decision]:
    found: list[Decision] = []
    for name in names:
        found.append(place(fleet, asked, [name], "first", features, most_steps=MOST_STEPS)[0])
        if found[-1].outcome in ("fatal", "unknown") or deadline.is_over():
            break
    return found


def _the_rest(
    fleet: Fleet,
    asked: Sequence[Any],
    features: Features,
    names: Sequence[str],
    probed: Sequence[Decision],
    deadline: Deadline,
) -> Sequence[Decision]:
    """All at once where nodes that look alike are quick; else one by one for as long as allowed."""
    started = time.monotonic()
    more = _one_by_one(fleet, asked, features, names[len(probed) : len(probed) + 4], deadline)
    if (time.monotonic() - started) / max(1, len(more)) < SLOW_SECONDS:
        return place(fleet, asked, None, "all", features, most_steps=MOST_STEPS)
    done = [*probed, *more]
    return done + _one_by_one(fleet, asked, features, names[len(done) :], deadline)


def check_pod(fleet: Fleet, pod: Json, features: Features, deadline: Deadline) -> Json:
    found = fits_of(fleet, pod, features, deadline)
    answer = summary(found, [fit.node for fit in found if fit.fits], len(fleet.nodes))
    answer["message"] = "" if answer["fits"] else message(found)
    answer["reasons"] = reasons_json(found)
    if not answer["fits"]:
        answer["funnels"] = funnels(fleet, wanted_by(fleet, pod).claims, features)
    return answer


def fits_of(fleet: Fleet, pod: Json, features: Features, deadline: Deadline) -> list[PodFit]:
    """Node by node in the order of names, until the time is over or the attempt ends."""
    names = sorted(fleet.nodes)
    try:
        attempt = PodAttempt.of(fleet, read_pod(pod), features, MOST_STEPS)
    except Malformed as problem:
        return [PodFit(name, "unknown", (f"pod cannot be read: {problem}",)) for name in names[:1]]
    found: list[PodFit] = []
    for name in names:
        found.append(attempt.on(fleet.nodes[name]))
        if found[-1].outcome in ("fatal", "unknown") or deadline.is_over():
            break
    return found


def summary(found: Sequence[Decision | PodFit], fits: Sequence[str], total: int) -> Json:
    last = found[-1] if found else None
    ended = last.outcome if last is not None and last.outcome in ("fatal", "unknown") else ""
    return {
        "fits": bool(fits) and not ended,
        "outcome": ended or ("fits" if fits else "no"),
        "reason": _reason(last) if ended else "",
        "nodes": list(fits[:SHOWN_NODES]),
        "fitting": len(fits),
        "looked_at": len(found),
        "of": total,
        "partial": len(found) < total and not ended,
        "considered_not": list(last.considered_not) if last is not None else [],
    }


def _reason(answer: Decision | PodFit | None) -> str:
    if isinstance(answer, PodFit):
        return "; ".join(answer.reasons)
    return "" if answer is None else answer.reason


def with_claims(fleet: Fleet, asked: Iterable[Json]) -> Fleet:
    """The fleet as it would be with these templates or claims, which are not in the cluster yet."""
    return apply_all(fleet, [Upsert(claim) for claim in asked])
