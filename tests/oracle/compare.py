"""The same case through the engine, and what differs from the oracle's answer."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from domain.placement import Decision, Fleet, place
from tests.oracle.oracle import Case, features_of

MOST_STEPS = 20_000
"""A search that takes longer is not compared: the answer is "unknown" then."""

OUTCOMES = {"fits": "allocated", "no": "none"}
_KINDS = {
    "nodes": ("Node", "v1"),
    "slices": ("ResourceSlice", "resource.k8s.io/v1"),
    "classes": ("DeviceClass", "resource.k8s.io/v1"),
    "taint_rules": ("DeviceTaintRule", "resource.k8s.io/v1"),
    "allocated_claims": ("ResourceClaim", "resource.k8s.io/v1"),
}
_VAGUE = ("failed to parse node selector", "CEL compile error:", "CEL runtime error:")
"""Errors whose text goes on in the words of a Go library: only the class is compared.

CEL's own words are compared with cel-go's where CEL is tested.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """same, different, or not compared (a timeout there, a limit here)."""

    kind: str
    detail: str = ""


def verdict(case: Case, answer: Mapping[str, Any]) -> Verdict:
    """Row by row; where one side gave up, that row is no expectation.

    In a sequence what follows still is one, unless the other side did place the claims.
    """
    wanted, got = answer["results"], [_row(one) for one in decisions(case)]
    gave_up = ""
    for ours, theirs in zip(got, wanted, strict=False):
        outcomes = {ours["outcome"], theirs["outcome"]}
        if outcomes & {"timeout", "panic", "unknown"}:
            gave_up = gave_up or ours["error"] or theirs["outcome"]
            if case.get("mode") != "all" and "allocated" in outcomes:
                return Verdict("not compared", gave_up)
            continue
        if difference := _difference(ours, _normalised(theirs)):
            return Verdict("different", difference)
    if gave_up:
        return Verdict("not compared", gave_up)
    if len(wanted) != len(got):
        return Verdict("different", f"{len(wanted)} results, here {len(got)}")
    return Verdict("same")


def _difference(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    return "" if ours == theirs else f"upstream {_short(theirs)}\nhere     {_short(ours)}"


def decisions(case: Case) -> Sequence[Decision]:
    """Raises ValueError for a case with an object that cannot be read."""
    fleet, features = fleet_of(case), features_of(case)
    mode, claims = case.get("mode", "all"), case.get("claims") or []
    asked: list[Any] = claims
    if mode == "sequence":
        groups = case.get("groups") or [[i] for i in range(len(claims))]
        asked = [[claims[i] for i in group] for group in groups]
    names = [node["metadata"]["name"] for node in case["nodes"]]
    return place(
        fleet,
        asked,
        None if names == sorted(names) else names,
        mode,
        features,
        MOST_STEPS,
        defaults=not case.get("no_defaults"),
    )


def fleet_of(case: Case) -> Fleet:
    fleet = Fleet.build(_objects(case))
    if fleet.faults:
        raise ValueError(f"case {case['id']}: {next(iter(fleet.faults.values()))}")
    return fleet


def _objects(case: Case) -> Iterator[Mapping[str, Any]]:
    for part, (kind, api_version) in _KINDS.items():
        seen: dict[str, int] = {}
        for raw in case.get(part) or ():
            name = raw["metadata"].get("name") or "-"
            count = seen[name] = seen.get(name, -1) + 1
            # Upstream's own cases repeat names; a character below all others keeps their order.
            meta = {**raw["metadata"], "name": f"{name}\x01{count}" if count else name}
            yield {**raw, "kind": kind, "apiVersion": api_version, "metadata": meta}
    if state := case.get("allocated_state"):
        yield _holder(state)


def _holder(state: Mapping[str, Any]) -> dict[str, Any]:
    """A claim that stands for allocation state which no claim could express."""
    shared = [{**one, "request": "r"} for one in state.get("shared") or ()]
    consumed = [
        {**one, "request": "r", "shareID": "?", "consumedCapacity": one["capacity"]}
        for one in state.get("capacity") or ()
    ]
    results = [{**one, "request": "r"} for one in state.get("devices") or ()] + shared + consumed
    return {
        "kind": "ResourceClaim",
        "apiVersion": "resource.k8s.io/v1",
        "metadata": {"name": "state"},
        "status": {"allocation": {"devices": {"results": results}}},
    }


def _row(one: Decision) -> dict[str, Any]:
    says = one.outcome in ("node-error", "fatal", "unknown")
    return _normalised(
        {
            "node": one.node,
            "outcome": OUTCOMES.get(one.outcome, one.outcome),
            "allocation": json.loads(json.dumps(one.allocations)),
            "error": one.reason if says else "",
        }
    )


def _normalised(row: Mapping[str, Any]) -> dict[str, Any]:
    allocations = row.get("allocation") or []
    for allocation in allocations:
        devices = allocation["devices"]
        for result in devices.get("results") or ():
            if "shareID" in result:
                result["shareID"] = "*"
        if not devices.get("results"):
            devices.pop("results", None)
        for term in (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or ():
            for part in term.values():
                part.sort(key=lambda one: json.dumps(one, sort_keys=True))
    return {
        "node": row["node"],
        "outcome": row["outcome"],
        "allocation": allocations,
        "error": _error_class(row.get("error") or ""),
    }


def _error_class(text: str) -> str:
    for mark in _VAGUE:
        if mark in text:
            return text[: text.index(mark) + len(mark)]
    return text


def _short(row: Mapping[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)[:1500]
