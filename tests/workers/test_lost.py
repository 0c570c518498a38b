"""A cluster that no longer answers us: what was known stays, with its age, until it comes back."""

import time
from typing import Any

import pytest
from django.test import Client

import workers.mirroring
from apps.inventory.models import Cluster, Node
from apps.tenancy.models import PlatformRole
from simulator.apiserver import Fault
from tests.apps.conftest import make_user
from tests.workers import fleet
from tests.workers.test_mirroring import Lab, eventually, lab, retrying

__all__ = ["lab"]
pytestmark = pytest.mark.django_db(transaction=True)
PAGES = ("/parts/freshness/", "/nodes/", "/devices/", "/claims/", "/clusters/lab/")


@pytest.mark.parametrize(
    ("fault", "said"), [("expired-token", "nauthorized"), ("away", ""), ("500", "")]
)
def test_what_is_lost_while_watching_is_stale_with_its_age_and_comes_back(
    lab: Lab, settings: Any, monkeypatch: pytest.MonkeyPatch, fault: str, said: str
) -> None:
    """The watches that are open stay open when a token is revoked: only the pulse can tell."""
    monkeypatch.setattr(workers.mirroring, "PULSE_SECONDS", 0.1)
    monkeypatch.setattr(workers.mirroring, "HEARTBEAT_SECONDS", 0.1)
    settings.STALE_AFTER_SECONDS = 1
    client = Client()
    client.force_login(make_user("admin", PlatformRole.ADMIN))
    lab.apply(fleet.node("n1"), fleet.resource_slice("n1"))
    lab.mirror()
    eventually(lambda: Node.objects.filter(free=8).exists())
    eventually(lambda: "Stale" not in client.get("/nodes/").text)

    lab.server.faults.add(Fault(fault, match="*", times=-1))
    eventually(lambda: said in Cluster.objects.get().problem != "")
    last = Cluster.objects.get().heard_at
    eventually(lambda: all("Stale, seen" in client.get(path).text for path in PAGES))
    assert Cluster.objects.get().heard_at == last
    assert "n1" in client.get("/nodes/").text and Node.objects.get().free == 8

    lab.server.faults.clear()
    retrying(lambda: lab.apply(fleet.node("n2")))
    eventually(lambda: Node.objects.filter(name="n2").exists(), 40)
    eventually(lambda: Cluster.objects.get().problem == "")
    settings.STALE_AFTER_SECONDS = 60
    time.sleep(0.2)
    assert not [path for path in PAGES if "Stale" in client.get(path).text]
