"""From a claim template to a device: claims made, allocated, reserved, told of and freed."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator.fleet.run import running
from simulator.fleet.scenario import load
from tests.contract.client import Client
from tests.contract.conftest import Cluster
from tests.contract.objects import (
    claim_template,
    claim_templates,
    claims,
    device_class,
    device_classes,
    node,
    nodes,
    pod,
    pods,
    request,
    resource_slice,
    resource_slices,
)

Object = dict[str, Any]
DRIVER = "gpu.example.com"
FINALIZER = "resource.kubernetes.io/delete-protection"


@pytest.fixture(scope="module")
def scheduled(cluster: Cluster) -> Iterator[Client]:
    """A cluster with controllers and a scheduler; the simulated one gets its fleet's."""
    if cluster.is_real:
        yield cluster.client
        return
    with running(Path(cluster.client.kubeconfig), load("small", speed=200)):
        yield cluster.client


@pytest.fixture
def place(scheduled: Client, unique: Callable[[str], str]) -> Iterator[str]:
    """The name of a node with two devices, of a class of that name, and of its label."""
    name = unique("place")
    made = node(name, place=name)
    made["status"] = {"capacity": {"cpu": "8", "memory": "8Gi", "pods": "10"}}
    assert scheduled.create(nodes(), made).status == 201
    scheduled.patch(f"{nodes(name)}/status", {"status": made["status"]})
    slice_ = resource_slice(name, name, devices=2)
    for number, device in enumerate(slice_["spec"]["devices"]):
        device["attributes"] = {"index": {"int": number}}
    assert scheduled.create(resource_slices(), slice_).status == 201
    chosen = device_class(name, f'device.driver == "{DRIVER}"')
    assert scheduled.create(device_classes(), chosen).status == 201
    yield name
    scheduled.delete(resource_slices(name))
    scheduled.delete(device_classes(name))
    scheduled.delete(nodes(name))


def asking(api: Client, namespace: str, place: str, name: str, **exactly: Any) -> str:
    """A pod on that node with a claim of its own; gives the pod's path."""
    asked = request("gpu", deviceClassName=place, **exactly)
    api.create(claim_templates(namespace), claim_template(name, asked))
    made = pod(
        name,
        nodeSelector={"place": place},
        resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": name}],
    )
    made["spec"]["containers"][0]["resources"] = {"claims": [{"name": "gpu"}]}
    answer = api.create(pods(namespace), made)
    assert answer.status == 201, answer.body
    return pods(namespace, name)


def bound(item: Object) -> bool:
    return bool(item["spec"].get("nodeName"))


def claim_of(api: Client, namespace: str, item: Object) -> Object:
    (status,) = item["status"]["resourceClaimStatuses"]
    found: Object = api.get(claims(namespace, status["resourceClaimName"])).body
    return found


def devices(claim: Object) -> list[str]:
    return sorted(
        result["device"] for result in claim["status"]["allocation"]["devices"]["results"]
    )


def test_a_template_becomes_a_reserved_device(
    scheduled: Client, namespace: str, place: str
) -> None:
    found = scheduled.wait(asking(scheduled, namespace, place, "one"), bound)
    assert found["spec"]["nodeName"] == place
    claim = claim_of(scheduled, namespace, found)
    meta = claim["metadata"]
    assert meta["annotations"] == {"resource.kubernetes.io/pod-claim-name": "gpu"}
    assert meta["name"].startswith("one-gpu-") and FINALIZER in meta["finalizers"]
    (owner,) = meta["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == (
        "Pod",
        found["metadata"]["uid"],
        True,
    )
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    assert (result["request"], result["driver"], result["pool"]) == ("gpu", DRIVER, place)
    assert result["device"] in ("gpu-0", "gpu-1")
    (user,) = claim["status"]["reservedFor"]
    assert user == {"resource": "pods", "name": "one", "uid": found["metadata"]["uid"]}
    (term,) = claim["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"]
    assert term["matchFields"] == [{"key": "metadata.name", "operator": "In", "values": [place]}]


def test_a_selector_picks_the_device(scheduled: Client, namespace: str, place: str) -> None:
    expression = f'device.attributes["{DRIVER}"].index == 1'
    path = asking(
        scheduled, namespace, place, "one", selectors=[{"cel": {"expression": expression}}]
    )
    found = scheduled.wait(path, bound)
    assert devices(claim_of(scheduled, namespace, found)) == ["gpu-1"]


def test_two_devices_are_two_different_ones(scheduled: Client, namespace: str, place: str) -> None:
    found = scheduled.wait(asking(scheduled, namespace, place, "pair", count=2), bound)
    assert devices(claim_of(scheduled, namespace, found)) == ["gpu-0", "gpu-1"]


def test_a_pod_that_finds_no_device_is_told_why(
    scheduled: Client, namespace: str, place: str
) -> None:
    scheduled.wait(asking(scheduled, namespace, place, "first", count=2), bound)

    def refused(item: Object) -> bool:
        conditions = item["status"].get("conditions") or ()
        return any(c["type"] == "PodScheduled" and c["status"] == "False" for c in conditions)

    found = scheduled.wait(asking(scheduled, namespace, place, "late"), refused)
    (condition,) = [c for c in found["status"]["conditions"] if c["type"] == "PodScheduled"]
    assert condition["reason"] == "Unschedulable"
    assert "nodes are available: " in condition["message"]
    assert "1 cannot allocate all claims" in condition["message"]


def test_a_pod_that_goes_frees_its_device_for_the_next(
    scheduled: Client, namespace: str, place: str
) -> None:
    first = asking(scheduled, namespace, place, "first", count=2)
    old = claim_of(scheduled, namespace, scheduled.wait(first, bound))
    late = asking(scheduled, namespace, place, "late", count=2)
    scheduled.delete(first, {"gracePeriodSeconds": 0})
    scheduled.wait_gone(claims(namespace, old["metadata"]["name"]))
    found = scheduled.wait(late, bound)
    assert devices(claim_of(scheduled, namespace, found)) == ["gpu-0", "gpu-1"]
