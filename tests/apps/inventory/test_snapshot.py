"""Storing batches: what changes which rows, and what does not."""

import pytest
from django.utils import timezone

from apps.claims.models import Claim, Use
from apps.inventory.models import Cluster, Device, Event, Gone, Mirrored, Node, Pod, Revision
from apps.inventory.selectors import tally
from apps.inventory.snapshot import Batch, NotLeading, lead
from tests.apps.inventory.conftest import Told
from tests.workers import fleet

pytestmark = pytest.mark.django_db


def revision(kind: str) -> int:
    return Revision.objects.get(kind=kind).value


def test_a_fleet_adds_up(fleet_told: Told) -> None:
    found = tally()
    assert (found.dra, found.plugin, found.free, found.physical) == (1, 2, 9, 12)
    assert Device.objects.filter(is_card=True).count() == 12


def test_a_tenants_namespace_names_its_claims_and_uses(fleet_told: Told) -> None:
    assert set(Claim.objects.values_list("tenant", flat=True)) == {"alpha"}
    assert Use.objects.get(kind="claim").tenant == "alpha"
    assert Use.objects.get(kind="pod").tenant == ""


def test_the_same_again_changes_nothing(told: Told) -> None:
    told.listed(nodes=[fleet.node("n1")], resourceslices=[fleet.resource_slice("n1")])
    before = dict(Revision.objects.values_list("kind", "value"))
    ids = list(Device.objects.values_list("pk", flat=True))
    told.version = 0  # the same objects at the same versions
    assert (
        told.listed(nodes=[fleet.node("n1")], resourceslices=[fleet.resource_slice("n1")]) == set()
    )
    assert dict(Revision.objects.values_list("kind", "value")) == before
    assert list(Device.objects.values_list("pk", flat=True)) == ids


def test_only_kinds_that_changed_are_raised(fleet_told: Told) -> None:
    cards, nodes = revision("cards"), revision("nodes")
    fleet_told.changed("deviceclasses", {"metadata": {"name": "gpu"}, "spec": {}})
    assert (revision("cards"), revision("nodes")) == (cards, nodes)
    assert revision("deviceclasses") == 1


def test_a_claim_takes_and_gives_back(fleet_told: Told) -> None:
    held = fleet.claim("two", "team-a") | {"status": fleet.allocation("n1", "gpu-5")}
    changed = fleet_told.changed("resourceclaims", held)
    assert {"cards", "resourceclaims", "uses"} <= changed
    assert Node.objects.get(name="n1").in_dra == 2
    device = Device.objects.get(node_name="n1", name="gpu-5")
    assert (device.state, device.holder) == ("dra", "team-a/two")
    fleet_told.deleted("resourceclaims", held)
    device.refresh_from_db()
    assert (device.state, device.holder) == ("free", "")
    assert Use.objects.get(device="gpu-5").ended_at is not None
    assert Gone.objects.filter(kind="resourceclaims", name="two").exists()


def test_a_claim_that_is_allocated_again_begins_a_new_use(fleet_told: Told) -> None:
    held = fleet.claim("two", "team-a") | {"status": fleet.allocation("n1", "gpu-5")}
    fleet_told.changed("resourceclaims", held)
    fleet_told.changed("resourceclaims", fleet.claim("two", "team-a"))
    fleet_told.changed("resourceclaims", held)
    uses = Use.objects.filter(device="gpu-5").order_by("pk")
    assert [use.ended_at is None for use in uses] == [False, True]


def test_a_claim_that_moves_closes_one_use_and_opens_another(fleet_told: Told) -> None:
    for device in ("gpu-5", "gpu-6"):
        held = fleet.claim("two", "team-a") | {"status": fleet.allocation("n1", device)}
        fleet_told.changed("resourceclaims", held)
    uses = {use.device: use.ended_at is None for use in Use.objects.filter(name="two")}
    assert uses == {"gpu-5": False, "gpu-6": True}


def test_a_pod_that_ends_frees_its_cards(fleet_told: Told) -> None:
    over = fleet.pod("p", "n2", "team-b", **{"nvidia.com/gpu": "2"})
    over["status"]["phase"] = "Succeeded"
    over["status"]["containerStatuses"] = [
        {"name": "main", "state": {"terminated": {"finishedAt": "2026-11-30T12:00:00Z"}}}
    ]
    fleet_told.changed("pods", over)
    assert Node.objects.get(name="n2").in_plugin == 0
    use = Use.objects.get(kind="pod")
    assert use.ended_at is not None and use.ended_at.hour == 12
    assert use.running_at is not None


def test_a_use_says_when_it_began_to_run(fleet_told: Told) -> None:
    assert Use.objects.get(kind="claim").running_at is None
    server = fleet.pod("server", "n1", "team-a")
    server["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "one"}]
    fleet_told.changed("pods", server)
    use = Use.objects.get(kind="claim")
    assert use.running_at is not None and use.running_at >= use.allocated_at


def test_other_pods_are_mirrored_but_get_no_row(fleet_told: Told) -> None:
    fleet_told.changed("pods", fleet.pod("web", "n1"))
    assert Mirrored.objects.filter(kind="pods", name="web").exists()
    assert not Pod.objects.filter(name="web").exists()


def test_a_waiting_pod_is_kept_whole_without_its_environment(fleet_told: Told) -> None:
    waiting = fleet.pod("waits", "", "team-a", **{"nvidia.com/gpu": "1"})
    waiting["spec"] |= {"schedulerName": "default-scheduler", "dnsPolicy": "Default"}
    waiting["spec"]["containers"][0]["env"] = [{"name": "TOKEN", "value": "s3cret"}]
    waiting["status"] = {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/2 nodes"}],
    }
    fleet_told.changed("pods", waiting)
    body = Mirrored.objects.get(kind="pods", name="waits").body
    assert body["spec"]["dnsPolicy"] == "Default" and "s3cret" not in str(body)
    assert Pod.objects.get(name="waits").waiting == "0/2 nodes"


def test_events_of_devices_users_are_kept_and_others_are_not(fleet_told: Told) -> None:
    def event(name: str, about: str, kind: str = "Pod", namespace: str = "team-b") -> dict:
        return {
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {"kind": kind, "uid": about, "name": about},
            "reason": "FailedScheduling",
            "message": "0/2 nodes are available",
            "lastTimestamp": timezone.now().isoformat(),
        }

    fleet_told.changed(
        "events",
        event("a", "uid-team-b-p"),
        event("b", "uid-x-y"),
        event("c", "uid-team-b-late"),
        event("d", "n", kind="Node"),
    )
    assert set(Event.objects.values_list("about_uid", flat=True)) == {"uid-team-b-p"}
    fleet_told.changed("pods", fleet.pod("late", "n2", "team-b", **{"nvidia.com/gpu": "1"}))
    assert Event.objects.filter(about_uid="uid-team-b-late").exists()  # it came before its pod


def test_a_node_that_goes_takes_its_rows_along(fleet_told: Told) -> None:
    fleet_told.deleted("nodes", fleet.plugin_node("n2", 4))
    assert not Node.objects.filter(name="n2").exists()
    assert not Device.objects.filter(node_name="n2").exists()
    assert Device.objects.filter(node_name="n1").count() == 8


def test_a_node_that_goes_leaves_published_cards_unknown(fleet_told: Told) -> None:
    fleet_told.deleted("nodes", fleet.node("n1"))
    row = Node.objects.get(name="n1")
    assert row.unknown == row.physical == 8 and row.uid == ""


def test_slices_before_their_claims_and_after_are_the_same(told: Told) -> None:
    held = fleet.claim("one") | {"status": fleet.allocation("n1", "gpu-0")}
    told.listed(nodes=[fleet.node("n1")], resourceclaims=[held])
    assert Node.objects.get().in_dra == 1  # the device is not published: vanished, and used
    told.changed("resourceslices", fleet.resource_slice("n1"))
    assert (Node.objects.get().in_dra, Node.objects.get().free) == (1, 7)
    assert not Device.objects.filter(is_vanished=True).exists()


def test_another_leader_fences_the_first(fleet_told: Told, cluster: Cluster) -> None:
    fleet_told.leadership.give_up()
    second = lead(cluster.pk, "second")
    assert second is not None and second.epoch == fleet_told.leadership.epoch + 1
    before = revision("nodes")
    with pytest.raises(NotLeading):
        fleet_told.changed("nodes", fleet.node("n3"))
    assert revision("nodes") == before
    with pytest.raises(NotLeading):
        fleet_told.leadership.renew()
    with pytest.raises(NotLeading):
        fleet_told.leadership.tell(problem="of the one before")
    assert Cluster.objects.get().problem == ""
    assert lead(cluster.pk, "third") is None


def test_nothing_is_called_absent_before_everything_was_listed(told: Told) -> None:
    batch = Batch()
    assert told.store(batch) == set() and not told.intake.can_count
    told.changed("nodes", fleet.node("n1"))
    assert not Node.objects.exists()  # not counted yet: its slices may still come


def test_a_poisonous_object_does_not_keep_out_the_others(fleet_told: Told) -> None:
    poison = {"metadata": {"name": "b/d"}, "spec": {}}
    odd = {"metadata": {"name": "odd", "labels": {"x": "\0\U0001f600" * 10}}, "spec": {}}
    good = {"metadata": {"name": "good"}, "spec": {}}
    fleet_told.changed("deviceclasses", poison, odd, good)
    kept = Mirrored.objects.filter(kind="deviceclasses").values_list("name", flat=True)
    assert set(kept) == {"odd", "good"}
    assert len(Revision.objects.get(kind="deviceclasses").malformed) == 1
