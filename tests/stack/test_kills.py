"""Whatever dies while a deployment is applied, its objects are there afterwards, once."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis

from embedded.demo_process import DemoProcess, eventually, kill, named

pytestmark = [pytest.mark.stack, pytest.mark.timeout(600)]
ACT = Path(__file__).with_name("act.py")
KINDS = "deployments,services,resourceclaimtemplates,poddisruptionbudgets,httproutes,inferencepools"
NAMESPACE = "team-chat"
# A Deployment and a Service of the pool's picker are among them.
WANTED = [
    *("Deployment", "Deployment", "HTTPRoute", "InferencePool"),
    *("PodDisruptionBudget", "ResourceClaimTemplate", "Service", "Service"),
]
APPLIED = {
    "settled": True,
    "retired": False,
    "applied": "True",
    "pools": [True],
    "audit": ["created"],
}
NOT_YET = "OperationalError: connection failed"
Kubectl = Callable[..., str]


def environment_of(pid: int) -> dict[str, str]:
    pairs = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


class Editor:
    """Acts in the demo, and looks at what came of it in the cluster."""

    def __init__(self, demo: DemoProcess, kubeconfig: Path, kubectl: Kubectl) -> None:
        self.demo = demo
        demo.url()
        self.environment = environment_of(min(self.pids("gunicorn")))
        self._kubectl = kubectl
        self._kubeconfig = kubeconfig

    def pids(self, *words: str) -> set[int]:
        return named(self.demo.family(), *words)

    def act(self, verb: str, name: str) -> str:
        """Done once: a database that took no connection has done nothing, and is asked anew."""
        command = [sys.executable, str(ACT), verb, name]
        deadline = time.monotonic() + 90
        while True:
            done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
            if not done.returncode:
                return done.stdout
            assert NOT_YET in done.stderr and time.monotonic() < deadline, done.stderr

    def told(self, verb: str, name: str) -> dict[str, Any]:
        """What the rows say."""
        found: dict[str, Any] = json.loads(self.act(verb, name))
        return found

    def leads(self, pid: int) -> bool:
        holder: str = self.told("leader", "demo").get("holder", "")
        return holder.endswith(f":{pid}")

    def objects(self, name: str) -> list[dict[str, Any]]:
        selector = f"--selector=claimyard.dev/deployment={name}"
        try:
            found = self._kubectl(
                self._kubeconfig, "-n", NAMESPACE, "get", KINDS, selector, "-o", "json"
            )
        except AssertionError:  # the cluster itself was the victim a moment ago
            return []
        items: list[dict[str, Any]] = json.loads(found)["items"]
        return items

    def retire(self, name: str) -> None:
        """Nothing is left in the cluster, and the quota is given back."""
        self.act("retire", name)
        assert eventually(lambda: not self.objects(name), 120)
        assert eventually(lambda: self.told("tell", name).get("retired"), 60), self.told(
            "tell", name
        )

    def kinds(self, name: str) -> list[str]:
        return sorted(one["kind"] for one in self.objects(name))


@pytest.fixture(scope="module")
def editor(running: DemoProcess, lasting_state: Path, kubectl: Kubectl) -> Editor:
    made = Editor(running, lasting_state / "cluster" / "kubeconfig", kubectl)
    made.act("widen", "64")
    return made


@pytest.mark.parametrize(
    ("victim", "words"),
    [
        ("worker", ("celery", "worker")),
        ("beat", ("celery", "beat")),
        ("placement", ("workers.placement",)),
        ("watch", ("workers.watch",)),
        ("web", ("gunicorn",)),
        ("database", ("bin/postgres",)),
        ("cluster", ("simulator", "serve")),
    ],
)
def test_what_is_killed_again_and_again_during_an_apply_leaves_every_object_once(
    editor: Editor, victim: str, words: tuple[str, ...]
) -> None:
    name = f"kill-{victim}"
    editor.act("create", name)
    for _ in range(3):  # the apply is somewhere else each time
        for pid in editor.pids(*words):
            kill(pid)
        time.sleep(0.7)
    assert eventually(lambda: editor.kinds(name) == WANTED, 120), editor.objects(name)
    uids = {one["metadata"]["uid"] for one in editor.objects(name)}
    assert eventually(lambda: editor.told("tell", name) == APPLIED, 60), editor.told("tell", name)
    assert {one["metadata"]["uid"] for one in editor.objects(name)} == uids
    editor.retire(name)


def test_a_wiped_broker_loses_no_work(editor: Editor) -> None:
    url = editor.environment["CLAIMYARD_REDIS_URL"]
    for pid in editor.pids("celery", "worker"):
        os.kill(pid, signal.SIGSTOP)  # nobody takes the message before it is lost
    editor.act("create", "wiped")
    with redis.Redis.from_url(url) as client:
        client.flushall()
    for pid in editor.pids("celery", "worker"):
        os.kill(pid, signal.SIGCONT)
    assert eventually(lambda: editor.kinds("wiped") == WANTED, 60), editor.objects("wiped")
    editor.retire("wiped")


def test_a_killed_broker_fails_nobody_and_the_sweeps_are_back(editor: Editor) -> None:
    """Nobody could send the message, so only a sweep can have applied it."""
    for _ in range(4):  # each time the supervisor waits longer before it starts it again
        assert eventually(lambda: editor.pids("valkey-server"), 60)
        for pid in editor.pids("valkey-server"):
            kill(pid)
    editor.act("create", "brokerless")
    assert eventually(lambda: editor.kinds("brokerless") == WANTED, 90)
    assert eventually(lambda: editor.told("tell", "brokerless") == APPLIED, 60)
    editor.retire("brokerless")


def test_a_frozen_watch_that_wakes_leaves_the_lead_to_the_other(editor: Editor) -> None:
    (first,) = editor.pids("workers.watch")
    assert eventually(lambda: editor.leads(first), 90)
    before = editor.told("leader", "demo")
    other = [sys.executable, "-m", "workers.watch"]
    with subprocess.Popen(other, cwd=ACT.parents[2], env=editor.environment) as second:
        try:
            os.kill(first, signal.SIGSTOP)
            assert eventually(lambda: editor.leads(second.pid), 90)
            os.kill(first, signal.SIGCONT)
            editor.demo.until(r"watch +\| .*lost the lead")
            after = editor.told("leader", "demo")
            assert editor.leads(second.pid) and after["epoch"] == before["epoch"] + 1
        finally:
            os.kill(first, signal.SIGCONT)
            second.terminate()
    assert eventually(lambda: editor.leads(first), 60)
