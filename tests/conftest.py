"""What the tests run against: a real PostgreSQL, Valkey, control plane and simulated cluster.

Nothing is started before a test asks for it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from celery.signals import before_task_publish
from hypothesis import HealthCheck, settings

from embedded import chromium, controlplane, gobuild, postgres, valkey
from embedded.controlplane import ControlPlane
from embedded.processes import ProcessFailedError

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# A slow machine says nothing about what is tested.
settings.register_profile(
    "unhurried", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")

#: What needs Go programs comes late: they are built while the others run. Long folders come first.
LAST = ("stack", "cluster", "oracle", "browser")
#: Folders of tests, and what they share with each other.
SHARING = {
    "browser": "browser",
    "contract": "cluster",
    "datapath": "datapath",
    "deploy": "stack",
    "kubernetes": "cluster",
    "oracle": "oracle",
    "stack": "stack",
    "story": "cluster",
}


@pytest.fixture(scope="session")
def short_folder() -> Iterator[Path]:
    """A folder of this session with a path short enough for unix sockets."""
    folder = Path(tempfile.mkdtemp(prefix="claimyard-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def database_url() -> Iterator[str]:
    """The PostgreSQL of this session (each xdist worker has its own), or the one you named."""
    with suppress(KeyError):
        if os.environ["CLAIMYARD_DATABASE_URL"] != UNSET_DATABASE_URL:
            yield os.environ["CLAIMYARD_DATABASE_URL"]
            return
    folder = Path(tempfile.mkdtemp(prefix="claimyard-postgres-"))
    try:
        with postgres.running(folder, fast=True, programs=postgres_programs()) as url:
            os.environ["CLAIMYARD_DATABASE_URL"] = url
            yield url
    finally:
        os.environ["CLAIMYARD_DATABASE_URL"] = UNSET_DATABASE_URL
        postgres.forget(folder)


#: What works on the oldest PostgreSQL that we promise works on ours, which the demo's tests run.
OLDEST_POSTGRES = Path("/usr/lib/postgresql/15/bin")


def postgres_programs() -> Path | None:
    """Those you named, else the oldest where it is installed, else (None) the embedded ones."""
    if named := os.environ.get("CLAIMYARD_TEST_POSTGRES"):
        return Path(named)
    return OLDEST_POSTGRES if (OLDEST_POSTGRES / "initdb").exists() else None


#: What portal.settings_test falls back to; nothing listens there.
UNSET_DATABASE_URL = "postgresql://postgres@127.0.0.1:5432/claimyard"


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    database_url: str, django_db_modify_db_settings_parallel_suffix: None
) -> None:
    """Point Django at the server, which is started only now, when a test first needs it."""
    from django.db import connections

    from portal import env

    wanted = env.database("DATABASE_URL", database_url, "")
    for connection in connections.all():
        connection.settings_dict.update(wanted)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """At the end nobody else may be connected: who is has outlived its test, and is named.

    Processes that were killed leave in their own time.
    """
    yield
    from django.db import connection

    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        until = time.monotonic() + 30.0
        while True:
            cursor.execute(f"SELECT backend_start, state, left(query, 200) {others}")
            left = cursor.fetchall()
            if not left or time.monotonic() > until:
                break
            time.sleep(0.2)
        cursor.execute(f"SELECT pg_terminate_backend(pid) {others}")  # or it cannot be dropped
    assert not left, (left, [thread.name for thread in threading.enumerate()])


@pytest.fixture(scope="session")
def valkey_url() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="claimyard-valkey-"))
    try:
        with valkey.running(folder) as url:
            yield url
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(name="valkey")
def emptied_valkey(valkey_url: str) -> str:
    """The URL of a Valkey without keys."""
    import redis

    with redis.Redis.from_url(valkey_url) as client:
        client.flushall()
    return valkey_url


@dataclass(slots=True)
class Sent:
    """Task messages that went to the broker (in memory, in tests), in order."""

    messages: list[tuple[str, tuple[Any, ...]]]

    def names(self) -> list[str]:
        return [name for name, _ in self.messages]

    def __contains__(self, name: object) -> bool:
        return name in self.names()


@pytest.fixture
def sent() -> Iterator[Sent]:
    """What a test caused to be sent, by the last part of each task's name."""
    box = Sent([])

    def note(sender: str, body: Any, **_: Any) -> None:
        box.messages.append((sender.rpartition(".")[2], tuple(body[0])))

    before_task_publish.connect(note)
    yield box
    before_task_publish.disconnect(note)


#: The Go program that tests with this mark need.
GO_PROGRAMS = {
    "cluster": controlplane.SOURCE,
    "oracle": Path(__file__).parent / "oracle" / "allocator",
}
BUILD_FAILURES: dict[Path, ProcessFailedError] = {}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Build outside a test's time limit: a first build may take ten minutes."""
    for mark, source in GO_PROGRAMS.items():
        existing = mark == "cluster" and os.environ.get("CLAIMYARD_TEST_KUBECONFIG")
        if item.get_closest_marker(mark) and not existing and source not in BUILD_FAILURES:
            try:
                gobuild.binary(source)
            except ProcessFailedError as error:
                BUILD_FAILURES[source] = error  # told by a fixture, as a test's own failure
    return (yield)


@pytest.fixture(scope="session")
def control_plane(short_folder: Path) -> Iterator[ControlPlane]:
    """A real API server, scheduler and controller manager; use a namespace of your own in it.

    CLAIMYARD_TEST_KUBECONFIG names an existing cluster to use instead.
    """
    yield from made_control_plane(short_folder / "cp")


@pytest.fixture(scope="session")
def old_control_plane(short_folder: Path) -> Iterator[ControlPlane]:
    """The same one as it behaved in Kubernetes 1.34: resource.k8s.io/v1 has no DeviceTaintRule."""
    yield from _control_plane(short_folder / "cp34", "-apiserver-flag", "--emulated-version=1.34")


def made_control_plane(folder: Path) -> Iterator[ControlPlane]:
    """One in this folder, or the existing one that you named."""
    if existing := os.environ.get("CLAIMYARD_TEST_KUBECONFIG"):
        yield ControlPlane(Path(existing))
        return
    yield from _control_plane(folder)


def _control_plane(folder: Path, *flags: str) -> Iterator[ControlPlane]:
    pod_proxy = folder.with_name(f"{folder.name}.sock")
    if failure := BUILD_FAILURES.get(controlplane.SOURCE):
        pytest.fail(str(failure), pytrace=False)
    with controlplane.running(folder, "-pod-proxy", str(pod_proxy), *flags) as kubeconfig:
        yield ControlPlane(kubeconfig, pod_proxy)


@pytest.fixture(scope="session")
def kubectl() -> Callable[..., str]:
    """Run the real kubectl: `kubectl(kubeconfig, "get", "nodes")` gives what it printed."""

    def run(kubeconfig: Path, *arguments: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            [Path(sys.executable).with_name("kubectl"), f"--kubeconfig={kubeconfig}", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert not done.returncode, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def bare_control_plane(control_plane: ControlPlane, kubectl: Callable[..., str]) -> ControlPlane:
    """The real control plane without the nodes and devices that other tests left there.

    A pod that may run anywhere would else wait for a kubelet on a node that has none.
    """
    if control_plane.pod_proxy is not None:  # an existing cluster's nodes are its own
        for kind in ("nodes", "resourceslices"):
            kubectl(control_plane.kubeconfig, "delete", kind, "--all", "--wait=false")
    return control_plane


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """A real Chromium; open a new context in it for each test."""
    from playwright.sync_api import sync_playwright

    # Playwright runs an event loop in this thread, which Django takes for an asynchronous caller.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(**chromium.launch_options())
        yield found
        found.close()


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A running simulated API server without a fleet."""
    from simulator import apiserver

    with apiserver.running(tmp_path_factory.mktemp("simulated")) as server:
        yield server


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow kinds run last, after pytest-randomly has shuffled within them."""

    def rank(item: pytest.Item) -> int:
        marks = {mark.name for mark in item.iter_markers()}
        return max((LAST.index(name) + 1 for name in marks.intersection(LAST)), default=0)

    items.sort(key=rank)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each file stays with one worker, and so do folders that share something large: a control
    plane, a browser or a demo is started once. (Groups by mark need an older pytest.)
    """
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class ByFolder(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            folder = file.split("/")[1]
            return SHARING.get(folder, file)

    return ByFolder(config, log)
