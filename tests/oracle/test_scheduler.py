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
from kube.kinds import NODES, PODS, Kind, known
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
GPU = "example.com/gpu"
TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}

CLAIMS, *SHARED = (
    found
    for kind in ("ResourceClaim", "ResourceSlice", "DeviceClass", "DeviceTaintRule")
    if (found := known(DRA, kind)) is not None
)
CREATED: list[tuple[Kind, str]] = []
"""Taken away at the end: the cluster may serve other tests too."""


@pytest.fixture(scope="module")
def cluster(control_plane: ControlPlane) -> Iterator[Cluster]:
    credentials: Credentials = from_kubeconfig(control_plane.kubeconfig.read_text())
    connected = connect(credentials)
    yield connected
    for kind in (PODS, CLAIMS):
        for raw in connected.list_all(kind, namespace=NAMESPACE):
            name = raw["metadata"]["name"]
            connected.delete(kind, NAMESPACE, name, grace_seconds=0, missing_ok=True)
    for kind, name in CREATED:
        connected.delete(kind, None, name, missing_ok=True)
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
        placed = bool(decided["spec"].get("nodeName"))
        tally["placed" if placed else "pending"] += 1
        tally["extended resources"] += placed and asks_for_gpus(pod)
        if placed and dice.chance(0.3):
            for changed in (decided, *claims_of(cluster, decided)):
                fleet = apply(fleet, Upsert(changed))
        else:
            fleet = taken_away(cluster, fleet, decided, claims)
    assert min(tally["placed"], tally["pending"]) > 80 and tally["extended resources"] > 5, tally


def set_up(cluster: Cluster, dice: Dice, fleet: RandomFleet, asked: RandomClaims) -> None:
    make(cluster, "v1", "Namespace", {"metadata": {"name": NAMESPACE}})
    for i, node in enumerate(fleet.nodes):
        node["status"] = {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110"}}
        if i == 0:
            node["status"]["allocatable"][GPU] = "2"  # a device plugin goes before classes
        make(cluster, "v1", "Node", node)
        if dice.chance(0.2):
            tainted = {"metadata": node["metadata"], "spec": {"taints": [TAINT]}}
            cluster.apply({"apiVersion": "v1", "kind": "Node", **tainted}, force=True)
    for i, raw in enumerate(asked.classes):
        raw["spec"] |= {"extendedResourceName": GPU} if i == 0 else {}
        if not accepted(cluster, {"apiVersion": DRA, "kind": "DeviceClass", **raw}):
            raw["spec"]["selectors"] = raw["spec"]["selectors"][:1]
        make(cluster, DRA, "DeviceClass", raw)
    for raw in fleet.taint_rules:
        make(cluster, DRA, "DeviceTaintRule", raw)
    for raw in fleet.slices:
        for device in raw["spec"].get("devices", ()):
            # Whoever waits for a driver's conditions blocks the test.
            device.pop("bindingConditions", None)
            device.pop("bindingFailureConditions", None)
        make(cluster, DRA, "ResourceSlice", raw)


def make(cluster: Cluster, api_version: str, kind: str, raw: Raw) -> None:
    manifest = {"apiVersion": api_version, "kind": kind, **raw}
    cluster.create(manifest)
    CREATED.append((cluster.kind_of(manifest), raw["metadata"]["name"]))


def as_seen(cluster: Cluster) -> Fleet:
    return Fleet.build(
        {"apiVersion": kind.api_version, "kind": kind.kind, **raw}
        for kind in (NODES, PODS, CLAIMS, *SHARED)
        for raw in cluster.list_all(kind)
    )


def wanted(dice: Dice, asked: RandomClaims, i: int) -> tuple[list[Raw], Raw]:
    claims = asked.claims(dice.weighted((0, 1, 2), (2, 8, 1)))
    references = []
    for k, claim in enumerate(claims):
        claim |= {"apiVersion": DRA, "kind": "ResourceClaim"}
        claim["metadata"] = {"namespace": NAMESPACE, "name": f"claim-{i}-{k}"}
        references.append({"name": f"c{k}", "resourceClaimName": f"claim-{i}-{k}"})
        for request in claim["spec"]["devices"]["requests"]:
            request.get("exactly", {}).pop("adminAccess", None)  # needs a labelled namespace
    requests = {"cpu": dice.weighted(("100m", "500m", "20"), (6, 6, 1))}
    if not claims or dice.chance(0.1):
        # Never both: on a node whose device plugin serves the resource, 1.37 fails to bind a pod
        # that has claims of its own too ("nil or empty request mappings").
        requests[GPU] = dice.pick("1", "1", "2")
        claims, references = [], []
    spec: Raw = {
        "containers": [
            {
                "name": "main",
                "image": "example.com/x",
                "resources": {"requests": requests, "limits": requests},
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
    told = (one.get("message", "") for one in conditions if one["type"] == "PodScheduled")
    return next(told, "")


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
    for claim in claims_of(cluster, decided):
        name = claim["metadata"]["name"]
        here = fits[node].allocations
        wanted = here[name] if name in here else here["<extended-resources>"]
        assert comparable(claim["status"]["allocation"]) == comparable(wanted), (about, name)


def asks_for_gpus(pod: Raw) -> bool:
    return GPU in pod["spec"]["containers"][0]["resources"]["requests"]


def claims_of(cluster: Cluster, pod: Raw) -> list[Raw]:
    """Those it names, and the one that the scheduler made for extended resources."""
    names = [one["resourceClaimName"] for one in pod["spec"].get("resourceClaims") or ()]
    pod = cluster.get(PODS, NAMESPACE, pod["metadata"]["name"])
    if extended := pod["status"].get("extendedResourceClaimStatus"):
        names.append(extended["resourceClaimName"])
    return [
        cluster.get(CLAIMS, NAMESPACE, name) | {"apiVersion": DRA, "kind": "ResourceClaim"}
        for name in names
    ]


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


def taken_away(cluster: Cluster, fleet: Fleet, pod: Raw, claims: list[Raw]) -> Fleet:
    name = pod["metadata"]["name"]
    made = [one["metadata"]["name"] for one in claims]
    if pod["spec"].get("nodeName"):
        made = [one["metadata"]["name"] for one in claims_of(cluster, pod)]
    cluster.delete(PODS, NAMESPACE, name, grace_seconds=0, missing_ok=True)
    fleet = apply(fleet, Delete("Pod", NAMESPACE, name))
    for claim in made:
        cluster.delete(CLAIMS, NAMESPACE, claim, missing_ok=True)
        fleet = apply(fleet, Delete("ResourceClaim", NAMESPACE, claim))
    for claim in made:
        until_gone(cluster, claim)
    return fleet


def until_gone(cluster: Cluster, claim: str) -> None:
    """The controller lets go of a claim once its pod is gone; the scheduler hears of it then."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            cluster.get(CLAIMS, NAMESPACE, claim)
        except NotFound:
            time.sleep(0.1)
            return
        time.sleep(0.05)
    raise AssertionError(f"{claim} is still there")
