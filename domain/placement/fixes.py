"""The smallest changes with which something would fit now.

Found by trying: each fix that is returned was put to the engine and fitted. The tries are bounded,
and `Fixes.partial` says when they ran out, so "none found" is never "none exists".
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from domain.placement.amounts import Amount, NotAnAmount, parse
from domain.placement.devices import Device
from domain.placement.evictions import Eviction, moved, pods_of, smallest
from domain.placement.features import DEFAULT, Features
from domain.placement.fix import MOST_VALUES, Fix, distinct, shown, toleration
from domain.placement.fleet import Fleet
from domain.placement.node_fixes import less_of_node, other_nodes
from domain.placement.trials import (
    OutOfTries,
    Raw,
    Spot,
    Trials,
    Wanted,
    requests_of,
    with_request,
)

_QUANTITY = re.compile(r"quantity\(\s*([\"'])([^\"']+)\1\s*\)")


@dataclass(frozen=True, slots=True)
class Fixes:
    """The least intrusive first. partial: tries or time ran out before all kinds were tried."""

    found: tuple[Fix, ...]
    tries: int
    partial: bool = False


def nearest_fixes(
    fleet: Fleet,
    wanted: Wanted,
    features: Features = DEFAULT,
    *,
    candidates: Mapping[str, Sequence[Raw]] | None = None,
    may_end: Container[str] | None = None,
    tries_each: int = 40,
    is_over: Callable[[], bool] = lambda: False,
) -> Fixes:
    """candidates: other claims that would do, by the name to show (approved patterns).

    may_end: namespaces whose claims may be told to end or move; None for all.
    tries_each: how often each kind of change may ask the engine.
    """
    found: list[Fix] = []
    tries, partial = 0, False
    others = _others(candidates or {})
    for search in (
        _fewer,
        _lower,
        less_of_node,
        others,
        _tolerating,
        other_nodes,
        _selectors,
        _ending(may_end),
    ):
        trials = Trials(fleet, features, tries_each, is_over)
        try:
            found.extend(search(trials, wanted))  # keeps what came before the tries ran out
        except OutOfTries:
            partial = True
        tries += trials.used
    return Fixes(tuple(found), tries, partial)


Search = Callable[[Trials, Wanted], Iterable[Fix]]


def _fewer(trials: Trials, wanted: Wanted) -> Iterator[Fix]:
    for spot, name, body in requests_of(wanted.claims):
        count = body.get("count") or 1
        if body.get("allocationMode") == "All" or not isinstance(count, int) or count < 2:
            continue
        best: tuple[int, tuple[Raw, ...], tuple[str, ...]] | None = None
        low, high = 1, count - 1
        while low <= high:
            middle = (low + high) // 2
            claims = with_request(wanted.claims, spot, count=middle)
            if nodes := trials.where(replace(wanted, claims=claims)):
                best, low = (middle, claims, nodes), middle + 1
            else:
                high = middle - 1
        if best is not None:
            yield Fix("fewer", f"Ask for {best[0]} instead of {count} in {name}", best[2], best[1])


def _lower(trials: Trials, wanted: Wanted) -> Iterator[Fix]:
    """Thresholds in selectors, and amounts of shared capacity."""
    for spot, name, body in requests_of(wanted.claims):
        for index, selector in enumerate(body.get("selectors") or ()):
            text = str((selector.get("cel") or {}).get("expression") or "")
            for match in _QUANTITY.finditer(text):
                yield from _threshold(trials, wanted, spot, index, match)
        asked = (body.get("capacity") or {}).get("requests") or {}
        for key, amount in asked.items():
            for value in _room_below(trials, str(key), str(amount)):
                changed = {"requests": {**asked, key: value}}
                claims = with_request(wanted.claims, spot, capacity=changed)
                if nodes := trials.where(replace(wanted, claims=claims)):
                    yield Fix(
                        "lower",
                        f"Ask for {value} {key} instead of {amount} in {name}",
                        nodes,
                        claims,
                    )
                    break


def _threshold(
    trials: Trials, wanted: Wanted, spot: Spot, index: int, match: re.Match[str]
) -> Iterator[Fix]:
    name, body = next((name, body) for at, name, body in requests_of(wanted.claims) if at == spot)
    text = match.string
    for value in _values_below(trials, text, match[2]):
        changed = (
            f"{text[: match.start()]}quantity({match[1]}{value}{match[1]}){text[match.end() :]}"
        )
        selectors = list(body["selectors"])
        selectors[index] = {"cel": {"expression": changed}}
        claims = with_request(wanted.claims, spot, selectors=selectors)
        if nodes := trials.where(replace(wanted, claims=claims)):
            yield Fix("lower", f"Ask for {value} instead of {match[2]} in {name}", nodes, claims)
            return


def _values_below(trials: Trials, text: str, asked: str) -> list[str]:
    """Capacities that are published and that the selector names, the nearest first."""
    return _nearest(
        asked,
        (
            capacity.value
            for device in _devices(trials.fleet)
            for name, capacity in device.capacity.items()
            if re.search(rf"\b{re.escape(name.rpartition('/')[2])}\b", text)
        ),
    )


def _room_below(trials: Trials, key: str, asked: str) -> list[str]:
    """What is left of a shared capacity on devices, and what its policy offers."""
    ledger = trials.fleet.ledger(trials.features)
    bare = key.rpartition("/")[2]
    found: list[Amount] = []
    for device in _devices(trials.fleet):
        for name, capacity in device.capacity.items():
            if name not in (key, bare):
                continue
            used = ledger.consumed.get(device.id, {}).get(name, 0)
            found.append(Amount(capacity.value.nanos - used, capacity.value.format))
            if capacity.policy is not None:
                found += capacity.policy.valid_values
    return _nearest(asked, found)


def _nearest(asked: str, values: Iterable[Amount]) -> list[str]:
    try:
        limit = parse(asked).nanos
    except NotAnAmount:
        return []
    lower = {one for one in values if 0 < one.nanos < limit}
    return [str(one) for one in sorted(lower, key=lambda one: -one.nanos)[:MOST_VALUES]]


def _devices(fleet: Fleet) -> Iterator[Device]:
    return (device for one in fleet.slices.by_name.values() for device in one.devices)


def _others(candidates: Mapping[str, Sequence[Raw]]) -> Search:
    def search(trials: Trials, wanted: Wanted) -> Iterator[Fix]:
        for name, claims in candidates.items():
            other = wanted.instead(claims)
            if nodes := trials.where(other):
                yield Fix("pattern", f"Pattern {name} fits now", nodes, other.claims)

    return search


def _tolerating(trials: Trials, wanted: Wanted) -> Iterator[Fix]:
    rules = (rule.taint for rule in trials.fleet.rules.values())
    own = (taint for device in _devices(trials.fleet) for taint in device.taints)
    for taint in distinct((*rules, *own)):
        claims = wanted.claims
        for spot, _, body in requests_of(wanted.claims):
            tolerations = [*(body.get("tolerations") or ()), toleration(taint)]
            claims = with_request(claims, spot, tolerations=tolerations)
        if nodes := trials.where(replace(wanted, claims=claims)):
            yield Fix("tolerate", f"Tolerate the device taint {shown(taint)}", nodes, claims)


def _selectors(trials: Trials, wanted: Wanted) -> Iterator[Fix]:
    for spot, name, body in requests_of(wanted.claims):
        selectors = list(body.get("selectors") or ())
        for index, selector in enumerate(selectors):
            others = [*selectors[:index], *selectors[index + 1 :]]
            claims = with_request(wanted.claims, spot, selectors=others)
            if nodes := trials.where(replace(wanted, claims=claims)):
                text = str((selector.get("cel") or {}).get("expression") or "")
                yield Fix("selector", f"Leave out {text} in {name}", nodes, claims)


def _ending(may_end: Container[str] | None) -> Search:
    return lambda trials, wanted: _end(trials, wanted, may_end)


def _end(trials: Trials, wanted: Wanted, may_end: Container[str] | None) -> Iterator[Fix]:
    found = smallest(trials, wanted, may_end)
    if found is None:
        return
    found = moved(trials.fleet, trials.features, wanted, found)
    ends = tuple(f"{one.namespace}/{one.name}" for one in found.ends)
    if found.moves:
        said = ", ".join(f"{end} to {node}" for end, node in zip(ends, found.moves, strict=True))
        yield Fix("move", f"Start anew elsewhere: {said}", (found.node,), ends=ends)
    yield Fix("end", f"End {_with_pods(found)}", (found.node,), ends=ends)


def _with_pods(found: Eviction) -> str:
    said = []
    for one in found.ends:
        pods = pods_of(one)
        users = f" (pod {', '.join(pods)})" if pods else ""
        said.append(f"{one.namespace}/{one.name}{users}")
    return " and ".join(said)
