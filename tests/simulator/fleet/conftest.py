"""Fleets on the simulated cluster, with our controllers, and on a real one, with its own."""

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator import apiserver
from simulator.fleet.run import running
from simulator.fleet.scenario import load
from tests.contract.client import Client
from tests.simulator.fleet.cluster import Live, Team, until

NUMBERS = itertools.count(1)
CLUSTERS = ["simulated", pytest.param("kubernetes", marks=pytest.mark.cluster)]
EVERYTHING = {
    "/api/v1/nodes": ("h100-1", "a100-1", "plugin-1"),
    "/api/v1/namespaces": ("nvidia-dra-driver-gpu", "gpu-operator"),
    "/api/v1/namespaces/kube-system/configmaps": ("simulated-fleet",),
    "/apis/resource.k8s.io/v1/deviceclasses": (
        "gpu.nvidia.com",
        "mig.nvidia.com",
        "compute-domain-daemon.nvidia.com",
        "compute-domain-default-channel.nvidia.com",
    ),
}


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
            plane = request.getfixturevalue("bare_control_plane")
            kubeconfig = plane.kubeconfig
            options = {"nodes_only": True, "egress": Path(plane.pod_proxy)}
        fleet = stack.enter_context(running(kubeconfig, scenario, **options))
        live = Live(Client(kubeconfig), scenario, options, stack, fleet)
        yield live
        stack.close()
        for path, names in EVERYTHING.items():
            for name in names:
                live.client.delete(f"{path}/{name}")


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


@pytest.fixture
def team(live: Live, space: str) -> Team:
    return Team(live, space)
