"""What people reported, each with the answer that is right. Names begin with the report."""

from typing import Any

import pytest

from domain.placement import Decision, Delete, Features, Fleet, apply, explain, place
from tests.domain.placement.fleets import (
    DRIVER,
    Raw,
    allocated,
    claim,
    device,
    device_class,
    node,
    published,
    request,
    result,
    selecting,
)

RUNNING = Features.preset("1.37")


def on_node(fleet: Fleet, *claims: Raw, features: Features = RUNNING) -> Decision:
    return place(fleet, claims, ["node-0"], "all", features)[0]


def devices_of(decision: Decision) -> list[str]:
    return [one["device"] for found in decision.allocations for one in found["devices"]["results"]]


def fleet_of(*objects: Raw) -> Fleet:
    return Fleet.build([node("node-0"), device_class(), *objects])


def counters(**sets: dict[str, int]) -> Raw:
    return {
        "sharedCounters": [
            {"name": name, "counters": {key: {"value": str(value)} for key, value in one.items()}}
            for name, one in sets.items()
        ]
    }


def consuming(name: str, counter_set: str, _more: Raw | None = None, **use: int) -> Raw:
    taken = {key: {"value": str(value)} for key, value in use.items()}
    uses = [{"counterSet": counter_set, "counters": taken}]
    return device(name, consumesCounters=uses, **(_more or {}))


def partitioned(sets: Raw, *devices: Raw) -> list[Raw]:
    """A pool as drivers publish it since 1.35: counters in one slice, devices in another."""
    pool = {"name": "node-0", "generation": 1, "resourceSliceCount": 2}
    return [
        _in_pool(published(name="counters", **sets), pool),
        _in_pool(published(*devices, name="devices"), pool),
    ]


def _in_pool(raw: Raw, pool: Raw) -> Raw:
    return raw | {"spec": raw["spec"] | {"pool": pool}}


def test_127554_all_devices_means_all_of_the_class() -> None:
    other = published(device("nic-0"), pool="nics")
    other["spec"]["driver"] = "nic.example.com"
    fleet = fleet_of(published(device("gpu-0"), device("gpu-1")), other)
    wants = claim("c", request(allocationMode="All"))
    assert devices_of(on_node(fleet, wants)) == ["gpu-0", "gpu-1"]


def test_131660_all_devices_as_first_alternative_leaves_nothing_behind() -> None:
    fleet = fleet_of(
        published(device("gpu-0"), device("gpu-1")), allocated("held", result("gpu-0"))
    )
    alternatives = [
        {"name": "all", "deviceClassName": "gpu", "allocationMode": "All"},
        {"name": "one", "deviceClassName": "gpu"},
    ]
    found = on_node(fleet, claim("c", {"name": "r0", "firstAvailable": alternatives}))
    (only,) = found.allocations[0]["devices"]["results"]
    assert (only["request"], only["device"]) == ("r0/one", "gpu-1")


def test_134466_a_pool_over_several_nodes_is_complete_on_each() -> None:
    pool = {"name": "rack", "generation": 1, "resourceSliceCount": 2}
    fleet = fleet_of(
        node("node-1"),
        _in_pool(published(device("gpu-0"), name="a"), pool),
        _in_pool(published(device("gpu-1"), name="b", node_name="node-1"), pool),
    )
    wants = claim("c", request(allocationMode="All"))
    assert devices_of(on_node(fleet, wants)) == ["gpu-0"]


def test_138882_all_devices_with_counters_is_an_answer_and_no_crash() -> None:
    fleet = fleet_of(
        *partitioned(
            counters(card={"slots": 2}),
            consuming("a", "card", slots=2),
            consuming("b", "card", slots=2),
        )
    )
    assert on_node(fleet, claim("c", request(allocationMode="All"))).outcome == "no"


def test_133705_a_full_device_is_passed_over_for_the_next() -> None:
    shared: Raw = {"allowMultipleAllocations": True}
    fleet = fleet_of(
        published(device("gpu-0", **shared), device("gpu-1", **shared)),
        allocated("held", result("gpu-0", shareID="s", consumedCapacity={"memory": "40Gi"})),
    )
    wants = claim("c", request(capacity={"requests": {"memory": "10Gi"}}))
    assert devices_of(on_node(fleet, wants)) == ["gpu-1"]


@pytest.mark.parametrize("report", ["134100", "140433"])
def test_counters_of_a_shared_device_are_charged_once(report: str) -> None:
    policy = {"default": "10Gi", "validRange": {"min": "1Gi"}}
    shared = {
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": "40Gi", "requestPolicy": policy}},
    }
    fleet = fleet_of(
        *partitioned(counters(card={"slots": 1}), consuming("a", "card", shared, slots=1)),
        allocated("held", result("a", shareID="s", consumedCapacity={"memory": "10Gi"})),
    )
    wants = claim("c", request("r0"), request("r1"))
    assert devices_of(on_node(fleet, wants)) == ["a", "a"]


def test_140436_a_refused_candidate_gives_its_counters_back() -> None:
    lone = consuming("a", "card", slots=1)
    lone["attributes"] = {}
    fleet = fleet_of(
        *partitioned(counters(card={"slots": 1}), lone, consuming("b", "card", slots=1))
    )
    wants = claim("c", constraints=[{"matchAttribute": f"{DRIVER}/root"}])
    assert devices_of(on_node(fleet, wants)) == ["b"]


@pytest.mark.parametrize(("roots", "outcome"), [(("x", "y", "x"), "no"), (("x", "y", "z"), "fits")])
def test_140438_and_135022_distinct_compares_values(roots: tuple[str, ...], outcome: str) -> None:
    devices = [
        device(f"gpu-{i}") | {"attributes": {"root": {"string": root}}}
        for i, root in enumerate(roots)
    ]
    wants = claim("c", request(count=3), constraints=[{"distinctAttribute": f"{DRIVER}/root"}])
    assert on_node(fleet_of(published(*devices)), wants).outcome == outcome


def test_140802_a_vanished_device_still_counts_only_with_the_fix() -> None:
    fleet = fleet_of(
        *partitioned(counters(card={"slots": 1}), consuming("a", "card", slots=1)),
        allocated("held", result("gone")),
    )
    assert on_node(fleet, claim()).outcome == "fits"
    assert on_node(fleet, claim(), features=RUNNING.fixed()).outcome == "no"


def test_141214_a_broken_node_selector_stops_everything_without_the_fix() -> None:
    broken = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Near"}]}]}
    fleet = fleet_of(
        published(device("gpu-0")), published(device("gpu-1"), pool="net", nodeSelector=broken)
    )
    assert on_node(fleet, claim()).outcome == "fatal"
    assert devices_of(on_node(fleet, claim(), features=RUNNING.fixed())) == ["gpu-0"]


def test_141829_all_devices_of_an_unfinished_pool_concerns_one_node_only_with_the_fix() -> None:
    unfinished = {"name": "node-0", "generation": 1, "resourceSliceCount": 2}
    fleet = fleet_of(_in_pool(published(device("gpu-0")), unfinished))
    wants = claim("c", request(allocationMode="All"))
    assert on_node(fleet, wants).outcome == "fatal"
    assert on_node(fleet, wants, features=RUNNING.fixed()).outcome == "node-error"


@pytest.mark.parametrize("report", ["139814", "139732", "139731"])
def test_configs_keep_their_scope_and_are_told_once(report: str) -> None:
    opaque = {"opaque": {"driver": DRIVER, "parameters": {"mode": "x"}}}
    fleet = Fleet.build(
        [node("node-0"), device_class("gpu", config=[opaque]), published(device("a"), device("b"))]
    )
    wants = claim("c", request("r0"), request("r1"), config=[opaque | {"requests": ["r1"]}, opaque])
    assert on_node(fleet, wants).allocations[0]["devices"]["config"] == [
        {"source": "FromClass", **opaque},
        {"source": "FromClaim", "requests": ["r1"], **opaque},
        {"source": "FromClaim", **opaque},
    ]


def mig_card(index: int) -> tuple[dict[str, int], list[Raw]]:
    """An H100 as the driver publishes it: memory slices are what partitions compete for."""
    slices = {f"memory-slice-{i}": 1 for i in range(8)}
    card = f"gpu-{index}"

    def partition(name: str, profile: str, first: int, size: int) -> Raw:
        use = {f"memory-slice-{i}": 1 for i in range(first, first + size)}
        found = consuming(f"{card}-{name}", card, None, **use)
        found["attributes"] = {"profile": {"string": profile}, "parentUUID": {"string": card}}
        return found

    devices = [partition("full", "full", 0, 8)]
    devices += [partition(f"3g-{at}", "3g.40gb", at, 4) for at in (0, 4)]
    devices += [partition(f"1g-{at}", "1g.10gb", at, 1) for at in range(7)]
    return slices, devices


def mig_node(cards: int = 1, *held: str) -> Fleet:
    sets, devices = {}, []
    for i in range(cards):
        sets[f"gpu-{i}"], more = mig_card(i)
        devices += more
    holders = [allocated(f"held-{name}", result(name)) for name in held]
    return fleet_of(*partitioned(counters(**sets), *devices), *holders)


def profile(name: str, wanted: str, **more: Any) -> Raw:
    return request(
        name, selectors=selecting(f'device.attributes["{DRIVER}"].profile == "{wanted}"'), **more
    )


def test_nvdra_897_partitions_share_a_card_only_if_the_claim_says_so() -> None:
    """First fit takes the free half of card 0 and the rest of card 1."""
    fleet = mig_node(2, "gpu-0-3g-0", "gpu-0-1g-4", "gpu-0-1g-5", "gpu-0-1g-6")
    both = [profile("small", "1g.10gb"), profile("large", "3g.40gb")]
    fleet = apply(fleet, Delete("ResourceClaim", "default", "held-gpu-0-1g-4"))
    apart = devices_of(on_node(fleet, claim("c", *both)))
    assert apart == ["gpu-0-1g-4", "gpu-1-3g-0"]
    wants = claim("c", *both, constraints=[{"matchAttribute": f"{DRIVER}/parentUUID"}])
    assert devices_of(on_node(fleet, wants)) == ["gpu-1-1g-0", "gpu-1-3g-4"]


@pytest.mark.parametrize("report", ["nvdra-719", "accelerators-11"])
def test_a_card_is_not_given_whole_while_a_partition_is_in_use(report: str) -> None:
    assert on_node(mig_node(1, "gpu-0-1g-2"), claim("c", profile("r0", "full"))).outcome == "no"
    assert on_node(mig_node(1), claim("c", profile("r0", "full"))).fits
    assert on_node(mig_node(1, "gpu-0-full"), claim("c", profile("r0", "1g.10gb"))).outcome == "no"


def test_nvdra_932_seven_small_partitions_are_taken_from_the_first_card_that_has_one() -> None:
    """First fit packs by the order of names; static partitions on two cards do not."""
    fleet = mig_node(2)
    groups = [[claim(f"c{i}", profile("r0", "1g.10gb"))] for i in range(7)]
    taken = [devices_of(one)[0] for one in place(fleet, groups, mode="sequence")]
    assert {name[:5] for name in taken} == {"gpu-0"}


def test_nvdra_933_free_memory_that_is_not_adjacent_serves_nobody() -> None:
    """Slices 0, 1 and 5 are held: five of eight are free, and no 3g fits."""
    fleet = mig_node(1, "gpu-0-1g-0", "gpu-0-1g-1", "gpu-0-1g-5")
    assert on_node(fleet, claim("c", profile("r0", "3g.40gb"))).outcome == "no"
    funnel = explain(fleet, profile("r0", "3g.40gb"))
    assert (funnel.matches, funnel.free, funnel.first_empty) == (2, 0, "capacity and counters")


def test_test_infra_886_what_is_legal_by_sum_can_still_be_unplaceable() -> None:
    fleet = mig_node(1)
    small = [claim(f"c{i}", profile("r0", "1g.10gb")) for i in range(5)]
    groups = [[one] for one in small] + [[claim("large", profile("r0", "3g.40gb"))]]
    outcomes = [one.outcome for one in place(fleet, groups, mode="sequence")]
    assert outcomes == ["fits"] * 5 + ["no"]
    better = [groups[-1], *groups[:3]]
    assert all(one.fits for one in place(fleet, better, mode="sequence"))


def test_136709_a_missing_attribute_ends_the_attempt_with_a_hint() -> None:
    bare = device("gpu-0") | {"attributes": {}}
    wants = claim("c", request(selectors=selecting(f'device.attributes["{DRIVER}"].model == "x"')))
    found = on_node(fleet_of(published(bare)), wants)
    assert found.outcome == "fatal"
    assert "no such key: model. consider using CEL optional chaining" in found.reason


def test_dp_491_two_shares_may_be_of_one_card_unless_the_claim_says_distinct() -> None:
    policy = {"default": "1Gi", "validRange": {"min": "1Gi"}}
    shared = {
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": "40Gi", "requestPolicy": policy}},
        "attributes": {"uuid": {"string": "u0"}},
    }
    fleet = fleet_of(published(device("gpu-0") | shared))
    two = [request("r0"), request("r1")]
    assert devices_of(on_node(fleet, claim("c", *two))) == ["gpu-0", "gpu-0"]
    apart = claim("c", *two, constraints=[{"distinctAttribute": f"{DRIVER}/uuid"}])
    assert on_node(fleet, apart).outcome == "no"
