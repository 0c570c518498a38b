"""The fleet on a cluster: simulated with its own controllers, and real with Kubernetes' own."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from domain import metrics as reader
from simulator import apiserver
from simulator.fleet.run import Fleet, running
from simulator.fleet.scenario import Fault, Scenario, load
from tests.contract.client import Client

NUMBERS = itertools.count(1)
SECONDS = 60.0
IMAGE = "vllm/vllm-openai:v0.33.0"
CLUSTERS = ["simulated", pytest.param("kubernetes", marks=pytest.mark.cluster)]


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


@pytest.fixture(scope="module", params=CLUSTERS)
def live(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Live]:
    scenario = load("small", speed=200)
    with contextlib.ExitStack() as outer, contextlib.ExitStack() as stack:
        options: dict[str, Any] = {}
        if request.param == "simulated":
            server = outer.enter_context(apiserver.running(tmp_path_factory.mktemp("live")))
            kubeconfig: str | Path = server.kubeconfig
        else:
            plane = request.getfixturevalue("control_plane")
            kubeconfig = plane.kubeconfig
            options = {"nodes_only": True, "egress": Path(plane.pod_proxy)}
        fleet = stack.enter_context(running(kubeconfig, scenario, **options))
        yield Live(Client(kubeconfig), scenario, options, stack, fleet)


@pytest.fixture
def space(live: Live) -> Iterator[str]:
    """A namespace; emptied at the end so that its devices are free for the next test."""
    name = f"fleet-{next(NUMBERS)}"
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    assert live.client.create("/api/v1/namespaces", made).status == 201
    until(
        lambda: live.client.get(f"/api/v1/namespaces/{name}/serviceaccounts/default").status == 200
    )
    yield name
    live.client.delete(f"/apis/apps/v1/namespaces/{name}/deployments")
    until(lambda: not live.items(f"/api/v1/namespaces/{name}/pods"))
    until(lambda: not live.items(f"/apis/resource.k8s.io/v1/namespaces/{name}/resourceclaims"))
    # Kubernetes takes ten seconds over a namespace, so nobody waits for that.
    live.client.delete(f"/api/v1/namespaces/{name}")


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


@pytest.fixture
def team(live: Live, space: str) -> Team:
    return Team(live, space)


def is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions") or []
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)


def served(team: Team, pod: dict[str, Any]) -> float:
    """Finished requests of a model server."""
    page = team.path("Pod", f"{pod['metadata']['name']}:8000") + "/proxy/metrics"
    answer = team.live.client.get(page)
    return reader.read(answer.body).counters["requests"] if answer.status == 200 else 0


def test_nodes_are_ready_and_every_pool_is_complete(live: Live) -> None:
    until(lambda: len([n for n in live.items("/api/v1/nodes") if is_ready(n)]) == 3)
    pools: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for item in live.items("/apis/resource.k8s.io/v1/resourceslices"):
        pool = (item["spec"]["driver"], item["spec"]["pool"]["name"])
        pools.setdefault(pool, []).append(item["spec"]["pool"])
    assert {name for driver, name in pools if driver == "gpu.nvidia.com"} == {"h100-1", "a100-1"}
    for slices in pools.values():
        assert {s["resourceSliceCount"] for s in slices} == {len(slices)}
        assert len({s["generation"] for s in slices}) == 1


def test_driver_pods_tell_their_version(live: Live) -> None:
    def found() -> set[str]:
        pods = live.items("/api/v1/namespaces/nvidia-dra-driver-gpu/pods")
        ready = [pod for pod in pods if is_ready(pod)]
        return {c["image"] for pod in ready for c in pod["spec"]["containers"]}

    [image] = until(found)
    assert image.endswith(":v0.4.1")


def test_a_model_loads_on_an_allocated_device_and_serves(live: Live, team: Team) -> None:
    team.make(template(), deployment(server(), 2, claim="gpu"), service())
    pods = team.ready(2)
    claims = team.all("ResourceClaim")
    results = [claim["status"]["allocation"]["devices"]["results"][0] for claim in claims]
    assert len({result["device"] for result in results}) == 2
    for claim in claims:
        [report] = claim["status"]["devices"]
        assert report["conditions"][0]["reason"] == "Prepared"
    [status] = pods[0]["status"]["containerStatuses"]
    [resource] = status["allocatedResourcesStatus"]
    assert resource["name"] == "claim:gpu"
    assert resource["resources"][0]["health"] == "Healthy"
    assert until(lambda: team.messages("Started"))

    proxy = team.path("Pod", f"{pods[0]['metadata']['name']}:8000") + "/proxy"
    question = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 20}
    answer = live.client.create(f"{proxy}/v1/chat/completions", question)
    assert answer.status == 200, answer.body
    assert answer.body["choices"][0]["message"]["content"]
    tokens = until(lambda: reader.read(live.client.get(f"{proxy}/metrics").body).counters)
    assert tokens["generation_tokens"] > 0
    log = live.client.get(team.path("Pod", pods[0]["metadata"]["name"]) + "/log", tailLines=2)
    assert "Application startup complete." in log.body


def test_callers_reach_every_replica_behind_a_service(live: Live, team: Team) -> None:
    team.make(template(), deployment(server(), 2, claim="gpu"), service())
    for pod in team.ready(2):
        until(partial(served, team, pod))


def test_scaling_down_and_retiring_free_the_devices(live: Live, team: Team) -> None:
    team.make(template(), deployment(server(), 3, claim="gpu"))
    team.ready(3)
    live.client.patch(team.path("Deployment", "app"), {"spec": {"replicas": 1}})
    until(lambda: len(team.all("ResourceClaim")) == 1)
    live.client.delete(team.path("Deployment", "app"))
    until(lambda: not team.all("Pod") and not team.all("ResourceClaim"))
    assert not team.all("ReplicaSet")


def test_a_new_template_rolls_over_without_a_gap(live: Live, team: Team) -> None:
    team.make(template(), deployment(server(), 2, claim="gpu"))
    before = {pod["metadata"]["name"] for pod in team.ready(2)}
    until(lambda: available(team) == 2)
    change = {"spec": {"template": {"metadata": {"annotations": {"restarted": "now"}}}}}
    live.client.patch(team.path("Deployment", "app"), change)

    def rolled() -> bool:
        assert available(team) >= 2
        names = {pod["metadata"]["name"] for pod in team.pods()}
        return len(names) == 2 and not names & before

    until(rolled)


def available(team: Team) -> int:
    status = team.live.client.get(team.path("Deployment", "app")).body["status"]
    return int(status.get("availableReplicas", 0))


def test_a_pod_that_finds_no_device_says_so_in_the_schedulers_words(live: Live, team: Team) -> None:
    rule = "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA H200'"
    team.make(template(rule), deployment(server(), claim="gpu"))

    def refused() -> list[str]:
        return [
            condition["message"]
            for pod in team.pods()
            for condition in pod["status"].get("conditions") or []
            if condition["type"] == "PodScheduled" and condition["status"] == "False"
        ]

    [message] = until(refused)
    assert message == (
        "0/3 nodes are available: 3 cannot allocate all claims. preemption: 0/3 nodes are "
        "available: 3 Preemption is not helpful for scheduling."
    )
    assert until(lambda: team.messages("FailedScheduling")) == [message]


def test_a_missing_template_is_told_in_an_event(live: Live, team: Team) -> None:
    team.make(deployment(server(), claim="nowhere"))
    [message] = until(lambda: team.messages("FailedResourceClaimCreation"))
    assert message == (
        'PodResourceClaim gpu: resource claim template "nowhere": '
        'resourceclaimtemplate.resource.k8s.io "nowhere" not found'
    )


def test_partitions_share_a_card_by_its_counters(live: Live, team: Team) -> None:
    rule = "device.attributes['gpu.nvidia.com'].profile == '3g.40gb'"
    body = template(rule, device_class="mig.nvidia.com")
    team.make(body, deployment(server(), 5, claim="gpu"))
    # Two of these fit on a card by memory slices, and there are two cards.
    team.ready(4)
    devices = [
        claim["status"]["allocation"]["devices"]["results"][0]["device"]
        for claim in team.all("ResourceClaim")
        if "allocation" in claim.get("status", {})
    ]
    assert sorted(devices) == [
        "gpu-0-mig-3g40gb-9-0", "gpu-0-mig-3g40gb-9-4",
        "gpu-1-mig-3g40gb-9-0", "gpu-1-mig-3g40gb-9-4",
    ]  # fmt: skip


def test_the_plugin_path_runs_out_of_cards(live: Live, team: Team) -> None:
    limits = {"nvidia.com/gpu": "1"}
    team.make(deployment(server(limits=limits, requests=limits), 3))
    team.ready(2)
    [message] = until(lambda: team.messages("FailedScheduling"))
    assert "Insufficient nvidia.com/gpu" in message


def test_an_image_that_is_not_there_backs_off(live: Live, team: Team) -> None:
    team.make(deployment(server(image="registry.example.com/missing:1")))
    team.waiting("ImagePullBackOff")
    assert any("not found" in text for text in until(lambda: team.messages("Failed")))


def test_a_bad_argument_crashes_again_and_again(live: Live, team: Team) -> None:
    team.make(template(), deployment(server("--model", "a-1B", "--nonsense"), claim="gpu"))
    pod = team.waiting("CrashLoopBackOff")
    [status] = pod["status"]["containerStatuses"]
    assert status["lastState"]["terminated"]["exitCode"] == 2
    query = {"previous": "true"} if status["restartCount"] else {}
    log = live.client.get(team.path("Pod", pod["metadata"]["name"]) + "/log", **query)
    assert "unrecognized arguments: --nonsense" in str(log.body)


def test_a_model_larger_than_the_card_says_out_of_memory(live: Live, team: Team) -> None:
    team.make(template(), deployment(server("--model", "huge-70B"), claim="gpu"))
    pod = team.waiting("CrashLoopBackOff")
    path = team.path("Pod", pod["metadata"]["name"]) + "/log"
    until(lambda: "CUDA out of memory" in str(live.client.get(path).body))


def test_a_missing_secret_keeps_the_container_from_starting(live: Live, team: Team) -> None:
    source = {"secretKeyRef": {"name": "token", "key": "hf"}}
    container = server() | {"env": [{"name": "HF_TOKEN", "valueFrom": source}]}
    team.make(template(), deployment(container, claim="gpu"))
    pod = team.waiting("CreateContainerConfigError")
    state = pod["status"]["containerStatuses"][0]["state"]
    assert state["waiting"]["message"] == 'secret "token" not found'


def test_a_sick_card_is_tainted_and_told_to_its_pod(live: Live, team: Team) -> None:
    team.make(template(), deployment(server(), 1, claim="gpu"))
    team.ready(1)
    [claim] = team.all("ResourceClaim")
    [result] = claim["status"]["allocation"]["devices"]["results"]
    card = int(result["device"].removeprefix("gpu-"))
    live.fault("card-sick", result["pool"], begins=True, card=card)

    def health() -> set[str]:
        [pod] = team.pods()
        [status] = pod["status"]["containerStatuses"]
        return {
            item["health"] for r in status["allocatedResourcesStatus"] for item in r["resources"]
        }

    def tainted() -> list[str]:
        return [
            device["name"]
            for item in live.items("/apis/resource.k8s.io/v1/resourceslices")
            for device in item["spec"].get("devices") or []
            if device.get("taints")
        ]

    try:
        until(lambda: tainted() == [result["device"]])
        until(lambda: health() == {"Unhealthy"})
    finally:
        live.fault("card-sick", result["pool"], begins=False, card=card)
    until(lambda: not tainted())
    until(lambda: health() == {"Healthy"})


# Kubernetes waits 40 seconds before it collects pods of a node that is gone.
@pytest.mark.parametrize("live", ["simulated"], indirect=True)
def test_a_removed_node_takes_its_pods_and_slices_along_and_returns(live: Live, team: Team) -> None:
    team.make(template(), deployment(server(), 1, claim="gpu"))
    [pod] = team.ready(1)
    live.fault("node-removed", "h100-1", begins=True)
    try:
        until(lambda: live.client.get("/api/v1/nodes/h100-1").status == 404)
        until(lambda: pod["metadata"]["name"] not in {p["metadata"]["name"] for p in team.pods()})
    finally:
        live.fault("node-removed", "h100-1", begins=False)
    [again] = team.ready(1)
    assert again["metadata"]["uid"] != pod["metadata"]["uid"]


@pytest.mark.parametrize("live", ["simulated"], indirect=True)
def test_a_namespace_goes_with_everything_in_it(live: Live, space: str) -> None:
    team = Team(live, space)
    team.make(template(), deployment(server(), 1, claim="gpu"), service())
    team.ready(1)
    live.client.delete(f"/api/v1/namespaces/{space}")
    until(lambda: live.client.get(f"/api/v1/namespaces/{space}").status == 404)
    assert not [
        c
        for c in live.items("/apis/resource.k8s.io/v1/resourceclaims")
        if c["metadata"]["namespace"] == space
    ]


def test_a_restart_of_the_fleet_goes_on_where_it_was(live: Live, team: Team) -> None:
    team.make(template(), deployment(server(), 2, claim="gpu"), service())
    before = {pod["metadata"]["uid"]: pod["status"]["containerStatuses"] for pod in team.ready(2)}
    published = generations(live)
    live.restart()
    for pod in team.ready(2):
        until(partial(served, team, pod))
    after = {pod["metadata"]["uid"]: pod["status"]["containerStatuses"] for pod in team.ready(2)}
    assert after == before
    assert generations(live) == published


def generations(live: Live) -> dict[str, int]:
    items = live.items("/apis/resource.k8s.io/v1/resourceslices")
    return {item["metadata"]["uid"]: item["spec"]["pool"]["generation"] for item in items}
