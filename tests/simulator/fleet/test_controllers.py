"""What stands in for kube-controller-manager on the simulated cluster only."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from simulator import apiserver
from simulator.apiserver import Fault
from simulator.fleet.run import running
from simulator.fleet.scenario import load
from tests.contract.client import Client
from tests.simulator.fleet.cluster import (
    Live,
    Team,
    deployment,
    is_ready,
    server,
    service,
    template,
    until,
)

RULES = "/apis/resource.k8s.io/v1/devicetaintrules"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with apiserver.running(tmp_path_factory.mktemp("controllers")) as one:
        yield one


@pytest.fixture(scope="module")
def live(api: Any) -> Iterator[Live]:
    """Nodes count as lost after two seconds here."""
    scenario = replace(load("small", speed=200), node_grace=2.0)
    with contextlib.ExitStack() as stack:
        fleet = stack.enter_context(running(api.kubeconfig, scenario))
        yield Live(Client(api.kubeconfig), scenario, {}, stack, fleet)


def budget(least: int) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "app"},
        "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": "app"}}},
    }


def evict(team: Team, pod: dict[str, Any]) -> tuple[int, str]:
    name = pod["metadata"]["name"]
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    answer = team.live.client.create(f"{team.path('Pod', name)}/eviction", body)
    return answer.status, str(answer.body)


def test_a_budget_decides_whether_a_pod_may_be_evicted(live: Live, team: Team) -> None:
    budgets = f"/apis/policy/v1/namespaces/{team.name}/poddisruptionbudgets"
    live.client.create(budgets, budget(2))
    team.make(template(), deployment(server(), 2, claim="gpu"))
    pods = team.ready(2)

    def healthy() -> dict[str, Any] | None:
        status: dict[str, Any] = live.items(budgets)[0].get("status") or {}
        return status if status.get("currentHealthy") == 2 else None

    status = until(healthy)
    assert status and (status["desiredHealthy"], status["disruptionsAllowed"]) == (2, 0)
    assert evict(team, pods[0])[0] == 429
    live.client.patch(f"{budgets}/app", {"spec": {"minAvailable": 1}})
    until(lambda: live.items(budgets)[0]["status"]["disruptionsAllowed"] == 1)
    answer = evict(team, pods[0])
    assert answer[0] == 201, answer
    team.ready(2)


def test_a_taint_rule_evicts_the_users_of_a_device(live: Live, team: Team) -> None:
    team.make(template(), deployment(server(), 1, claim="gpu"))
    [pod] = team.ready(1)
    [claim] = team.all("ResourceClaim")
    [result] = claim["status"]["allocation"]["devices"]["results"]
    rule = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "broken"},
        "spec": {
            "deviceSelector": {key: result[key] for key in ("driver", "pool", "device")},
            "taint": {"key": "example.com/broken", "effect": "NoExecute"},
        },
    }
    assert live.client.create(RULES, rule).status == 201
    try:
        until(lambda: pod["metadata"]["uid"] not in {p["metadata"]["uid"] for p in team.pods()})
        team.ready(1)
        [claim] = until(lambda: [c for c in team.all("ResourceClaim") if c.get("status")])
        [other] = claim["status"]["allocation"]["devices"]["results"]
        assert other["device"] != result["device"]
        assert team.messages("DeviceTaintManagerEviction") == ["Marking for deletion"]
    finally:
        live.client.delete(f"{RULES}/broken")


def test_a_silent_node_is_lost_and_found_again(live: Live, team: Team) -> None:
    def node_ready() -> bool:
        return is_ready(live.client.get("/api/v1/nodes/h100-1").body)

    team.make(template(), deployment(server(), 1, claim="gpu"))
    [pod] = team.ready(1)
    live.fault("node-silent", "h100-1", begins=True)
    try:
        until(lambda: not node_ready())
        node = live.client.get("/api/v1/nodes/h100-1").body
        assert {taint["effect"] for taint in node["spec"]["taints"]} == {"NoSchedule", "NoExecute"}
        # The pod is given up after its patience, and ends once its kubelet hears of that.
        until(lambda: pod["metadata"]["uid"] not in {p["metadata"]["uid"] for p in team.pods()})
    finally:
        live.fault("node-silent", "h100-1", begins=False)
    until(node_ready)
    until(lambda: not live.client.get("/api/v1/nodes/h100-1").body["spec"].get("taints"))
    [again] = team.ready(1)
    assert again["metadata"]["uid"] != pod["metadata"]["uid"]


def test_a_patient_pod_outlives_the_silence_of_its_node(live: Live, team: Team) -> None:
    patient = {
        "key": "node.kubernetes.io/unreachable",
        "operator": "Exists",
        "effect": "NoExecute",
    }
    team.make(template(), deployment(server(), 1, claim="gpu", tolerations=[patient]))
    [pod] = team.ready(1)
    live.fault("node-silent", "h100-1", begins=True)
    try:
        until(lambda: not is_ready(team.pods()[0]))
    finally:
        live.fault("node-silent", "h100-1", begins=False)
    [again] = team.ready(1)
    assert again["metadata"]["uid"] == pod["metadata"]["uid"]
    assert again["status"]["containerStatuses"] == pod["status"]["containerStatuses"]


def test_a_driver_that_is_away_keeps_pods_from_starting(live: Live, team: Team) -> None:
    live.fault("driver-down", "h100-1", begins=True)
    try:
        team.make(template(), deployment(server(), 1, claim="gpu"))
        [message] = until(lambda: team.messages("FailedPrepareDynamicResources"))
        assert "DRA driver gpu.nvidia.com is not registered" in message
        assert not is_ready(team.pods()[0])
    finally:
        live.fault("driver-down", "h100-1", begins=False)
    team.ready(1)


def test_an_annotation_on_a_node_makes_it_suffer(live: Live) -> None:
    def annotate(text: str | None) -> None:
        change = {"metadata": {"annotations": {"simulator.claimyard.dev/faults": text}}}
        assert live.client.patch("/api/v1/nodes/plugin-1", change).status == 200

    def allocatable() -> str:
        status = live.client.get("/api/v1/nodes/plugin-1").body["status"]
        return str(status["allocatable"]["nvidia.com/gpu"])

    annotate("card-sick=1, nonsense card-lost=99")
    until(lambda: allocatable() == "1")
    annotate(None)
    until(lambda: allocatable() == "2")


def test_a_half_published_pool_is_incomplete_until_the_driver_is_back(live: Live) -> None:
    def pool() -> list[dict[str, Any]]:
        return [
            item["spec"]["pool"]
            for item in live.items("/apis/resource.k8s.io/v1/resourceslices")
            if item["spec"]["pool"]["name"] == "h100-1"
            and item["spec"]["driver"] == "gpu.nvidia.com"
        ]

    live.fault("slices-half", "h100-1", begins=True)
    try:
        until(lambda: [one["resourceSliceCount"] for one in pool()] == [2])
        generation = pool()[0]["generation"]
    finally:
        live.fault("slices-half", "h100-1", begins=False)
    until(lambda: [one["resourceSliceCount"] for one in pool()] == [1])
    assert pool()[0]["generation"] > generation


@pytest.mark.parametrize(("policy", "left"), [("Foreground", 0), ("Orphan", 2), ("Background", 0)])
def test_dependents_follow_the_propagation_policy(
    live: Live, team: Team, policy: str, left: int
) -> None:
    team.make(template(), deployment(server(), 2, claim="gpu"))
    team.ready(2)
    [rs] = team.all("ReplicaSet")
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy}
    live.client.delete(team.path("Deployment", "app"), options)
    until(lambda: live.client.get(team.path("Deployment", "app")).status == 404)
    until(lambda: len(team.all("ReplicaSet")) == (1 if left else 0))
    until(lambda: len(team.pods()) == left)
    if left:
        [orphan] = team.all("ReplicaSet")
        assert not orphan["metadata"].get("ownerReferences")
        live.client.delete(team.path("ReplicaSet", rs["metadata"]["name"]))


def test_endpoints_hold_ready_pods_and_their_named_port(live: Live, team: Team) -> None:
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{team.name}/endpointslices"
    team.make(template(), deployment(server(), 2, claim="gpu"), service())
    addresses = {pod["status"]["podIP"] for pod in team.ready(2)}

    def ready() -> set[str]:
        return {
            endpoint["addresses"][0]
            for item in live.items(slices)
            for endpoint in item.get("endpoints") or []
            if endpoint["conditions"]["ready"]
        }

    until(lambda: ready() == addresses)
    [item] = live.items(slices)
    assert item["ports"] == [{"name": "http", "port": 8000, "protocol": "TCP"}]
    assert item["metadata"]["labels"]["kubernetes.io/service-name"] == "app"


def test_a_new_driver_version_replaces_its_pods(live: Live) -> None:
    sets = "/apis/apps/v1/namespaces/nvidia-dra-driver-gpu/daemonsets"
    [daemon] = live.items(sets)
    containers = daemon["spec"]["template"]["spec"]["containers"]
    for container in containers:
        container["image"] = container["image"].replace(":v0.4.1", ":v0.5.0")
    change = {"spec": {"template": {"spec": {"containers": containers}}}}
    live.client.patch(f"{sets}/{daemon['metadata']['name']}", change)

    def versions() -> set[str]:
        pods = live.items("/api/v1/namespaces/nvidia-dra-driver-gpu/pods")
        ready = [pod for pod in pods if is_ready(pod)]
        return {p["spec"]["containers"][0]["image"].rpartition(":")[2] for p in ready}

    until(lambda: versions() == {"v0.5.0"})


def test_finished_pods_give_their_devices_back(live: Live, team: Team) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "once"},
        "spec": {
            "restartPolicy": "Never",
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
            "containers": [
                {
                    "name": "c",
                    "image": "busybox",
                    "command": ["sleep", "20"],
                    "resources": {"claims": [{"name": "gpu"}]},
                }
            ],
        },
    }
    team.make(template(), pod)
    until(lambda: team.all("Pod")[0]["status"]["phase"] == "Succeeded")
    until(lambda: not team.all("ResourceClaim"))
    live.client.delete(team.path("Pod", "once"))


def test_a_deployment_comes_up_through_a_faulty_server(live: Live, team: Team, api: Any) -> None:
    faults = (
        Fault("500", "POST *", times=6),
        Fault("500", "PATCH *", times=6, after=10),
        Fault("429", "PUT *", times=3),
        Fault("conflict", "PUT *", times=3),
        Fault("drop-watch", "WATCH *", times=6),
        Fault("410", "WATCH *", times=3),
        Fault("latency", "*", times=40, seconds=0.05),
    )
    team.make(template())
    for fault in faults:
        api.faults.add(fault)
    try:
        made = deployment(server(), 3, claim="gpu")
        until(lambda: live.client.create(team.path("Deployment"), made).status in {201, 409})
        team.ready(3)
        until(lambda: len(team.all("ResourceClaim")) == 3)
    finally:
        api.faults.clear()
    live.client.patch(team.path("Deployment", "app"), {"spec": {"replicas": 0}})
    until(lambda: not team.all("Pod") and not team.all("ResourceClaim"))


def test_odd_objects_stop_nobody_else(live: Live, team: Team) -> None:
    """Bodies that the simulated server takes and that no controller can make sense of."""
    odd = deployment(server(), 1, name="odd")
    odd["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": "many", "maxUnavailable": "x%"}}
    wrong = budget(1)
    wrong["spec"]["minAvailable"] = "most%"
    budgets = f"/apis/policy/v1/namespaces/{team.name}/poddisruptionbudgets"
    assert live.client.create(budgets, wrong).status in {201, 400, 422}
    assert live.client.create(team.path("Deployment"), odd).status in {201, 400, 422}
    hostile = server("--model", "<script>alert(1)</script>-1B\n$(rm -rf)")
    team.make(template(), deployment(hostile, 1, claim="gpu"), service())
    [pod] = team.ready(1)
    page = f"{team.path('Pod', pod['metadata']['name'] + ':8000')}/proxy/v1/models"
    assert live.client.get(page).body["data"][0]["id"].startswith("<script>")


def test_a_cluster_without_taint_rules_gets_its_fleet_too(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("old")
    with (
        apiserver.running(folder, apiserver.Options(minor=34)) as server_,
        running(server_.kubeconfig, load("small", speed=200)),
    ):
        client = Client(server_.kubeconfig)
        assert client.get(RULES).status == 404
        pods = "/api/v1/namespaces/nvidia-dra-driver-gpu/pods"
        until(lambda: [is_ready(pod) for pod in client.get(pods).body["items"]] == [True, True])
