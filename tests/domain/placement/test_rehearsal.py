from domain.placement import Fleet, Rehearsal, Upsert
from tests.domain.placement.fleets import (
    Raw,
    claim,
    device,
    device_class,
    model_is,
    node,
    pod,
    published,
    request,
)

TEMPLATE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"namespace": "default", "name": "t"},
    "spec": {"spec": claim("x")["spec"]},
}


def replica(i: int) -> Raw:
    return pod(f"pod-{i}", resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "t"}])


def two_nodes() -> Rehearsal:
    devices = [published(device("a"), device("b"), node_name=f"node-{i}") for i in range(2)]
    return Rehearsal(
        Fleet.build([node("node-0"), node("node-1"), device_class(), TEMPLATE, *devices])
    )


def test_replicas_fill_the_cluster_and_the_next_one_waits() -> None:
    play = two_nodes()
    placed = [play.add(replica(i)) for i in range(5)]
    assert [one.node for one in placed[:4]].count("node-0") == 2
    assert placed[4].node is None
    assert placed[4].message == "0/2 nodes are available: 2 cannot allocate all claims."


def test_a_replica_that_ends_leaves_its_device_to_the_next() -> None:
    play = two_nodes()
    for i in range(4):
        play.add(replica(i))
    play.remove("default", "pod-2")
    assert play.add(replica(9)).node is not None
    assert play.add(replica(10)).node is None


def test_an_earlier_state_can_be_taken_up_again() -> None:
    play = two_nodes()
    empty = play.fleet
    for i in range(4):
        play.add(replica(i))
    play.fleet = empty
    assert play.add(replica(9)).node == "node-0"


def test_a_drain_moves_what_still_fits() -> None:
    play = two_nodes()
    for i in range(3):
        play.add(replica(i))
    crowded = next(name for name in ("node-0", "node-1") if len(play.fleet.pods.on_node(name)) == 2)
    moved = play.drain(crowded)
    assert sorted(one.node is not None for one in moved) == [False, True]


def test_a_lost_node_takes_its_devices_with_it() -> None:
    play = two_nodes()
    for i in range(4):
        play.add(replica(i))
    assert [one.node for one in play.lose("node-1")] == [None, None]
    assert set(play.fleet.nodes) == {"node-0"}


def test_another_class_version_decides_for_those_that_come_after() -> None:
    play = two_nodes()
    assert play.add(replica(0)).node is not None
    strict = device_class()
    strict["spec"]["selectors"] = model_is("h100")
    play.change(Upsert(strict))
    assert play.add(replica(1)).node is None


def test_a_shared_claim_stays_while_one_of_its_pods_runs() -> None:
    play = two_nodes()
    play.change(Upsert(claim("shared", request(count=2))))
    reference = [{"name": "gpu", "resourceClaimName": "shared"}]
    first = play.add(pod("first", resourceClaims=reference))
    second = play.add(pod("second", resourceClaims=reference))
    assert first.node == second.node
    play.remove("default", "first")
    assert play.fleet.claims["default", "shared"].is_allocated
    play.remove("default", "second")
    assert not play.fleet.claims["default", "shared"].is_allocated
