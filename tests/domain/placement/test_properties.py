"""Rules that hold whatever the cluster looks like, on the oracle's own random clusters."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.placement import Decision, Delete, Features, Fleet, Upsert, apply, place
from domain.placement.amounts import parse
from tests.oracle import random_cases
from tests.oracle.compare import fleet_of

Raw = dict[str, Any]
FEATURES = Features.preset("all")
SEEDS = st.integers(0, 2**31)
FEW = settings(max_examples=15, deadline=None)
STEPS = 3_000


def sequence(case: Raw) -> Sequence[Decision]:
    groups = [[one] for one in case["claims"]]
    return place(fleet_of(case), groups, mode="sequence", features=FEATURES, most_steps=STEPS)


def results(decisions: Sequence[Decision]) -> list[Raw]:
    return [
        one
        for decision in decisions
        for found in decision.allocations
        for one in found["devices"]["results"]
        if not one.get("adminAccess")
    ]


def devices(case: Raw) -> dict[tuple[str, str, str], Raw]:
    """Of the newest generation."""
    newest: dict[tuple[str, str], int] = {}
    for one in case["slices"]:
        pool = one["spec"]["pool"]
        key = (one["spec"]["driver"], pool["name"])
        newest[key] = max(newest.get(key, 0), pool["generation"])
    return {
        (one["spec"]["driver"], one["spec"]["pool"]["name"], device["name"]): device
        for one in case["slices"]
        for device in one["spec"].get("devices", ())
        if one["spec"]["pool"]["generation"]
        == newest[one["spec"]["driver"], one["spec"]["pool"]["name"]]
    }


def key(result: Raw) -> tuple[str, str, str]:
    return result["driver"], result["pool"], result["device"]


@given(SEEDS)
@FEW
def test_a_device_is_given_once_or_in_shares_that_fit(seed: int) -> None:
    case = random_cases.sequence(seed, 2, 25)
    taken, published = results(sequence(case)), devices(case)
    whole = Counter(key(one) for one in taken if "shareID" not in one)
    assert all(count == 1 for count in whole.values())
    used: Counter[tuple[Any, ...]] = Counter()
    for one in taken:
        assert "shareID" not in one or key(one) not in whole
        for name, amount in one.get("consumedCapacity", {}).items():
            used[(*key(one), name)] += parse(amount).nanos
    for (*device, name), nanos in used.items():
        capacity = published[tuple(device)]["capacity"][name]["value"]
        assert nanos <= parse(capacity).nanos


@given(SEEDS)
@FEW
def test_counters_never_go_below_zero(seed: int) -> None:
    case = random_cases.sequence(seed, 2, 25)
    published = devices(case)
    left: Counter[tuple[str, str, str, str]] = Counter()
    for one in case["slices"]:
        spec = one["spec"]
        for counters in spec.get("sharedCounters", ()):
            for name, counter in counters["counters"].items():
                where = (spec["driver"], spec["pool"]["name"], counters["name"], name)
                left[where] += parse(counter["value"]).nanos
    for device in {key(one) for one in results(sequence(case))}:
        for use in published[device].get("consumesCounters", ()):
            for name, counter in use["counters"].items():
                where = (device[0], device[1], use["counterSet"], name)
                left[where] -= parse(counter["value"]).nanos
    assert all(nanos >= 0 for nanos in left.values())


@given(SEEDS)
@FEW
def test_less_in_use_never_makes_a_claim_unplaceable(seed: int) -> None:
    """Not so for a fault: a selector that fails may only now reach a device (fatal, unknown)."""
    case = random_cases.case(seed)
    fleet = fleet_of(case)
    nodes = [one["metadata"]["name"] for one in case["nodes"]]
    busy = place(fleet, case["claims"], nodes, "all", FEATURES, STEPS)
    for held in case["allocated_claims"]:
        name = held["metadata"]["name"]
        fleet = apply(fleet, Delete("ResourceClaim", "default", name))
    free = place(fleet, case["claims"], nodes, "all", FEATURES, STEPS)
    for before, after in zip(busy, free, strict=True):
        if before.fits:
            assert after.outcome in ("fits", "fatal", "unknown")


@given(SEEDS)
@FEW
def test_the_order_in_which_objects_arrive_does_not_matter(seed: int) -> None:
    case = random_cases.case(seed)
    nodes = [one["metadata"]["name"] for one in case["nodes"]]
    before = place(fleet_of(case), case["claims"], nodes, "all", FEATURES, STEPS)
    for part in ("slices", "classes", "allocated_claims", "taint_rules", "nodes"):
        Random(seed).shuffle(case[part])
    assert place(fleet_of(case), case["claims"], nodes, "all", FEATURES, STEPS) == before


@given(SEEDS)
@FEW
def test_a_fleet_changed_step_by_step_is_the_fleet_built_at_once(seed: int) -> None:
    case = random_cases.case(seed)
    nodes = [one["metadata"]["name"] for one in case["nodes"]]
    built = fleet_of(case)
    changed = Fleet.build([])
    kinds = {"slices": "ResourceSlice", "classes": "DeviceClass", "nodes": "Node"}
    kinds |= {"allocated_claims": "ResourceClaim", "taint_rules": "DeviceTaintRule"}
    versions = {"Node": "v1"}
    for part, kind in kinds.items():
        for raw in case[part]:
            whole = raw | {"kind": kind, "apiVersion": versions.get(kind, "resource.k8s.io/v1")}
            for change in (Upsert(whole), _gone(whole), Upsert(whole)):
                changed.ledger(FEATURES)  # kept up to date from here on
                changed = apply(changed, change)
    wanted = place(built, case["claims"], nodes, "all", FEATURES, STEPS)
    assert place(changed, case["claims"], nodes, "all", FEATURES, STEPS) == wanted


def _gone(raw: Raw) -> Delete:
    meta = raw["metadata"]
    return Delete(raw["kind"], meta.get("namespace", ""), meta["name"])
