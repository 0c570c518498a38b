"""The fleet on a cluster: what nodes, drivers, kubelets and model servers do there."""

from functools import partial
from typing import Any

import pytest

from domain import metrics as reader
from tests.simulator.fleet.cluster import (
    Live,
    Team,
    deployment,
    is_ready,
    served,
    server,
    service,
    template,
    until,
)


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
    assert tokens["tokens"] > 0
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
    # A whole card: a sick one in MIG mode taints all of its partitions.
    whole = 'device.attributes["gpu.nvidia.com"].productName.startsWith("NVIDIA H100")'
    team.make(template(whole), deployment(server(), 1, claim="gpu"))
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
    limits = {"nvidia.com/gpu": "1"}
    plugin = deployment(server(limits=limits, requests=limits), 1, name="plugin")
    team.make(template(), deployment(server(), 1, claim="gpu"), service(), plugin)
    team.make(service("plugin"))
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
