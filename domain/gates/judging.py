"""One sample: both sides of a window to one of five verdicts.

The order matters: what cannot be judged is found out before anything is compared, so that NaN, an
absent series or an idle pool never passes by a comparison that happens to be false (Argo Rollouts
#1466, Flagger #1098).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from domain.figures import Figure, State
from domain.gates.gate import Gate
from domain.gates.measured import METRICS
from domain.gates.verdicts import Verdict

#: States of a figure that say the question failed, rather than that there is nothing.
_BROKEN = frozenset({State.ERROR, State.NO_PERMISSION})
_RANK = {
    Verdict.FAIL: 0,
    Verdict.ERROR: 1,
    Verdict.NO_DATA: 2,
    Verdict.INCONCLUSIVE: 3,
    Verdict.PASS: 4,
}


@dataclass(frozen=True, slots=True)
class Side:
    """What one pool showed in the window: all servers together, each alone, and how many requests
    it finished (None where the metric is not made of requests). `servers` are those ready; None
    where nobody told.
    """

    figure: Figure
    requests: Figure | None = None
    pods: Mapping[str, Figure] = field(default_factory=dict)
    servers: int | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    verdict: Verdict
    reason: str
    worst_pod: str = ""


def judge(gate: Gate, candidate: Side, current: Side | None) -> Judged:
    """The verdict of one window, and why in a sentence."""
    sides = [("candidate", candidate)]
    if gate.is_relative:
        if current is None:
            return Judged(Verdict.NO_DATA, "there is no current pool to compare with")
        sides.append(("current", current))
    for name, side in sides:
        if refused := _unusable(gate, name, side):
            return refused
    compared = _value(current.figure) if gate.is_relative and current is not None else None
    found = _judged(gate, candidate, compared)
    if found.verdict is not Verdict.FAIL or current is None or not _is_smaller(candidate, current):
        return found
    if not METRICS[gate.metric].by_size or _judged(gate, candidate, None).verdict is Verdict.FAIL:
        return found
    sizes = f"{candidate.servers} servers beside {current.servers} hold fewer prefixes"
    return Judged(Verdict.INCONCLUSIVE, f"{found.reason}; {sizes}, so that this compares nothing")


def _judged(gate: Gate, candidate: Side, compared: float | None) -> Judged:
    """All servers together and the worst one alone."""
    total = _compare(gate, _value(candidate.figure), compared, "all servers together")
    return min((total, *_pods(gate, candidate, compared)), key=lambda one: _RANK[one.verdict])


def _is_smaller(candidate: Side, current: Side) -> bool:
    if candidate.servers is None or current.servers is None:
        return False
    return candidate.servers < current.servers


def _unusable(gate: Gate, name: str, side: Side) -> Judged | None:
    """Why this side is no evidence; None when it is."""
    figure, requests = side.figure, side.requests
    if figure.state in _BROKEN:
        return Judged(Verdict.ERROR, _said(name, figure))
    if METRICS[gate.metric].per_request and gate.min_requests:
        if requests is not None and requests.state in _BROKEN:
            return Judged(Verdict.ERROR, _said(name, requests))
        if requests is None or requests.value is None or not requests.usable:
            if figure.state is State.LIVE and requests is not None:
                return Judged(Verdict.NO_DATA, f"{name}: requests unknown ({requests.state.words})")
            return Judged(Verdict.NO_DATA, _said(name, figure))
        if requests.value < gate.min_requests:
            few = f"{name}: {requests.value:g} requests in the window, {gate.min_requests} needed"
            return Judged(Verdict.NO_DATA if not requests.value else Verdict.INCONCLUSIVE, few)
    if figure.state is State.PARTIAL and figure.value is not None:
        known = f"{figure.known} of {figure.total}" if figure.total else "only a part"
        return Judged(Verdict.INCONCLUSIVE, f"{name}: {known} servers told ({figure.detail})")
    if not figure.usable or figure.value is None:
        return Judged(Verdict.NO_DATA, _said(name, figure))
    if not math.isfinite(figure.value):
        return Judged(Verdict.NO_DATA, f"{name}: the figure is {figure.value}, which is no number")
    return None


def _said(name: str, figure: Figure) -> str:
    return f"{name}: {figure.state.words}" + (f" ({figure.detail})" if figure.detail else "")


def _value(figure: Figure) -> float:
    return figure.value if figure.value is not None else math.nan


def _pods(gate: Gate, candidate: Side, compared: float | None) -> list[Judged]:
    """Each server alone against the same limits. A server with no figure of its own adds nothing
    but is not a pass either: `known of total` of the whole has told of it.
    """
    if not gate.worst_pod or len(candidate.pods) < 2:
        return []
    found = []
    for pod, figure in sorted(candidate.pods.items()):
        if figure.usable and figure.value is not None and math.isfinite(figure.value):
            judged = _compare(gate, figure.value, compared, pod)
            found.append(Judged(judged.verdict, judged.reason, pod))
    return found


def _compare(gate: Gate, value: float, compared: float | None, whose: str) -> Judged:
    results = []
    if gate.is_relative and compared is not None:
        results.append(_relative(gate, value, compared, whose))
    results.append(_upper(gate, value, gate.at_most, whose, ""))
    results.append(_lower(gate, value, gate.at_least, whose))
    return min(results, key=lambda one: _RANK[one.verdict])


def _relative(gate: Gate, value: float, compared: float, whose: str) -> Judged:
    """Candidate ÷ current. Against a current of 0 there is no ratio: equal is equal, and anything
    worse than nothing is beyond every ratio, which is said rather than divided.
    """
    if compared == 0:
        if value == 0 or gate.ratio_at_most is None:
            return Judged(Verdict.PASS, f"{whose}: {value:g} beside a current of 0")
        return Judged(Verdict.INCONCLUSIVE, f"{whose}: {value:g} beside a current of 0: no ratio")
    ratio = value / compared
    text = f" (candidate ÷ current = {value:.4g} ÷ {compared:.4g})"
    upper = _upper(gate, ratio, gate.ratio_at_most, whose, text)
    lower = _lower(gate, ratio, gate.ratio_at_least, whose, text)
    return min((upper, lower), key=lambda one: _RANK[one.verdict])


def _upper(gate: Gate, value: float, limit: float | None, whose: str, more: str) -> Judged:
    if limit is None or value <= limit:
        return Judged(Verdict.PASS, f"{whose}: {value:.4g}{more}")
    forgiven = value <= limit + abs(limit) * gate.margin
    verdict = Verdict.INCONCLUSIVE if forgiven else Verdict.FAIL
    return Judged(verdict, f"{whose}: {value:.4g} is above {limit:g}{more}")


def _lower(gate: Gate, value: float, limit: float | None, whose: str, more: str = "") -> Judged:
    if limit is None or value >= limit:
        return Judged(Verdict.PASS, f"{whose}: {value:.4g}{more}")
    forgiven = value >= limit - abs(limit) * gate.margin
    verdict = Verdict.INCONCLUSIVE if forgiven else Verdict.FAIL
    return Judged(verdict, f"{whose}: {value:.4g} is below {limit:g}{more}")
