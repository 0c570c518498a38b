"""A gateway between callers and pools: weights, pickers, status, and servers that got worse."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from domain import routing
from simulator import apiserver
from simulator.fleet.run import running
from simulator.fleet.scenario import Affliction, load
from simulator.fleet.serving.regression import ANNOTATION, Regression, parse
from tests.contract.client import Client
from tests.simulator.fleet.cluster import Live, Team, deployment, server, template, until

ROUTES = "/apis/gateway.networking.k8s.io/v1/namespaces/{}/httproutes"
POOLS = "/apis/inference.networking.k8s.io/v1/namespaces/{}/inferencepools"
GATEWAY = "/apis/gateway.networking.k8s.io/v1/namespaces/gateways/gateways/shared"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A small fleet with a gateway, busy callers, and one pool that fails half its requests."""
    scenario = load("small", speed=200)
    busy = tuple(replace(one, rate=40.0, swing=0.0) for one in scenario.traffic)
    broken = Affliction("*", {"pool": "broken"}, 1.0, Regression(errors=0.5, metrics="whole"))
    scenario = replace(scenario, gateway="gateways/shared", traffic=busy, regressions=(broken,))
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(apiserver.running(tmp_path_factory.mktemp("routes")))
        inner = stack.enter_context(contextlib.ExitStack())
        fleet = inner.enter_context(running(made.kubeconfig, scenario))
        yield Live(Client(made.kubeconfig), scenario, {}, inner, fleet)


def labelled(body: dict[str, Any], **labels: str) -> dict[str, Any]:
    body["spec"]["selector"] = {"matchLabels": labels}
    body["spec"]["template"]["metadata"]["labels"] = labels
    return body


def picker(pool: str) -> list[dict[str, Any]]:
    container = {
        "name": "picker",
        "image": "registry.example/endpoint-picker:v1",
        "args": [f"--pool-name={pool}"],
        "readinessProbe": {"grpc": {"port": 9003}},
    }
    body = labelled(deployment(container, name=f"{pool}-picker"), picker=pool)
    ports = [{"name": "grpc", "port": 9002}]
    found = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"{pool}-picker"}}
    return [body, found | {"spec": {"selector": {"picker": pool}, "ports": ports}}]


def pool(name: str) -> dict[str, Any]:
    ref = {"name": f"{name}-picker", "port": {"number": 9002}, "failureMode": "FailClose"}
    labels = {"matchLabels": {"app": "llm", "pool": name}}
    return {
        "apiVersion": "inference.networking.k8s.io/v1",
        "kind": "InferencePool",
        "metadata": {"name": name},
        "spec": {"selector": labels, "targetPorts": [{"number": 8000}], "endpointPickerRef": ref},
    }


def refs(**weights: int) -> list[dict[str, Any]]:
    kind = {"group": "inference.networking.k8s.io", "kind": "InferencePool"}
    return [kind | {"name": name, "weight": weight} for name, weight in weights.items()]


def serve(team: Team, *names: str, **weights: int) -> None:
    """Pools of one server each behind one Service and one route."""
    team.make(template())
    for name in names:
        body = deployment(server(), claim="gpu", name=name)
        team.make(labelled(body, app="llm", pool=name), *picker(name))
        assert team.live.client.create(POOLS.format(team.name), pool(name)).status == 201
    ports = [{"name": "http", "port": 80, "targetPort": "http"}]
    spec = {"selector": {"app": "llm"}, "ports": ports}
    team.make({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "llm"}, "spec": spec})
    parent = {"name": "shared", "namespace": "gateways"}
    route = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "llm"},
        "spec": {"parentRefs": [parent], "rules": [{"backendRefs": refs(**weights)}]},
    }
    assert team.live.client.create(ROUTES.format(team.name), route).status == 201
    team.ready(2 * len(names))


def page(team: Team, name: str, port: int = 8000) -> str:
    [found] = [
        pod
        for pod in team.pods()
        if pod["metadata"]["labels"].get("picker" if port == 9090 else "pool") == name
    ]
    path = team.path("Pod", f"{found['metadata']['name']}:{port}") + "/proxy/metrics"
    answer = team.live.client.get(path)
    return str(answer.body) if answer.status == 200 else ""


def counted(text: str, *words: str) -> float:
    lines = [line for line in text.splitlines() if all(word in line for word in words)]
    return sum(float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#"))


def picked(team: Team, name: str) -> float:
    return counted(page(team, name, 9090), "request_total")


def set_weights(team: Team, **weights: int) -> dict[str, Any]:
    path = f"{ROUTES.format(team.name)}/llm"
    rules = [{"backendRefs": refs(**weights)}]
    answer = team.live.client.patch(path, {"spec": {"rules": rules}})
    assert answer.status == 200, answer.body
    body: dict[str, Any] = answer.body
    return body


def test_requests_follow_the_weights_within_chance(team: Team) -> None:
    serve(team, "main", "canary", main=80, canary=20)
    until(lambda: picked(team, "main") + picked(team, "canary") >= 400)
    main, canary = picked(team, "main"), picked(team, "canary")
    assert routing.follows(0.2, canary / (main + canary), main + canary)

    changed = set_weights(team, main=0, canary=100)["metadata"]["generation"]

    def told() -> bool:
        found = team.live.client.get(f"{ROUTES.format(team.name)}/llm").body
        said = [c for one in found["status"]["parents"] for c in one["conditions"]]
        return bool(min(one["observedGeneration"] for one in said) >= changed)

    until(told)
    before = picked(team, "main")
    more = picked(team, "canary") + 50
    until(lambda: picked(team, "canary") >= more)
    # One tick of the callers may have been under way.
    assert picked(team, "main") - before <= 40 * 0.25 * 3


def test_a_pool_without_a_picker_refuses_only_its_own_share(team: Team) -> None:
    serve(team, "main", "canary", main=50, canary=50)
    until(lambda: picked(team, "canary") > 0)
    team.live.client.delete(team.path("Deployment", "canary-picker"))
    until(lambda: len(team.pods()) == 3)
    stopped = counted(page(team, "canary"), "http_requests_total", "2xx")
    more = picked(team, "main") + 60
    until(lambda: picked(team, "main") >= more)
    assert counted(page(team, "canary"), "http_requests_total", "2xx") - stopped <= 15


def test_the_gateway_tells_of_itself_and_of_what_is_missing(team: Team) -> None:
    serve(team, "main", main=100)
    found = team.live.client.get(GATEWAY).body
    assert {one["type"] for one in found["status"]["conditions"]} == {"Accepted", "Programmed"}
    set_weights(team, main=50, nowhere=50)

    def refused() -> bool:
        route = team.live.client.get(f"{ROUTES.format(team.name)}/llm").body
        [parent] = route["status"]["parents"]
        return any(
            one["reason"] == "BackendNotFound" and "nowhere" in one["message"]
            for one in parent["conditions"]
        )

    until(refused)


def test_a_pool_that_the_scenario_breaks_fails_as_often_as_it_says(team: Team) -> None:
    serve(team, "broken", broken=100)
    until(lambda: picked(team, "broken") >= 300)
    text = page(team, "broken")
    failed = counted(text, "http_requests_total", "chat", "5xx")
    served = counted(text, "http_requests_total", "chat", "2xx")
    assert routing.follows(0.5, failed / (failed + served), failed + served)
    assert counted(text, "request_success_total", 'reason="error"') == failed


def test_an_annotation_empties_the_page_of_a_running_server(team: Team) -> None:
    serve(team, "main", main=100)
    [pod] = [one for one in team.pods() if one["metadata"]["labels"].get("pool") == "main"]
    path = team.path("Pod", pod["metadata"]["name"])
    note = {"metadata": {"annotations": {ANNOTATION: "metrics=empty slow=1.4"}}}
    assert team.live.client.patch(path, note).status == 200
    proxy = team.path("Pod", f"{pod['metadata']['name']}:8000") + "/proxy/metrics"
    until(lambda: team.live.client.get(proxy).body in ("", b"", None))


def test_what_people_type_is_read_or_left_out() -> None:
    assert parse(
        "slow=1.4, errors=0.02 cache=0.7 metrics=renamed nonsense slow=fast"
    ) == Regression(1.4, 0.02, 0.7, "renamed")
    status, text = Regression(metrics="renamed").page("vllm:time_to_first_token_seconds_sum 1")
    assert (status, text) == (200, "vllm:engine_time_to_first_token_seconds_sum 1")
    assert Regression(metrics="down").page("x")[0] == 503
