"""The nearest fix is one that the engine itself finds fitting, and the smallest of its kind."""

from typing import Any

import pytest

from domain.placement import Delete, Features, Fleet, apply_all, fitting, place
from domain.placement.fix import Fix
from domain.placement.fixes import Fixes, nearest_fixes
from domain.placement.trials import Wanted, wanted_by
from tests.domain.placement.fleets import (
    DRIVER,
    Raw,
    allocated,
    claim,
    device,
    device_class,
    node,
    pod,
    published,
    request,
    result,
    selecting,
)

RUNNING = Features.preset("1.37")


def memory_at_least(amount: str) -> list[Raw]:
    text = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("{amount}")) >= 0'
    return selecting(text)


def fixes(fleet: Fleet, *claims: Raw, **more: Any) -> Fixes:
    return nearest_fixes(fleet, Wanted(claims), RUNNING, **more)


def of_kind(found: Fixes, kind: str) -> list[Fix]:
    return [fix for fix in found.found if fix.kind == kind]


def cards(count: int, *held: str, **more: Any) -> list[Raw]:
    names = [f"gpu-{i}" for i in range(count)]
    devices = published(*(device(name, **more) for name in names))
    return [devices, *(allocated(f"held-{name}", result(name)) for name in held)]


def fleet_of(*objects: Raw) -> Fleet:
    return Fleet.build([node("node-0"), device_class(), *objects])


def test_as_many_devices_as_are_free_are_proposed() -> None:
    fleet = fleet_of(*cards(8, "gpu-0", "gpu-5"))
    found = of_kind(fixes(fleet, claim("c", request(count=8))), "fewer")
    assert [fix.text for fix in found] == ["Ask for 6 instead of 8 in r0"]
    assert found[0].nodes == ("node-0",)


def test_every_fix_fits_when_it_is_asked_for() -> None:
    fleet = fleet_of(*cards(4, "gpu-0", memory="40Gi"))
    wanted = claim("c", request(count=2, selectors=memory_at_least("80Gi")))
    found = fixes(fleet, wanted).found
    assert {fix.kind for fix in found} == {"lower", "selector"}
    for fix in found:
        assert fitting(place(fleet, fix.claims, mode="all", features=RUNNING)) == list(fix.nodes)


def test_memory_is_lowered_to_the_largest_that_is_there() -> None:
    mixed = published(device("a", memory="24Gi"), device("b", memory="48Gi"))
    found = of_kind(
        fixes(fleet_of(mixed), claim("c", request(selectors=memory_at_least("80Gi")))), "lower"
    )
    assert len(found) == 1
    assert found[0].text.startswith("Ask for 48Gi instead of 80Gi in ")


def test_a_share_is_lowered_to_what_is_left_of_the_capacity() -> None:
    share: Raw = {"shareID": "s", "consumedCapacity": {"memory": "30Gi"}}
    shared = published(device("a", memory="40Gi", allowMultipleAllocations=True))
    fleet = fleet_of(shared, allocated("held", result("a", **share)))
    asks = request(capacity={"requests": {"memory": "16Gi"}})
    (found,) = of_kind(fixes(fleet, claim("c", asks)), "lower")
    assert found.text == "Ask for 10Gi memory instead of 16Gi in r0"


def test_patterns_that_fit_are_named_and_the_others_are_not() -> None:
    fleet = fleet_of(*cards(2))
    candidates = {"two": [claim("c", request(count=2))], "three": [claim("c", request(count=3))]}
    found = fixes(fleet, claim("c", request(count=4)), candidates=candidates)
    assert [fix.text for fix in of_kind(found, "pattern")] == ["Pattern two fits now"]


def test_tolerating_a_taint_is_proposed_only_if_it_helps() -> None:
    taint = {"key": "example.com/old", "value": "yes", "effect": "NoSchedule"}
    other = {"key": "example.com/other", "effect": "None"}
    fleet = fleet_of(*cards(1, taints=[taint, other]))
    found = of_kind(fixes(fleet, claim("c")), "tolerate")
    assert [fix.text for fix in found] == [
        "Tolerate the device taint example.com/old=yes:NoSchedule"
    ]


def test_the_fewest_claims_that_must_end_are_found_on_the_right_node() -> None:
    """Two cards are free on node-0 and one on node-1: three need one more there, two more here."""
    objects = [node("node-1"), *cards(4, "gpu-0", "gpu-1")]
    objects.append(published(*(device(f"gpu-{i}") for i in range(3)), node_name="node-1"))
    objects += [allocated(f"on-1-{i}", result(f"gpu-{i}", "node-1")) for i in range(2)]
    fleet = fleet_of(*objects)
    (found,) = of_kind(fixes(fleet, claim("c", request(count=3))), "end")
    assert len(found.ends) == 1
    assert found.nodes == ("node-0",)
    after = apply_all(fleet, [Delete("ResourceClaim", *name.split("/")) for name in found.ends])
    assert place(after, [claim("c", request(count=3))], features=RUNNING)[-1].fits


def test_a_claim_that_has_room_elsewhere_may_move_and_one_that_has_none_must_end() -> None:
    objects = [node("node-1"), *cards(2, "gpu-0")]
    objects.append(published(device("gpu-0"), node_name="node-1"))
    wanted = claim("c", request(count=2))
    found = fixes(fleet_of(*objects), wanted)
    assert [fix.text for fix in of_kind(found, "move")] == [
        "Start anew elsewhere: default/held-gpu-0 to node-1"
    ]
    full = [*objects, allocated("other", result("gpu-0", "node-1"))]
    found = fixes(fleet_of(*full), wanted)
    assert of_kind(found, "move") == []
    assert of_kind(found, "end")[0].ends == ("default/held-gpu-0",)


def test_kueue_5243_only_a_set_that_frees_a_usable_domain_is_named() -> None:
    """Eight claims of one card each over four nodes: ending two on one node is enough."""
    objects: list[Raw] = []
    for i in range(4):
        name = f"n{i}"
        objects += [node(name), published(device("a"), device("b"), node_name=name)]
        objects += [allocated(f"{name}-{one}", result(one, name)) for one in ("a", "b")]
    (found,) = of_kind(
        fixes(Fleet.build([device_class(), *objects]), claim("c", request(count=2))), "end"
    )
    assert found.ends == ("default/n0-a", "default/n0-b")
    assert found.nodes == ("n0",)


def test_what_no_change_could_mend_has_no_fix() -> None:
    found = fixes(fleet_of(), claim("c"))
    assert (found.found, found.partial) == ((), False)


def test_out_of_tries_is_said_and_keeps_what_was_found() -> None:
    fleet = fleet_of(*cards(8, "gpu-0", "gpu-1"))
    found = fixes(fleet, claim("c", request(count=8)), tries_each=3)
    assert found.partial
    assert fixes(fleet, claim("c"), is_over=lambda: True).tries == 0


@pytest.fixture
def waiting() -> Raw:
    return pod("p", resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "t"}])


def template(*requests: Raw) -> Raw:
    spec = {"spec": {"devices": {"requests": list(requests) or [request()]}}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"namespace": "default", "name": "t"},
        "spec": spec,
    }


def test_a_pod_is_told_of_the_node_pool_that_has_room(waiting: Raw) -> None:
    waiting["spec"]["nodeSelector"] = {"pool": "a"}
    fleet = fleet_of(*cards(1), template())
    (found,) = of_kind(nearest_fixes(fleet, wanted_by(fleet, waiting), RUNNING), "nodes")
    assert found.text == "Let it run on other nodes than those with pool=a"
    assert found.nodes == ("node-0",)


def test_a_pod_is_told_of_node_taints_and_cordons(waiting: Raw) -> None:
    tainted, cordoned = node("tainted"), node("cordoned")
    tainted["spec"] = {"taints": [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]}
    cordoned["spec"] = {"unschedulable": True}
    slices = [published(device("a"), node_name=name) for name in ("tainted", "cordoned")]
    fleet = Fleet.build([tainted, cordoned, device_class(), template(), *slices])
    found = nearest_fixes(fleet, wanted_by(fleet, waiting), RUNNING)
    assert [(fix.text, fix.nodes) for fix in found.found] == [
        ("Tolerate the node taint dedicated=x:NoSchedule", ("tainted",)),
        ("Let pods onto cordoned again, which is cordoned", ("cordoned",)),
    ]


def test_fewer_devices_are_tried_with_the_pod_that_asks_for_them(waiting: Raw) -> None:
    """The node with more devices has no cpu for the pod: what is proposed fits the other."""
    waiting["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "4"}}
    small = node("small")
    small["status"]["allocatable"]["cpu"] = "2"
    more = published(*(device(f"g{i}") for i in range(4)), node_name="small")
    fleet = fleet_of(*cards(2), small, more, template(request(count=5)))
    (found,) = of_kind(nearest_fixes(fleet, wanted_by(fleet, waiting), RUNNING), "fewer")
    assert (found.text, found.nodes) == ("Ask for 2 instead of 5 in r0", ("node-0",))


def test_the_label_of_the_node_pool_that_has_room_is_named(waiting: Raw) -> None:
    waiting["spec"]["nodeSelector"] = {"pool": "a"}
    there = node("there")
    there["metadata"]["labels"] = {"pool": "b"}
    devices = published(device("x"), node_name="there")
    fleet = Fleet.build([there, device_class(), template(), devices])
    (found,) = of_kind(nearest_fixes(fleet, wanted_by(fleet, waiting), RUNNING), "nodes")
    assert found.text == "Let it run on other nodes than those with pool=a, such as pool=b"


def test_a_pod_is_told_how_much_cpu_and_memory_the_node_with_the_devices_has_left(
    waiting: Raw,
) -> None:
    asked = {"cpu": "12", "memory": "100Gi"}
    waiting["spec"]["containers"][0]["resources"] = {"requests": asked, "limits": dict(asked)}
    small = node("small")
    small["status"]["allocatable"] = {"cpu": "8", "memory": "64Gi", "pods": "10"}
    other = pod("other")
    other["spec"]["nodeName"] = "small"
    other["spec"]["containers"] = [
        {"name": "o", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
    ]
    devices = published(device("a"), node_name="small")
    fleet = Fleet.build([small, other, device_class(), template(), devices])
    (found,) = of_kind(nearest_fixes(fleet, wanted_by(fleet, waiting), RUNNING), "resources")
    name = waiting["spec"]["containers"][0]["name"]
    assert found.text == (
        f"Ask for 7500m of cpu instead of 12 in container {name}"
        f" and 63Gi of memory instead of 100Gi in container {name}"
    )
    assert found.nodes == ("small",)
    assert found.pod is not None
    assert found.pod["spec"]["containers"][0]["resources"]["limits"]["cpu"] == "7500m"


def test_less_cpu_is_not_proposed_where_it_would_not_help(waiting: Raw) -> None:
    waiting["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "12"}}
    small = node("small")
    small["status"]["allocatable"]["cpu"] = "2"
    fleet = Fleet.build([small, device_class(), template()])
    assert of_kind(nearest_fixes(fleet, wanted_by(fleet, waiting), RUNNING), "resources") == []
