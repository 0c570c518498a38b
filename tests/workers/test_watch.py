"""The watch as a process: it ends cleanly, and another takes over when it does not."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from apps.inventory import connections
from apps.inventory.models import Cluster, Node, WatchLease
from kube import connect, credentials
from tests.workers import fleet

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.stack]
ROOT = Path(__file__).resolve().parents[2]


def eventually(holds: Callable[[], bool], seconds: float = 40) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.05)


def started() -> "subprocess.Popen[bytes]":
    """A watch of its own on the test's database."""
    settings = connection.settings_dict
    url = (
        f"postgresql://{settings['USER']}:{settings['PASSWORD']}@"
        f"{settings['HOST']}:{settings['PORT']}/{settings['NAME']}"
    )
    return subprocess.Popen(
        [sys.executable, "-m", "workers.watch"],
        cwd=ROOT,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "portal.settings_test",
            "CLAIMYARD_DATABASE_URL": url,
        },
    )


@pytest.fixture
def lab(simulated: Any) -> Any:
    opened = credentials.from_kubeconfig(Path(simulated.kubeconfig).read_text())
    Cluster.objects.create(
        slug="lab", name="Lab", server=opened.server, credentials=connections.sealed(opened)
    )
    client = connect(opened)
    client.apply(fleet.node("n1"))
    yield client
    client.close()


def test_sigterm_gives_the_lease_back_and_kill_lets_another_take_over(lab: Any) -> None:
    first = started()
    eventually(lambda: Node.objects.filter(name="n1").exists())
    first.send_signal(signal.SIGTERM)
    assert first.wait(30) == 0
    assert WatchLease.objects.get().holder == ""
    second = started()
    eventually(lambda: WatchLease.objects.get().holder != "")
    second.kill()
    second.wait(10)
    lab.apply(fleet.node("n2"))
    third = started()
    try:
        eventually(lambda: Node.objects.filter(name="n2").exists())
        assert WatchLease.objects.get().epoch >= 3
    finally:
        third.terminate()
        third.wait(30)
