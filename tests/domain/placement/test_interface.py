from domain.placement import (
    Delete,
    Features,
    Fleet,
    Upsert,
    apply,
    explain,
    fits_pod,
    match_count,
    place,
    place_pod,
)
from tests.domain.placement.fleets import (
    DRIVER,
    allocated,
    claim,
    device,
    device_class,
    model_is,
    node,
    pod,
    published,
    request,
    result,
)


def two_nodes() -> Fleet:
    return Fleet.build(
        [
            node("node-0"),
            node("node-1"),
            published(device("gpu-0"), device("gpu-1", "h100", "80Gi")),
            published(device("gpu-0", "h100", "80Gi"), node_name="node-1"),
            device_class(),
            allocated("held", result("gpu-1")),
        ]
    )


def test_the_first_free_device_of_the_first_node_is_taken() -> None:
    (decision,) = place(two_nodes(), [claim()])
    assert decision.fits and decision.node == "node-0"
    (allocation,) = decision.allocations
    assert allocation["devices"]["results"] == [
        {"request": "r0", "driver": DRIVER, "pool": "node-0", "device": "gpu-0"}
    ]


def test_a_device_that_an_allocated_claim_holds_is_not_given_again() -> None:
    wants = claim("c", request(selectors=model_is("h100")))
    decisions = place(two_nodes(), [wants], mode="all")
    assert [one.outcome for one in decisions] == ["no", "fits"]


def test_a_change_leaves_the_older_fleet_as_it_was() -> None:
    before = two_nodes()
    wants = claim("c", request(selectors=model_is("h100")))
    after = apply(before, Delete("ResourceClaim", "default", "held"))
    assert place(after, [wants], ["node-0"])[0].fits
    assert not place(before, [wants], ["node-0"])[0].fits


def test_an_object_that_cannot_be_read_is_named_and_the_rest_still_counts() -> None:
    broken = published(device("gpu-9"), node_name="node-1") | {"spec": {"driver": 7}}
    fleet = apply(two_nodes(), Upsert(broken))
    (fault,) = fleet.faults.values()
    assert (fault.kind, fault.name) == ("ResourceSlice", "slice-node-1")
    assert "spec.driver" in fault.reason or "spec.pool" in fault.reason
    assert [one.outcome for one in place(fleet, [claim()], mode="all")] == ["fits", "no"]
    assert not apply(fleet, Delete("ResourceSlice", "", "slice-node-1")).faults


def test_a_sequence_carries_what_was_taken() -> None:
    decisions = place(two_nodes(), [[claim(f"c{i}")] for i in range(3)], mode="sequence")
    assert [one.node for one in decisions] == ["node-0", "node-1", ""]
    assert decisions[-1].outcome == "no"


def test_the_funnel_says_what_each_filter_removed() -> None:
    funnel = explain(two_nodes(), request(selectors=model_is("h100")))
    assert [(layer.name, layer.count) for layer in funnel.layers] == [
        ("devices", 3),
        ("visible", 3),
        ("class selectors", 3),
        ("request selectors", 2),
        ("not tainted", 2),
        ("not in use", 1),
        ("capacity and counters", 1),
        ("constraints", 1),
        ("on schedulable nodes", 1),
    ]
    assert (funnel.matches, funnel.free, funnel.on_nodes) == (2, 1, 1)
    assert funnel.first_empty is None
    assert "model is a100" in funnel.layers[3].detail


def test_the_funnel_names_the_filter_that_left_nothing() -> None:
    asked = request(capacity={"requests": {"memory": "100Gi"}})
    funnel = explain(two_nodes(), asked)
    assert funnel.first_empty == "capacity and counters"
    detail = next(one.detail for one in funnel.layers if one.name == funnel.first_empty)
    assert "memory: 100Gi asked, 40Gi free" in detail


def test_matches_count_what_selectors_accept_and_what_is_free() -> None:
    counted = match_count(two_nodes(), [f'device.driver == "{DRIVER}"'], model_is("h100"))
    assert (counted.total, counted.matches, counted.free) == (3, 2, 1)


def test_a_pod_goes_to_the_node_that_has_its_device() -> None:
    fleet = apply(two_nodes(), Upsert(claim("c", request(selectors=model_is("h100")))))
    wants = pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "c"}])
    assert fits_pod(fleet, wants, "node-0").reasons == ("cannot allocate all claims",)
    placed = place_pod(fleet, wants)
    assert placed.node == "node-1"
    assert set(placed.allocations) == {"c"}


def test_a_pod_that_fits_nowhere_is_told_so_in_the_words_of_the_scheduler() -> None:
    fleet = apply(two_nodes(), Upsert(node("node-2") | {"spec": {"unschedulable": True}}))
    fleet = apply(fleet, Upsert(claim("c", request(count=3))))
    wants = pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "c"}])
    assert place_pod(fleet, wants).message == (
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 cannot allocate all claims."
    )


def test_what_is_not_modelled_is_said() -> None:
    fleet = two_nodes()
    spread = pod(topologySpreadConstraints=[{"maxSkew": 1}])
    assert place_pod(fleet, spread).considered_not == ("topology spread",)
    (decision,) = place(fleet, [claim()], features=Features.preset("1.34"))
    assert "random order" in decision.considered_not[0]


def test_a_scheduler_that_does_not_know_skipped_operations_takes_the_device_all_the_same() -> None:
    """Found by generated case 300072093. The variant that knows them wants its gate and the
    node's word; the others do not look at the field, and do not write it."""
    skipping = published(device("gpu-0"))
    skipping["spec"]["skipNodeOperations"] = ["NodePrepareResources", "NodeUnprepareResources"]
    fleet = Fleet.build([node("node-0"), skipping, device_class()])
    (running,) = place(fleet, [claim()], mode="all", features=Features.preset("1.37"))
    assert running.fits
    results = running.allocations[0]["devices"]["results"]
    assert "skipNodeOperations" not in results[0]
    everything = Features.preset("all")
    assert not place(fleet, [claim()], mode="all", features=everything)[0].fits
    experimental = Features(derived_attributes=True)
    assert not place(fleet, [claim()], mode="all", features=experimental)[0].fits
