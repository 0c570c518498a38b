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
KINDS = "deployments,services,resourceclaimtemplates,poddisruptionbudgets"
NAMESPACE = "team-chat"
WANTED = ["Deployment", "PodDisruptionBudget", "ResourceClaimTemplate", "Service"]
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

    def act(self, verb: str, name: str) -> None:
        command = [sys.executable, str(ACT), verb, name]
        subprocess.run(command, env=self.environment, check=True, capture_output=True)

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

    def kinds(self, name: str) -> list[str]:
        return sorted(one["kind"] for one in self.objects(name))


@pytest.fixture(scope="module")
def editor(running: DemoProcess, lasting_state: Path, kubectl: Kubectl) -> Editor:
    return Editor(running, lasting_state / "cluster" / "kubeconfig", kubectl)


@pytest.mark.parametrize(
    ("victim", "words"),
    [
        ("worker", ("celery", "worker")),
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
    time.sleep(3)  # two sweeps
    assert {one["metadata"]["uid"] for one in editor.objects(name)} == uids
    editor.act("retire", name)
    assert eventually(lambda: not editor.objects(name), 120)


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
    editor.act("retire", "wiped")
    assert eventually(lambda: not editor.objects("wiped"), 120)
