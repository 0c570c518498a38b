"""A cluster with a fleet on it, and one team's namespace, as the tests of this folder use them."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from domain import metrics as reader
from simulator.fleet.run import Fleet, running
from simulator.fleet.scenario import Fault, Scenario
from tests.contract.client import Client

SECONDS = 60.0
IMAGE = "vllm/vllm-openai:v0.33.0"


@dataclass(slots=True)
class Live:
    """A cluster with a fleet on it; `restart` ends the fleet and starts it again."""

    client: Client
    scenario: Scenario
    options: dict[str, Any]
    stack: contextlib.ExitStack
    fleet: Fleet

    def restart(self) -> None:
        self.stack.close()
        self.fleet = self.stack.enter_context(
            running(self.client.kubeconfig, self.scenario, **self.options)
        )

    def items(self, path: str, **query: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client.get(path, **query).body["items"]
        return found

    def fault(self, kind: str, node: str, *, begins: bool, card: int = 0) -> None:
        fault = Fault(0, 0, kind, node, card, 79, {})
        work = self.fleet.apply_fault(fault, begins=begins)
        asyncio.run_coroutine_threadsafe(work, self.fleet.loop).result(SECONDS)


def until[T](found: Callable[[], T]) -> T:
    """What `found` gives once it is true; the deadline is for broken code only."""
    deadline = time.monotonic() + SECONDS
    while True:
        value = found()
        if value:
            return value
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def template(*rules: str, device_class: str = "gpu.nvidia.com") -> dict[str, Any]:
    wanted = {
        "deviceClassName": device_class,
        "selectors": [{"cel": {"expression": rule}} for rule in rules],
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "gpu"},
        "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": wanted}]}}},
    }


def server(*args: str, image: str = IMAGE, **resources: Any) -> dict[str, Any]:
    probe = {"httpGet": {"path": "/v1/models", "port": 8000}}
    return {
        "name": "server",
        "image": image,
        "args": list(args) or ["--model", "tiny/llama-1B", "--shutdown-timeout", "5"],
        "ports": [{"name": "http", "containerPort": 8000}],
        "resources": resources,
        "startupProbe": probe | {"periodSeconds": 10, "failureThreshold": 120},
        "readinessProbe": probe | {"periodSeconds": 5},
    }


def deployment(
    container: dict[str, Any], replicas: int = 1, claim: str = "", name: str = "app", **spec: Any
) -> dict[str, Any]:
    if claim:
        entry = {"name": "gpu", "resourceClaimTemplateName": claim}
        spec = spec | {"resourceClaims": [entry]}
        container = container | {"resources": {"claims": [{"name": "gpu"}]}}
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container], "terminationGracePeriodSeconds": 20} | spec,
            },
        },
    }


def service(name: str = "app") -> dict[str, Any]:
    ports = [{"name": "http", "port": 80, "targetPort": "http"}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": ports},
    }


@dataclass(slots=True)
class Team:
    """One namespace of a live cluster."""

    live: Live
    name: str

    def make(self, *bodies: dict[str, Any]) -> None:
        for body in bodies:
            answer = self.live.client.create(self.path(body["kind"]), body)
            assert answer.status == 201, answer.body

    def path(self, kind: str, name: str = "") -> str:
        group = {
            "Deployment": "apis/apps/v1",
            "ReplicaSet": "apis/apps/v1",
            "ResourceClaim": "apis/resource.k8s.io/v1",
            "ResourceClaimTemplate": "apis/resource.k8s.io/v1",
        }.get(kind, "api/v1")
        where = f"/{group}/namespaces/{self.name}/{kind.lower()}s"
        return f"{where}/{name}" if name else where

    def all(self, kind: str) -> list[dict[str, Any]]:
        return self.live.items(self.path(kind))

    def pods(self) -> list[dict[str, Any]]:
        return [pod for pod in self.all("Pod") if "deletionTimestamp" not in pod["metadata"]]

    def ready(self, count: int) -> list[dict[str, Any]]:
        def found() -> list[dict[str, Any]]:
            pods = [pod for pod in self.pods() if is_ready(pod)]
            return pods if len(pods) == count else []

        return until(found)

    def messages(self, reason: str) -> list[str]:
        return [event["message"] for event in self.all("Event") if event["reason"] == reason]

    def waiting(self, reason: str) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            for pod in self.pods():
                for status in pod["status"].get("containerStatuses") or []:
                    if status["state"].get("waiting", {}).get("reason") == reason:
                        return pod
            return None

        pod = until(found)
        assert pod
        return pod


def is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions") or []
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)


def served(team: Team, pod: dict[str, Any]) -> float:
    """Finished requests of a model server."""
    page = team.path("Pod", f"{pod['metadata']['name']}:8000") + "/proxy/metrics"
    answer = team.live.client.get(page)
    return reader.read(answer.body).counters["requests"] if answer.status == 200 else 0
