"""`make demo` as a person lives with it: start, look, stop, start again, break it."""

import http.client
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from embedded.demo_process import DemoProcess, alive, eventually, kill, named

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]
Kubectl = Callable[..., str]
PASSWORD = r"platform admin +admin +(\S+)"


def status_of(url: str, path: str = "/login/") -> int:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def node_uids(kubectl: Kubectl, state: Path) -> str:
    path = "jsonpath={range .items[*]}{.metadata.name}={.metadata.uid} {end}"
    return kubectl(state / "cluster" / "kubeconfig", "get", "nodes", "-o", path)


def test_an_interrupt_or_a_kill_ends_every_process_and_a_second_start_keeps_the_data(
    state: Path, kubectl: Kubectl
) -> None:
    first = DemoProcess.on(state)
    assert status_of(first.url()) == 200
    password, nodes = first.until(PASSWORD)[1], node_uids(kubectl, state)
    assert nodes
    family = first.family()
    assert all(named(family, word) for word in ("celery", "gunicorn", "postgres", "simulator"))
    assert first.end(signal.SIGINT) == 0
    assert not alive(family)

    second = DemoProcess.on(state)
    assert status_of(second.url()) == 200
    assert second.until(PASSWORD)[1] == password
    assert node_uids(kubectl, state) == nodes
    family = second.family()
    kill(second.process.pid)
    assert eventually(lambda: not alive(family))
    second.end()


def test_another_demo_takes_the_next_port_and_the_same_data_only_once(
    running: DemoProcess, lasting_state: Path, state: Path
) -> None:
    url = running.url()
    again = DemoProcess.on(lasting_state)
    again.until(r"a demo of this checkout is running already \(process \d+\)")
    assert again.wait() == 1
    other = DemoProcess.on(state)
    try:
        assert other.url() != url
        assert status_of(other.url()) == status_of(url) == 200
    finally:
        other.end()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("web", ("gunicorn",)),
        ("worker", ("celery", "worker")),
        ("watch", ("workers.watch",)),
        ("cluster", ("simulator", "serve")),
        ("postgres", ("bin/postgres",)),
        ("valkey", ("valkey-server",)),
    ],
)
def test_what_is_killed_is_started_again(
    running: DemoProcess, name: str, words: tuple[str, ...]
) -> None:
    url = running.url()
    victim = min(named(running.family(), *words))
    kill(victim)
    running.until(rf"{name} +\| was ended by SIGKILL; starting it again")
    assert eventually(lambda: named(running.family(), *words) - {victim})
    assert eventually(lambda: status_of(url, "/readyz") == 200)


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests run as no root already")
def test_it_needs_no_root(state: Path) -> None:
    """As `nobody`, who may not write into the checkout; root only lends the right to read it."""
    assert shutil.which("setpriv"), "util-linux is missing"
    shutil.chown(state, "nobody")
    through = ["setpriv", "--reuid=nobody", "--clear-groups", "--inh-caps=+dac_read_search"]
    process = DemoProcess.on(
        state, through=["env", "HOME=/nonexistent", *through, "--ambient-caps=+dac_read_search"]
    )
    try:
        assert status_of(process.url()) == 200
        owners = {Path(f"/proc/{pid}").stat().st_uid for pid in process.family()}
        assert 0 not in owners
    finally:
        process.end()
