"""After a restart: what stands is not counted again, and whatever moved meanwhile is."""

from functools import partial
from typing import Any

import pytest

from apps.claims import snapshot as claims
from apps.claims.models import Claim, Use
from apps.inventory.models import Cluster, Device, Mirrored, Node, Revision, WatchLease
from apps.inventory.snapshot import WATCHED, Batch, Intake, Known, Mirror, load, recalled
from kube.client import Json
from kube.watch import Deleted, Listed
from tests.apps.inventory.conftest import Told
from tests.workers import fleet

pytestmark = pytest.mark.django_db


class Restarted(Told):
    """A process that comes after another one and finds its rows."""

    def __init__(self, cluster: Cluster, earlier: Told) -> None:
        earlier.leadership.give_up()
        super().__init__(cluster)
        stored, detailed, self.stored = load(cluster.pk)
        detailed["resourceclaims"] = claims.load(cluster.pk)
        self.mirror = Mirror()
        known = None
        if self.stored.is_trusted:
            known = Known(self.mirror, partial(recalled, cluster.pk))
        self.intake = Intake(WATCHED, self.mirror, stored, detailed, known)
        self.versions = {
            (kind, name): version
            for kind, name, version in Mirrored.objects.values_list(
                "kind", "name", "resource_version"
            )
        }

    def again(self, objects: dict[str, list[Json]], changed: tuple[str, ...] = ()) -> set[str]:
        """List these, at the versions of their rows but for those named in `changed`."""
        self.version = 1000
        for kind, found in objects.items():
            for one in found:
                name = one["metadata"]["name"]
                if name not in changed and (kind, name) in self.versions:
                    one["metadata"]["resourceVersion"] = self.versions[kind, name]
        return self.listed(**objects)


def objects() -> dict[str, list[Json]]:
    return {
        "nodes": [fleet.node("n1"), fleet.node("n2"), fleet.plugin_node("n3", 4)],
        "resourceslices": [fleet.resource_slice("n1"), fleet.resource_slice("n2")],
        "resourceclaims": [fleet.claim("one") | {"status": fleet.allocation("n1", "gpu-0")}],
        "pods": [fleet.pod("p", "n3", **{"nvidia.com/gpu": "2"})],
    }


@pytest.fixture
def earlier(told: Told) -> Told:
    told.listed(**objects())
    return told


def test_an_unchanged_cluster_is_taken_over_without_counting(earlier: Told) -> None:
    before = dict(Revision.objects.values_list("kind", "value"))
    later = Restarted(earlier.cluster, earlier)
    assert later.intake.known is not None
    assert later.again(objects()) == set()
    assert later.mirror.touched == set() and later.intake.known is None
    assert dict(Revision.objects.values_list("kind", "value")) == before


def test_a_known_slice_is_read_when_its_node_changes(earlier: Told) -> None:
    later = Restarted(earlier.cluster, earlier)
    later.again(objects())
    held = fleet.claim("two") | {"status": fleet.allocation("n2", "gpu-3")}
    later.changed("resourceclaims", held)
    assert Node.objects.get(name="n2").in_dra == 1
    assert Device.objects.get(node_name="n2", name="gpu-3").holder == "default/two"
    assert Node.objects.get(name="n1").in_dra == 1


def test_a_claim_that_moved_leaves_its_old_node_free(earlier: Told) -> None:
    later = Restarted(earlier.cluster, earlier)
    now = objects()
    now["resourceclaims"] = [fleet.claim("one") | {"status": fleet.allocation("n2", "gpu-5")}]
    later.again(now, ("one",))
    assert [Node.objects.get(name=name).in_dra for name in ("n1", "n2")] == [0, 1]
    assert set(Use.objects.filter(kind="claim", ended_at=None).values_list("device")) == {
        ("gpu-5",)
    }


@pytest.mark.parametrize(
    ("kind", "node", "fact", "value"),
    [
        ("resourceclaims", "n1", "free", 8),
        ("pods", "n3", "free", 4),
        ("resourceslices", "n2", "physical", 0),
    ],
)
def test_what_went_meanwhile_is_counted_as_gone(
    earlier: Told, kind: str, node: str, fact: str, value: int
) -> None:
    later = Restarted(earlier.cluster, earlier)
    now = objects()
    now[kind] = now[kind][:1] if kind == "resourceslices" else []
    later.again(now)
    assert getattr(Node.objects.get(name=node), fact) == value


def test_a_node_that_went_meanwhile_has_no_row(earlier: Told) -> None:
    later = Restarted(earlier.cluster, earlier)
    now = objects()
    now["nodes"] = [one for one in now["nodes"] if one["metadata"]["name"] != "n3"]
    now["pods"] = []
    later.again(now)
    assert set(Node.objects.values_list("name", flat=True)) == {"n1", "n2"}


def test_a_taint_rule_that_changed_gives_back_what_it_took(earlier: Told) -> None:
    rule: Json = {
        "metadata": {"name": "sick"},
        "spec": {
            "deviceSelector": {"pool": "n1"},
            "taint": {"key": "sick", "effect": "NoExecute"},
        },
    }
    earlier.changed("devicetaintrules", rule)
    assert Node.objects.get(name="n1").unhealthy == 8
    later = Restarted(earlier.cluster, earlier)
    other = {**rule, "spec": {**rule["spec"], "deviceSelector": {"pool": "n2"}}}
    later.again(objects() | {"devicetaintrules": [other]}, ("sick",))
    found = {node.name: node.unhealthy for node in Node.objects.filter(name__in=["n1", "n2"])}
    assert found == {"n1": 0, "n2": 8}


def test_a_claim_deleted_before_the_slices_were_listed_leaves_its_node(
    told: Told, cluster: Cluster
) -> None:
    """Its pool is not named like its node, so that only the slice tells where it lies."""
    part = fleet.resource_slice("n1")
    part["spec"]["pool"]["name"] = "rack-7"
    held = fleet.claim("one") | {"status": fleet.allocation("rack-7", "gpu-0")}
    del held["status"]["allocation"]["nodeSelector"]
    now = {"nodes": [fleet.node("n1")], "resourceslices": [part], "resourceclaims": [held]}
    told.listed(**now)
    assert Node.objects.get(name="n1").in_dra == 1
    later = Restarted(cluster, told)
    batch = Batch()
    for kind in ["resourceclaims", *(one.name for one in WATCHED if one.name != "resourceclaims")]:
        for one in now.get(kind, []):
            one["metadata"]["resourceVersion"] = later.versions[kind, one["metadata"]["name"]]
        items = [later._item(one) for one in now.get(kind, [])]
        later.intake.take(kind, Listed(items, True, True, "1"), batch)
        if kind == "resourceclaims":
            later.intake.take(kind, Deleted(items[0]), batch)
    later.store(batch)
    assert Node.objects.get(name="n1").free == 8 and not Claim.objects.exists()


@pytest.mark.parametrize("counted_by", ["", "other rules"])
def test_rows_that_other_rules_made_are_not_trusted(earlier: Told, counted_by: str) -> None:
    WatchLease.objects.update(counted_by=counted_by)
    Node.objects.filter(name="n1").update(free=3, digest="stale")
    later = Restarted(earlier.cluster, earlier)
    assert later.intake.known is None
    later.again(objects())
    assert Node.objects.get(name="n1").free == 7


def test_a_process_that_ends_before_all_was_counted_is_not_trusted(
    earlier: Told, cluster: Cluster
) -> None:
    later: Any = Restarted(cluster, earlier)
    later.version = 1000
    later.changed("nodes", fleet.node("n9"))  # stored, and not counted: not all was listed yet
    assert WatchLease.objects.get().counted_by == ""
    assert Restarted(cluster, later).intake.known is None
