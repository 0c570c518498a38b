"""A cluster into rows, through everything that goes wrong on the way."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection as database

import kube
from apps.claims.models import Claim, Use
from apps.inventory import connections
from apps.inventory.models import Cluster, Device, Mirrored, Node, Revision, WatchLease
from kube import credentials, kinds
from kube.client import Json
from tests.mirrors import ended
from tests.workers import fleet
from workers.mirroring import Mirroring

pytestmark = pytest.mark.django_db(transaction=True)


def eventually(holds: Callable[[], bool], seconds: float = 15) -> None:
    """Wait for something that another thread brings about."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.02)


def register(server: Any, slug: str = "lab") -> Cluster:
    """A row for a simulated API server, as registering it would make."""
    found = credentials.from_kubeconfig(Path(server.kubeconfig).read_text())
    return Cluster.objects.create(
        slug=slug, name=slug, server=found.server, credentials=connections.sealed(found)
    )


class Lab:
    """A simulated cluster, a client to change it with, and the thread that mirrors it."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.cluster = register(server)
        with open(server.kubeconfig, encoding="utf-8") as file:
            self.client = kube.connect(credentials.from_kubeconfig(file.read()))
        self.threads: list[Mirroring] = []

    def mirror(self, holder: str = "test") -> Mirroring:
        thread = Mirroring(self.cluster.pk, self.cluster.slug, holder)
        self.threads.append(thread)
        thread.start()
        return thread

    def stop(self) -> None:
        ended(*self.threads)
        self.threads.clear()

    def apply(self, *manifests: Json) -> None:
        for manifest in manifests:
            self.client.apply(manifest, force=True)
            if "status" in manifest:
                kind = self.client.kind_of(manifest)
                metadata = manifest["metadata"]
                self.client.patch_merge(
                    kind,
                    metadata.get("namespace"),
                    metadata["name"],
                    {"status": manifest["status"]},
                    sub="status",
                )

    def names(self, kind: str) -> set[str]:
        rows = Mirrored.objects.filter(cluster=self.cluster, kind=kind)
        return set(rows.values_list("name", flat=True))

    def clear(self) -> None:
        for kind in (kinds.PODS, kinds.CLAIMS, kinds.SLICES, kinds.NODES, kinds.TAINT_RULES):
            for found in self.client.list_all(kind):
                metadata = found["metadata"]
                self.client.delete(
                    kind,
                    metadata.get("namespace"),
                    metadata["name"],
                    missing_ok=True,
                    grace_seconds=0,
                )


@pytest.fixture
def lab(simulated: Any) -> Iterator[Lab]:
    found = Lab(simulated)
    yield found
    found.stop()
    simulated.faults.clear()
    found.clear()
    found.client.close()


def listed(lab: Lab) -> bool:
    return Node.objects.filter(cluster=lab.cluster).exists()


def test_a_cluster_becomes_rows(lab: Lab) -> None:
    held = fleet.claim("one") | {"status": fleet.allocation("n1", "gpu-0")}
    lab.apply(fleet.node("n1"), fleet.resource_slice("n1"), held)
    lab.apply(fleet.plugin_node("n2", 4), fleet.pod("p", "n2", **{"nvidia.com/gpu": "2"}))
    lab.mirror()
    eventually(lambda: Node.objects.filter(cluster=lab.cluster).count() == 2)
    first, second = Node.objects.filter(cluster=lab.cluster).order_by("name")
    assert (first.physical, first.in_dra, first.free, first.path) == (8, 1, 7, "dra")
    assert (second.physical, second.in_plugin, second.free) == (4, 2, 2)
    assert first.product == "NVIDIA H100 80GB HBM3" and first.driver_version == "580.95.5"
    taken = Device.objects.get(cluster=lab.cluster, node_name="n1", name="gpu-0")
    assert (taken.state, taken.holder, taken.device_class) == ("dra", "default/one", fleet.DRIVER)
    claim = Claim.objects.get(cluster=lab.cluster)
    assert (claim.state, claim.node_name, claim.devices) == ("reserved", "n1", 1)
    uses = {use.kind: use for use in Use.objects.filter(cluster=lab.cluster)}
    assert uses["claim"].device == "gpu-0" and uses["claim"].ended_at is None
    assert uses["pod"].amount == 2 and uses["pod"].device_class == "nvidia.com/gpu"
    eventually(lambda: Cluster.objects.get(pk=lab.cluster.pk).heard_at is not None)


def test_a_change_and_a_removal_arrive(lab: Lab) -> None:
    lab.apply(fleet.node("n1"), fleet.resource_slice("n1"), fleet.claim("one"))
    lab.mirror()
    eventually(lambda: listed(lab))
    eventually(lambda: Claim.objects.filter(state="pending").exists())
    held = fleet.claim("one") | {"status": fleet.allocation("n1", "gpu-3")}
    lab.apply(held)
    eventually(lambda: Node.objects.get(name="n1").in_dra == 1)
    eventually(lambda: Use.objects.filter(device="gpu-3", ended_at=None).exists())
    lab.client.delete(kinds.CLAIMS, "default", "one")
    eventually(lambda: Node.objects.get(name="n1").free == 8)
    eventually(lambda: Use.objects.filter(device="gpu-3").exclude(ended_at=None).exists())
    lab.client.delete(kinds.SLICES, None, f"n1-{fleet.DRIVER}")
    eventually(lambda: not Device.objects.exists())
    lab.client.delete(kinds.NODES, None, "n1")
    eventually(lambda: not Node.objects.exists())


@pytest.mark.parametrize(
    ("kind", "match"),
    [
        ("drop-watch", "WATCH *"),
        ("half-watch", "WATCH *"),
        ("410", "WATCH *"),
        ("410", "GET /api/v1/nodes"),
        ("500", "GET *"),
        ("429", "*"),
        ("away", "*"),
        ("expired-token", "*"),
    ],
)
def test_nothing_is_missed_or_doubled_after(lab: Lab, kind: str, match: str) -> None:
    from simulator.apiserver import Fault

    lab.apply(*(fleet.node(f"n{number}") for number in range(3)))
    lab.server.faults.add(Fault(kind, match=match, times=3, seconds=0.1))
    lab.mirror()
    for number in range(3, 9):
        if number < 5:
            lab.server.faults.add(Fault(kind, match="WATCH *", times=1, seconds=0.05))
        retrying(lambda number=number: lab.apply(fleet.node(f"n{number}")))  # type: ignore[misc]
        time.sleep(0.1)
    retrying(lambda: lab.client.delete(kinds.NODES, None, "n0", missing_ok=True))
    wanted = {f"n{number}" for number in range(1, 9)}
    eventually(lambda: lab.names("nodes") == wanted, 30)
    eventually(lambda: set(Node.objects.values_list("name", flat=True)) == wanted, 30)
    rows = Mirrored.objects.filter(kind="nodes").values_list("uid", "resource_version")
    there = {
        (found["metadata"]["uid"], found["metadata"]["resourceVersion"])
        for found in lab.client.list_all(kinds.NODES)
    }
    assert sorted(rows) == sorted(there)


def retrying(action: Callable[[], object]) -> None:
    """The test's own client meets the faults too."""
    for _ in range(40):
        try:
            action()
        except kube.errors.ClusterError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the fault did not end")


def test_what_went_while_nobody_looked_is_found_by_the_next_list(lab: Lab) -> None:
    held = fleet.claim("one") | {"status": fleet.allocation("n1", "gpu-0")}
    lab.apply(fleet.node("n1"), fleet.node("n2"), fleet.resource_slice("n1"), held)
    lab.mirror()
    eventually(lambda: Node.objects.count() == 2 and Use.objects.count() == 1)
    lab.stop()
    before = dict(Mirrored.objects.values_list("uid", "id"))
    lab.client.delete(kinds.NODES, None, "n2")
    lab.client.delete(kinds.CLAIMS, "default", "one")
    lab.apply(fleet.node("n3"))
    lab.mirror()
    eventually(lambda: set(Node.objects.values_list("name", flat=True)) == {"n1", "n3"})
    eventually(lambda: Use.objects.get().ended_at is not None)
    assert Node.objects.get(name="n1").free == 8 and not Claim.objects.exists()
    after = dict(Mirrored.objects.values_list("uid", "id"))
    assert {uid: pk for uid, pk in after.items() if uid in before}.items() <= before.items()


def test_a_cluster_that_is_away_keeps_its_rows(lab: Lab) -> None:
    from simulator.apiserver import Fault

    lab.apply(fleet.node("n1"), fleet.resource_slice("n1"))
    lab.mirror()
    eventually(lambda: listed(lab))
    lab.server.faults.add(Fault("away", match="*", times=-1))
    lab.server.faults.add(Fault("drop-watch", match="WATCH *", times=-1))
    lab.stop()
    lab.mirror()
    eventually(lambda: Cluster.objects.get().problem != "")
    assert Node.objects.get().free == 8 and Device.objects.count() == 8


def test_a_frozen_leader_that_wakes_writes_nothing(lab: Lab) -> None:
    lab.apply(fleet.node("n1"))
    first = lab.mirror("first")
    eventually(lambda: listed(lab))
    frozen = threading.Event()
    thawed = threading.Event()
    freeze(first, frozen, thawed)
    lab.apply(fleet.node("n2"))
    frozen.wait(10)
    # Its lease runs out while it stands still, and another one takes over.
    WatchLease.objects.update(until="2020-01-01T00:00:00Z")
    lab.mirror("second")
    eventually(lambda: Node.objects.filter(name="n2").exists())
    lab.client.delete(kinds.NODES, None, "n2")
    eventually(lambda: not Node.objects.filter(name="n2").exists())
    revision = Revision.objects.get(kind="nodes").value
    thawed.set()  # now the first one would write n2 again
    first.join(1)
    time.sleep(0.5)
    assert not Node.objects.filter(name="n2").exists()
    assert Revision.objects.get(kind="nodes").value == revision
    assert WatchLease.objects.get().holder == "second"


def freeze(thread: Mirroring, frozen: threading.Event, thawed: threading.Event) -> None:
    """Let the thread stand still right before its next transaction, as a suspended process."""
    import workers.mirroring

    module: Any = workers.mirroring
    real = module.store

    def slow(leadership: Any, *args: Any, **options: Any) -> Any:
        if threading.current_thread() is thread and not thawed.is_set():
            frozen.set()
            thawed.wait(20)
            module.store = real
        return real(leadership, *args, **options)

    module.store = slow


def test_the_database_may_go_away_for_a_while(lab: Lab) -> None:
    lab.apply(fleet.node("n1"))
    lab.mirror()
    eventually(lambda: listed(lab))
    with database.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    lab.apply(fleet.node("n2"))
    eventually(lambda: Node.objects.filter(name="n2").exists(), 20)


def test_malformed_objects_are_named_and_skipped(lab: Lab) -> None:
    broken = fleet.resource_slice("n2")
    broken["spec"]["devices"][0]["capacity"] = {"memory": {"value": "a lot"}}
    lab.apply(fleet.node("n1"), fleet.node("n2"), broken, fleet.resource_slice("n1"))
    lab.mirror()
    eventually(lambda: Node.objects.count() == 2)
    (why,) = Revision.objects.get(kind="resourceslices").malformed
    assert why.startswith("n2-") and "a lot" in why
    assert Node.objects.get(name="n1").physical == 8
    lab.apply(fleet.resource_slice("n2"))
    eventually(lambda: Node.objects.get(name="n2").physical == 8)
    assert Revision.objects.get(kind="resourceslices").malformed == []


def test_hostile_strings_are_only_strings(lab: Lab) -> None:
    slice_ = fleet.resource_slice("n1", cards=1)
    attributes = slice_["spec"]["devices"][0]["attributes"]
    attributes["productName"] = {"string": "<script>\u0000'; DROP TABLE x; -- ${{ 'é🙂' }}"}
    attributes["uuid"] = {"string": "x" * 10_000}
    lab.apply(fleet.node("n1"), slice_)
    lab.mirror()
    eventually(lambda: Device.objects.count() == 1)
    row = Device.objects.get()
    assert row.product.startswith("<script>\ufffd'; DROP") and len(row.uuid) == 500


@pytest.mark.cluster
def test_a_real_clusters_scheduler_is_mirrored(control_plane: Any) -> None:
    """kube-scheduler allocates; what it decided becomes rows."""
    lab = Lab(control_plane)
    try:
        name = "mirrored-n1"
        labels = {"kubernetes.io/hostname": name}
        lab.apply(fleet.node(name, **labels), fleet.resource_slice(name, cards=2))
        lab.client.apply(fleet.device_class())
        lab.client.apply(fleet.claim("mirrored"))
        waits = fleet.pod("mirrored", "")
        del waits["spec"]["nodeName"], waits["status"]
        waits["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "mirrored"}]
        waits["spec"]["containers"][0]["resources"] = {"claims": [{"name": "gpu"}]}
        waits["spec"]["nodeSelector"] = {"kubernetes.io/hostname": name}
        lab.mirror()
        eventually(lambda: Claim.objects.filter(name="mirrored", state="pending").exists())
        lab.client.apply(waits)
        eventually(lambda: Claim.objects.filter(name="mirrored", node_name=name).exists(), 30)
        device = Device.objects.get(node_name=name, holder="default/mirrored")
        assert device.state == "dra" and device.device_class == fleet.DRIVER
        assert Node.objects.get(name=name).in_dra == 1
        assert Use.objects.get(name="mirrored").device == device.name
    finally:
        lab.stop()
        for kind, namespace, found in (
            (kinds.PODS, "default", "mirrored"),
            (kinds.CLAIMS, "default", "mirrored"),
            (kinds.SLICES, None, f"{name}-{fleet.DRIVER}"),
            (kinds.NODES, None, name),
        ):
            lab.client.delete(kind, namespace, found, missing_ok=True, grace_seconds=0)
        lab.client.close()


def test_a_retired_cluster_is_let_go(lab: Lab) -> None:
    lab.apply(fleet.node("n1"))
    lab.mirror()
    eventually(lambda: listed(lab))
    Cluster.objects.update(retired_at="2026-11-30T10:00:00Z")
    eventually(lambda: WatchLease.objects.get().holder == "", 20)
