from typing import Any

import pytest

from domain.placement import Fleet, PodFit, Upsert, apply, fits_pod, message, place_pod
from tests.domain.placement.fleets import (
    DRIVER,
    Raw,
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

GPU = "example.com/gpu"


def requesting(**requests: str) -> Raw:
    return {"name": "main", "resources": {"requests": requests}}


def running(name: str, node_name: str = "node-0", **spec: Any) -> Raw:
    return pod(name, nodeName=node_name, **spec) | {"status": {"phase": "Running"}}


def fit(fleet: Fleet, wants: Raw, node_name: str = "node-0") -> PodFit:
    return fits_pod(fleet, wants, node_name)


def with_spec(raw: Raw, **spec: Any) -> Raw:
    return raw | {"spec": raw.get("spec", {}) | spec}


TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("spec", "wants", "reason"),
    [
        ({}, {"nodeName": "node-1"}, "node(s) didn't match the requested node name"),
        ({"unschedulable": True}, {}, "node(s) were unschedulable"),
        ({"taints": [TAINT]}, {}, "node(s) had untolerated taint(s)"),
        ({}, {"nodeSelector": {"zone": "b"}}, "node(s) didn't match Pod's node affinity/selector"),
        ({}, {"containers": [requesting(cpu="9")]}, "Insufficient cpu"),
        ({}, {"containers": [requesting(**{GPU: "1"})]}, f"Insufficient {GPU}"),
    ],
)
def test_a_filter_refuses_in_the_words_of_the_scheduler(spec: Raw, wants: Raw, reason: str) -> None:
    fleet = Fleet.build([with_spec(node(), **spec)])
    assert fit(fleet, pod(**wants)).reasons == (reason,)


@pytest.mark.parametrize(
    ("spec", "wants"),
    [
        ({"unschedulable": True}, {"tolerations": [{"operator": "Exists"}]}),
        ({"taints": [TAINT]}, {"tolerations": [{"key": "dedicated", "operator": "Exists"}]}),
        ({"taints": [TAINT | {"effect": "PreferNoSchedule"}]}, {}),
        ({}, {"nodeSelector": {"zone": "a"}}),
        ({}, {"containers": [requesting(cpu="8", memory="32Gi")]}),
    ],
)
def test_a_filter_lets_pass_what_it_should(spec: Raw, wants: Raw) -> None:
    fleet = Fleet.build([with_spec(node(zone="a"), **spec)])
    assert fit(fleet, pod(**wants)).fits


def test_several_resources_that_lack_are_all_told() -> None:
    fleet = Fleet.build([node(), running("other", containers=[requesting(cpu="8", memory="1Gi")])])
    wants = pod(containers=[requesting(cpu="100m", memory="32Gi")])
    assert fit(fleet, wants).reasons == ("Insufficient cpu", "Insufficient memory")


def test_a_pod_that_ended_takes_no_room() -> None:
    done = running("other", containers=[requesting(cpu="8")]) | {"status": {"phase": "Succeeded"}}
    wants = pod(containers=[requesting(cpu="8")])
    assert fit(Fleet.build([node(), done]), wants).fits


def test_too_many_pods() -> None:
    small = node()
    small["status"]["allocatable"]["pods"] = "1"
    fleet = Fleet.build([small, running("other")])
    assert fit(fleet, pod()).reasons == ("Too many pods",)
    assert fit(fleet, pod("other")).fits  # the pod itself does not count against it


@pytest.mark.parametrize(
    ("ip", "other", "fits"),
    [("", "", False), ("10.0.0.1", "", False), ("10.0.0.1", "10.0.0.2", True)],
)
def test_host_ports_collide_by_address(ip: str, other: str, fits: bool) -> None:
    def with_port(address: str) -> list[Raw]:
        return [{"name": "main", "ports": [{"hostPort": 80, "hostIP": address}]}]

    fleet = Fleet.build([node(), running("other", containers=with_port(other))])
    assert fit(fleet, pod(containers=with_port(ip))).fits is fits


def test_init_containers_count_by_their_peak_and_sidecars_beside_the_rest() -> None:
    sidecar = requesting(cpu="1") | {"restartPolicy": "Always"}
    wants = pod(
        initContainers=[sidecar, requesting(cpu="5")],
        containers=[requesting(cpu="2"), requesting(cpu="2")],
        overhead={"cpu": "1"},
    )
    fleet = Fleet.build([node(), running("other", containers=[requesting(cpu="1")])])
    assert fit(fleet, wants).fits  # max(1 + 5, 1 + 2 + 2) + 1 = 7 of 8
    tight = apply(fleet, Upsert(running("third", containers=[requesting(cpu="1m")])))
    assert fit(tight, wants).reasons == ("Insufficient cpu",)


def affinity(*terms: Raw) -> Raw:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def named(*names: str) -> Raw:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": list(names)}]}


def test_affinity_to_a_node_by_name_leaves_the_others_out_beforehand() -> None:
    fleet = Fleet.build([node("node-0"), node("node-1")])
    wants = pod(affinity=affinity(named("node-1")))
    fits = place_pod(fleet, wants).fits
    assert [one.reasons for one in fits] == [
        ("node(s) didn't satisfy plugin(s) [NodeAffinity]",),
        (),
    ]
    both = {"matchFields": [*named("a")["matchFields"], *named("b")["matchFields"]]}
    torn = place_pod(fleet, pod(affinity=affinity(both)))
    assert torn.message == "0/2 nodes are available: pod affinity terms conflict."


def with_claim(*more: Raw, asked: Raw | None = None) -> Fleet:
    return Fleet.build(
        [
            node("node-0"),
            node("node-1"),
            device_class(),
            published(device("gpu-0")),
            published(device("gpu-0", "h100"), node_name="node-1"),
            asked or claim("c"),
            *more,
        ]
    )


WANTS = pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "c"}])


def test_a_claim_that_is_allocated_elsewhere_keeps_the_pod_there() -> None:
    at = named("node-1")
    held = allocated("c", result("gpu-0", "node-1"))
    held["status"]["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [at]}
    fleet = with_claim(asked=held)
    assert fit(fleet, WANTS, "node-0").reasons == ("resourceclaim not available on the node",)
    assert fit(fleet, WANTS, "node-1").fits


def test_a_claim_whose_consumers_are_full_is_in_use() -> None:
    users = [{"resource": "pods", "name": f"p{i}", "uid": f"u{i}"} for i in range(256)]
    fleet = with_claim(asked=allocated("c", result("gpu-0"), reservedFor=users))
    placed = place_pod(fleet, WANTS)
    assert placed.message == "0/2 nodes are available: resourceclaim in use."


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        ([claim("c", request(class_name="gone"))], "request r0: device class gone does not exist"),
        (
            [claim("c") | {"metadata": {**claim("c")["metadata"], "deletionTimestamp": "now"}}],
            'resourceclaim "c" is being deleted',
        ),
    ],
)
def test_what_stands_in_the_way_everywhere_is_told_for_all_nodes(
    objects: list[Raw], said: str
) -> None:
    placed = place_pod(with_claim(asked=objects[0]), WANTS)
    assert placed.message == f"0/2 nodes are available: {said}."


def test_a_template_stands_for_the_claim_that_it_will_make() -> None:
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"namespace": "default", "name": "t"},
        "spec": {"spec": claim("x", request(selectors=model_is("h100")))["spec"]},
    }
    wants = pod(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "t"}])
    placed = place_pod(with_claim(template), wants)
    assert placed.node == "node-1"
    assert set(placed.allocations) == {"pod-0-gpu"}
    assert "template was read" in placed.considered_not[0]
    missing = place_pod(with_claim(), wants)
    assert "ResourceClaim not created yet" in missing.message


def test_a_claim_of_another_pod_with_the_same_name_is_no_claim_of_this_one() -> None:
    wants = pod(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "t"}]) | {
        "status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}]}
    }
    assert "Pod is not owner" in place_pod(with_claim(), wants).message


def test_extended_resources_that_a_class_serves_become_a_claim() -> None:
    serving = device_class("gpu", extendedResourceName=GPU)
    fleet = with_claim(serving)
    first = requesting(**{GPU: "1", "cpu": "1"})
    placed = place_pod(fleet, pod(containers=[first]))
    assert placed.node == "node-0"
    assert placed.extended_claim is not None
    (asked,) = placed.extended_claim["spec"]["devices"]["requests"]
    assert (asked["name"], asked["exactly"]["count"]) == ("container-0-request-1", 1)
    (found,) = placed.allocations["<extended-resources>"]["devices"]["results"]
    assert (found["driver"], found["device"]) == (DRIVER, "gpu-0")
    two = requesting(**{GPU: "2"})
    assert place_pod(fleet, pod(containers=[two])).message == (
        "0/2 nodes are available: 2 cannot allocate all claims."
    )


def test_an_implicit_name_reaches_the_class_too() -> None:
    wants = requesting(**{"deviceclass.resource.kubernetes.io/gpu": "1"})
    assert place_pod(with_claim(), pod(containers=[wants])).node == "node-0"


def test_a_device_plugin_with_stock_goes_before_the_class() -> None:
    plugin = node("node-0")
    plugin["status"]["allocatable"][GPU] = "1"
    fleet = with_claim(device_class("gpu", extendedResourceName=GPU), plugin)
    placed = fit(fleet, pod(containers=[requesting(**{GPU: "1"})]))
    assert placed.fits and not placed.allocations
    two = fit(fleet, pod(containers=[requesting(**{GPU: "2"})]))
    assert two.reasons == (f"Insufficient {GPU}",)


def test_a_pod_that_the_running_release_fails_to_bind_is_told_so() -> None:
    plugin = node("node-0")
    plugin["status"]["allocatable"][GPU] = "1"
    fleet = with_claim(device_class("gpu", extendedResourceName=GPU), plugin)
    both = pod(
        resourceClaims=[{"name": "gpu", "resourceClaimName": "c"}],
        containers=[requesting(**{GPU: "1"})],
    )
    assert "fails to bind" in fit(fleet, both).considered_not[0]
    assert not fit(fleet, both, "node-1").considered_not


def test_init_containers_reuse_what_later_ones_ask_for() -> None:
    fleet = with_claim(
        published(device("gpu-0"), device("gpu-1"), device("gpu-2")),
        device_class("gpu", extendedResourceName=GPU),
    )
    wants = pod(initContainers=[requesting(**{GPU: "3"})], containers=[requesting(**{GPU: "2"})])
    claimed = place_pod(fleet, wants).extended_claim
    assert claimed is not None
    counts = {
        one["name"]: one["exactly"]["count"] for one in claimed["spec"]["devices"]["requests"]
    }
    assert counts == {"container-0-request-0": 1, "container-1-request-0": 2}


def test_the_emptier_node_is_chosen_and_with_most_allocated_the_fuller_one() -> None:
    fleet = with_claim(running("other", "node-0", containers=[requesting(cpu="4", memory="8Gi")]))
    wants = pod(containers=[requesting(cpu="1", memory="1Gi")])
    assert place_pod(fleet, wants).node == "node-1"
    assert place_pod(fleet, wants, strategy="most-allocated").node == "node-0"
    assert place_pod(fleet, wants, strategy="first").node == "node-0"


def test_the_first_alternative_weighs_more_than_an_empty_node() -> None:
    alternatives = [
        {"name": "best", "deviceClassName": "gpu", "selectors": model_is("h100")},
        {"name": "other", "deviceClassName": "gpu"},
    ]
    fleet = with_claim(
        running("other", "node-1", containers=[requesting(cpu="1")]),
        asked=claim("c", {"name": "r0", "firstAvailable": alternatives}),
    )
    placed = place_pod(fleet, WANTS)
    assert placed.node == "node-1"
    assert placed.allocations["c"]["devices"]["results"][0]["request"] == "r0/best"


def test_a_fatal_answer_on_one_node_is_the_whole_answer() -> None:
    bad = request(selectors=[{"cel": {"expression": "device.nosuch"}}])
    placed = place_pod(with_claim(asked=claim("c", bad)), WANTS)
    assert placed.node is None
    assert placed.message.startswith("claim default/c: selector #0: CEL compile error")


def test_a_message_counts_each_reason_once_per_node_and_sorts_them_as_text() -> None:
    fits = [PodFit(f"n{i}", "no", ("b", "a") if i else ("c",)) for i in range(11)]
    assert message(fits) == "0/11 nodes are available: 1 c, 10 a, 10 b."


def test_a_pod_behind_scheduling_gates_waits() -> None:
    placed = place_pod(with_claim(), pod(schedulingGates=[{"name": "quota"}]))
    assert "waiting for scheduling gates: quota" in placed.message
