"""What people see of clusters, nodes and devices."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.audit.models import Entry
from apps.common.models import Ask
from apps.inventory import services, tasks
from apps.inventory.models import Cluster, WriteSwitch
from apps.inventory.selectors import freshness
from apps.tenancy.models import User
from kube import credentials
from tests.apps.inventory.conftest import Told
from tests.workers import fleet

pytestmark = pytest.mark.django_db
PART = {"HX-Request": "true"}


@pytest.fixture
def seen(client: Client, admin: User, fleet_told: Told) -> Client:
    client.force_login(admin)
    return client


@pytest.mark.parametrize(
    "path",
    [
        "/clusters/",
        "/clusters/new/",
        "/clusters/lab/",
        "/clusters/lab/credentials/",
        "/clusters/writes/stop/",
        "/nodes/",
        "/nodes/lab/n1/",
        "/nodes/lab/n2/cards/",
        "/devices/",
        "/parts/freshness/",
        "/parts/accelerators/",
        "/parts/claims/",
        "/parts/holders/lab/n1/",
        "/claims/",
        "/allocation/?range=24h&by=tenant",
        "/charts/allocation/?range=6h",
    ],
)
def test_every_page_is_there(seen: Client, path: str) -> None:
    answer = seen.get(path)
    assert answer.status_code == 200
    assert b"style=" not in answer.content


@pytest.mark.parametrize(
    "path",
    ["/clusters/", "/clusters/lab/", "/nodes/", "/devices/", "/nodes/lab/n1/", "/clusters/new/"],
)
def test_the_inventory_is_not_for_tenants(
    client: Client, alice: User, fleet_told: Told, path: str
) -> None:
    client.force_login(alice)
    assert client.get(path).status_code == 404


def test_a_node_page_draws_its_cards_and_holders(seen: Client) -> None:
    text = seen.get("/nodes/lab/n1/cards/").text
    assert 'aria-label="8 cards: gpu-0 in use (dra) by team-a/one' in text
    assert text.count('class="slicemap-card"') == 8
    holders = seen.get("/parts/holders/lab/n1/").text
    assert "team-a/one" in holders and "alpha" in holders


def test_a_part_that_did_not_change_is_not_sent_again(seen: Client, fleet_told: Told) -> None:
    for path in ("/nodes/", "/nodes/lab/n1/cards/", "/parts/accelerators/", "/claims/"):
        first = seen.get(path, headers=PART)
        held = {**PART, "If-None-Match": first["ETag"]}
        assert seen.get(path, headers=held).status_code == 304
    fleet_told.changed("deviceclasses", {"metadata": {"name": "gpu"}, "spec": {}})
    assert seen.get("/parts/accelerators/", headers=held).status_code == 200  # another part's tag
    fresh = seen.get("/nodes/", headers=PART)
    fleet_told.changed("resourceslices", fleet.resource_slice("n1", cards=4))
    again = seen.get("/nodes/", headers={**PART, "If-None-Match": fresh["ETag"]})
    assert again.status_code == 200


def test_devices_are_found_by_state_and_holder(seen: Client) -> None:
    assert "team-a/one" in seen.get("/devices/?state=dra").text
    assert "team-a/one" not in seen.get("/devices/?state=free").text
    assert "gpu-0" in seen.get("/devices/?q=team-a").text
    exported = b"".join(seen.get("/devices/?export=csv&state=dra").streaming_content)  # type: ignore[attr-defined]
    assert exported.count(b"\n") == 2 and b"team-a/one" in exported


def test_a_device_page_shows_what_its_driver_publishes(seen: Client, fleet_told: Told) -> None:
    device = fleet_told.cluster.devices.get(node_name="n1", name="gpu-0")
    text = seen.get(f"/devices/{device.pk}/").text
    assert "cudaComputeCapability" in text and "GPU-n1-0" in text
    assert "team-a/one" in seen.get(f"/parts/device-uses/{device.pk}/").text


def test_a_lost_cluster_is_stale_with_its_age_and_never_empty(seen: Client) -> None:
    Cluster.objects.update(heard_at=timezone.now() - timedelta(hours=2))
    assert freshness().kind == "stale"
    assert "Stale, seen" in seen.get("/nodes/").text
    assert "n1" in seen.get("/nodes/").text


def test_hostile_names_are_only_text(seen: Client, fleet_told: Told) -> None:
    part = fleet.resource_slice("n1", cards=1)
    part["spec"]["devices"][0]["attributes"]["productName"] = {
        "string": "<script>alert(1)</script>"
    }
    fleet_told.changed("resourceslices", part)
    for path in ("/nodes/", "/devices/", "/nodes/lab/n1/cards/", "/parts/accelerators/"):
        assert "<script>alert" not in seen.get(path).text


def test_a_kubeconfig_is_tried_out_and_never_shown_again(seen: Client, sent: Any) -> None:
    answer = seen.post("/clusters/new/", {"slug": "other", "name": "Other", **PARTS})
    assert answer.status_code == 200 and "secret-token" not in answer.text
    ask = Ask.objects.get(kind=tasks.TRY_OUT)
    assert "secret-token" not in str(ask.question)
    assert tasks.credentials_of(ask).token == "secret-token"
    assert seen.post(f"/clusters/register/{ask.key}/").status_code == 404  # not answered yet


PARTS = {"server": "https://other.example:6443", "token": "secret-token"}


def test_what_was_tried_out_is_registered(seen: Client, sent: Any) -> None:
    seen.post("/clusters/new/", {"slug": "other", "name": "Other", **PARTS})
    answer = {"version": "v1.37.0", "user": "x", "served": 3, "features": {}, "missing": []}
    Ask.objects.update(state=Ask.State.ANSWERED, answer=answer)
    ask = Ask.objects.get()
    shown = seen.get(f"/asks/{ask.key}/")
    assert "Register Other" in shown.text
    seen.post(f"/clusters/register/{ask.key}/")
    cluster = Cluster.objects.get(slug="other")
    assert cluster.mode == "observe" and b"secret-token" not in bytes(cluster.credentials)
    entry = Entry.objects.get(verb="registered")
    assert "secret" not in str(entry.after)


def test_nobody_else_registers_what_one_tried_out(
    seen: Client, client: Client, sent: Any, fleet_told: Told
) -> None:
    seen.post("/clusters/new/", {"slug": "other", "name": "Other", **PARTS})
    Ask.objects.update(state=Ask.State.ANSWERED, answer={}, asked_by=None)
    assert seen.post(f"/clusters/register/{Ask.objects.get().key}/").status_code == 404


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"kubeconfig": "hello"}, "not a kubeconfig"),
        ({"kubeconfig": "a: [b"}, "not YAML"),
        ({}, "Give a kubeconfig, or an address"),
        ({"server": "http://x", "token": "t"}, "must be an address"),
    ],
)
def test_what_is_no_kubeconfig_is_refused_with_a_sentence(
    seen: Client, entry: dict[str, str], said: str
) -> None:
    answer = seen.post("/clusters/new/", {"slug": "x", "name": "X", **entry})
    assert answer.status_code == 422 and said in answer.text


def test_mode_retire_and_switch_leave_an_audit_trail(seen: Client, admin: User, sent: Any) -> None:
    seen.post("/clusters/lab/mode/", {"mode": "manage"})
    assert Cluster.objects.get().mode == "manage"
    seen.post("/clusters/writes/stop/", {"reason": "a fire"})
    assert WriteSwitch.objects.get().stopped and "a fire" in seen.get("/clusters/").text
    seen.post("/clusters/writes/allow/")
    assert not WriteSwitch.objects.get().stopped
    seen.post("/clusters/lab/retire/")
    cluster = Cluster.objects.get()
    assert cluster.retired_at is not None and bytes(cluster.credentials) == b""
    verbs = list(Entry.objects.order_by("pk").values_list("verb", flat=True))
    assert verbs == ["changed mode of", "stopped", "allowed", "retired"]


def test_an_auditor_may_look_and_not_touch(client: Client, fleet_told: Told, db: None) -> None:
    auditor = User.objects.create(username="aud", platform_roles=["auditor"])
    client.force_login(auditor)
    assert client.get("/clusters/lab/").status_code == 200
    assert client.post("/clusters/lab/retire/").status_code == 403
    assert client.get("/clusters/new/").status_code == 403


def test_credentials_of_another_cluster_are_refused(admin: User, cluster: Cluster) -> None:
    other = credentials.Credentials("https://elsewhere:6443", token="t")
    with pytest.raises(services.OtherCluster, match="elsewhere"):
        services.rotate_credentials(actor=admin, cluster=cluster, credentials=other)
