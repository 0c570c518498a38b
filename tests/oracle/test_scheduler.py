"""Pods with mixed claims on the real control plane: kube-scheduler and the engine, step by step.

One pod after the other, so that the state on which the scheduler decides is known. A pod that
stays pending is taken away again: a retry in the background would change the state.
"""

import itertools
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from domain.placement import Delete, Fleet, PodFit, Upsert, apply, fits_pod, message
from embedded.controlplane import ControlPlane
from kube import Cluster, Credentials, connect
from kube.credentials import from_kubeconfig
from kube.errors import Invalid, NotFound
from kube.kinds import NODES, PODS, known
from tests.oracle.dice import Dice
from tests.oracle.random_claims import RandomClaims
from tests.oracle.random_fleet import RandomFleet

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

Raw = dict[str, Any]
PODS_TO_PLACE = 300
NAMESPACE = "engine"
NODES_HERE = 6
DRA = "resource.k8s.io/v1"
PATIENCE = 60


@pytest.fixture(scope="module")
def cluster(control_plane: ControlPlane) -> Iterator[Cluster]:
    credentials: Credentials = from_kubeconfig(control_plane.kubeconfig.read_text())
    connected = connect(credentials)
    yield connected
    connected.close()


def test_kube_scheduler_decides_what_the_engine_says(cluster: Cluster) -> None:
    dice = Dice(2039)
    dice.oddness = 0.1
    fleet_made = RandomFleet(dice, extended=False, size=6, most_nodes=NODES_HERE, pools=14)
    asked = RandomClaims(dice, fleet_made)
    set_up(cluster, dice, fleet_made, asked)
    fleet = as_seen(cluster)
    tally: Counter[str] = Counter()
    for i in range(PODS_TO_PLACE):
        claims, pod = wanted(dice, asked, i)
        if any(not accepted(cluster, claim) for claim in claims):
            tally["refused by the API server"] += 1  # its CEL is stricter than the scheduler's
            continue
        for claim in claims:
            fleet = apply(fleet, Upsert(cluster.create(claim)))
        everywhere = [fits_pod(fleet, pod, name) for name in sorted(fleet.nodes)]
        if any(one.outcome == "unknown" for one in everywhere):
            tally["searched for too long"] += 1  # the scheduler gives up after ten seconds
            fleet = taken_away(cluster, fleet, pod, claims)
            continue
        decided = decision(cluster, cluster.create(pod))
        compare(everywhere, decided, claims, cluster)
        if decided["spec"].get("nodeName"):
            tally["placed"] += 1
            for changed in (decided, *(current(cluster, claim) for claim in claims)):
                fleet = apply(fleet, Upsert(changed))
        else:
            tally["pending"] += 1
        if not decided["spec"].get("nodeName") or dice.chance(0.7):
            fleet = taken_away(cluster, fleet, decided, claims)
    assert tally["placed"] > 80 and tally["pending"] > 80, tally


def set_up(cluster: Cluster, dice: Dice, fleet: RandomFleet, asked: RandomClaims) -> None:
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    for node in fleet.nodes:
        node["status"] = {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}}
        cluster.create({"apiVersion": "v1", "kind": "Node", **node})
        node["spec"] = {"taints": [TAINT]} if dice.chance(0.2) else {}
        if node["spec"]:
            cluster.apply(
                {"apiVersion": "v1", "kind": "Node", **{k: node[k] for k in ("metadata", "spec")}},
                force=True,
            )
    for raw in asked.classes:
        if not accepted(cluster, {"apiVersion": DRA, "kind": "DeviceClass", **raw}):
            raw["spec"]["selectors"] = raw["spec"]["selectors"][:1]
        cluster.create({"apiVersion": DRA, "kind": "DeviceClass", **raw})
    for raw in fleet.taint_rules:
        cluster.create({"apiVersion": DRA, "kind": "DeviceTaintRule", **raw})
    for raw in fleet.slices:
        for device in raw["spec"].get("devices", ()):
            # Whoever waits for a driver's conditions blocks the test.
            device.pop("bindingConditions", None)
            device.pop("bindingFailureConditions", None)
        cluster.create({"apiVersion": DRA, "kind": "ResourceSlice", **raw})


TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}


def as_seen(cluster: Cluster) -> Fleet:
    kinds = [known(DRA, kind) for kind in ("ResourceSlice", "DeviceClass", "DeviceTaintRule")]
    claims = known(DRA, "ResourceClaim")
    found = [NODES, PODS, claims, *kinds]
    return Fleet.build(
        {"apiVersion": kind.api_version, "kind": kind.kind, **raw}
        for kind in found
        if kind is not None
        for raw in cluster.list_all(kind)
    )


def wanted(dice: Dice, asked: RandomClaims, i: int) -> tuple[list[Raw], Raw]:
    claims = asked.claims(dice.weighted((0, 1, 2), (1, 8, 1)))
    references = []
    for k, claim in enumerate(claims):
        claim |= {"apiVersion": DRA, "kind": "ResourceClaim"}
        claim["metadata"] = {"namespace": NAMESPACE, "name": f"claim-{i}-{k}"}
        references.append({"name": f"c{k}", "resourceClaimName": f"claim-{i}-{k}"})
        for request in claim["spec"]["devices"]["requests"]:
            request.get("exactly", {}).pop("adminAccess", None)  # needs a labelled namespace
    cpu = dice.weighted(("100m", "500m", "20"), (6, 6, 1))
    spec: Raw = {
        "containers": [
            {
                "name": "main",
                "image": "example.com/x",
                "resources": {"requests": {"cpu": cpu}},
            }
        ],
        "resourceClaims": references,
        "tolerations": [{"key": "dedicated", "operator": "Exists"}] if dice.chance(0.5) else [],
    }
    if dice.chance(0.2):
        spec["nodeSelector"] = {"zone": dice.weighted(("z0", "z1", "z9"), (4, 4, 1))}
    meta = {"namespace": NAMESPACE, "name": f"pod-{i}"}
    return claims, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def accepted(cluster: Cluster, manifest: Raw) -> bool:
    try:
        cluster.create(manifest, dry_run=True)
    except Invalid:
        return False
    return True


def decision(cluster: Cluster, pod: Raw) -> Raw:
    """The pod once the scheduler has said something about it."""
    deadline = time.monotonic() + PATIENCE
    for wait in itertools.chain((0.02, 0.02, 0.05), itertools.repeat(0.1)):
        found = cluster.get(PODS, NAMESPACE, pod["metadata"]["name"])
        if found["spec"].get("nodeName") or said(found):
            return found | {"apiVersion": "v1", "kind": "Pod"}
        assert time.monotonic() < deadline, found
        time.sleep(wait)
    raise AssertionError


def said(pod: Raw) -> str:
    conditions = pod["status"].get("conditions") or ()
    return next((one["message"] for one in conditions if one["type"] == "PodScheduled"), "")


def compare(expected: list[PodFit], decided: Raw, claims: list[Raw], cluster: Cluster) -> None:
    about, node = decided["metadata"]["name"], decided["spec"].get("nodeName")
    # Nodes are looked at side by side: any of those that end the attempt may be the first.
    fatal = [without_panic(one.reasons[0]) for one in expected if one.outcome == "fatal"]
    if fatal:
        assert not node and any(one in without_panic(said(decided)) for one in fatal), about
        return
    fits = {one.node: one for one in expected if one.fits}
    if not fits:
        assert not node and message(expected) in said(decided), (about, node, said(decided))
        return
    assert node in fits, (about, node, said(decided))
    for claim in claims:
        got = current(cluster, claim)["status"]["allocation"]
        here = fits[node].allocations[claim["metadata"]["name"]]
        assert comparable(got) == comparable(here), about


def without_panic(message: str) -> str:
    return message.partition("CEL runtime error")[0].partition("CEL compile error")[0]


def comparable(allocation: Any) -> Raw:
    results = [
        {key: value for key, value in one.items() if key != "shareID"}
        for one in allocation["devices"]["results"]
    ]
    return {
        "results": results,
        "config": allocation["devices"].get("config"),
        "nodeSelector": allocation.get("nodeSelector"),
    }


def current(cluster: Cluster, claim: Raw) -> Raw:
    kind = known(DRA, "ResourceClaim")
    assert kind is not None
    return cluster.get(kind, NAMESPACE, claim["metadata"]["name"]) | {
        "apiVersion": DRA,
        "kind": "ResourceClaim",
    }


def taken_away(cluster: Cluster, fleet: Fleet, pod: Raw, claims: list[Raw]) -> Fleet:
    cluster.delete(PODS, NAMESPACE, pod["metadata"]["name"], grace_seconds=0, missing_ok=True)
    kind = known(DRA, "ResourceClaim")
    assert kind is not None
    fleet = apply(fleet, Delete("Pod", NAMESPACE, pod["metadata"]["name"]))
    for claim in claims:
        name = claim["metadata"]["name"]
        cluster.delete(kind, NAMESPACE, name, missing_ok=True)
        fleet = apply(fleet, Delete("ResourceClaim", NAMESPACE, name))
    for claim in claims:
        until_gone(cluster, claim)
    return fleet


def until_gone(cluster: Cluster, claim: Raw) -> None:
    """The controller lets go of a claim once its pod is gone; the scheduler hears of it then."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            current(cluster, claim)
        except NotFound:
            time.sleep(0.1)
            return
        time.sleep(0.05)
    raise AssertionError(f"{claim['metadata']['name']} is still there")
