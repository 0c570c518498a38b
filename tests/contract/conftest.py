"""The same suite for every cluster that the portal meets: simulated, real, and real as of 1.34."""

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from embedded import controlplane
from simulator import apiserver
from tests.contract.client import Client

NUMBERS = itertools.count(1)
REAL = pytest.mark.cluster
CLUSTERS = [
    "simulated",
    pytest.param("kubernetes", marks=REAL),
    pytest.param("kubernetes-1.34", marks=REAL),
]


@dataclass(frozen=True, slots=True)
class Cluster:
    name: str
    client: Client

    @property
    def is_real(self) -> bool:
        return self.name != "simulated"


@pytest.fixture(scope="session")
def simulated_kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with apiserver.running(tmp_path_factory.mktemp("contract")) as server:
        yield server.kubeconfig


@pytest.fixture(scope="session", params=CLUSTERS)
def cluster(request: pytest.FixtureRequest) -> Cluster:
    name: str = request.param
    if name == "simulated":
        return Cluster(name, Client(request.getfixturevalue("simulated_kubeconfig")))
    fixture = "control_plane" if name == "kubernetes" else "old_control_plane"
    return Cluster(name, Client(request.getfixturevalue(fixture).kubeconfig))


@pytest.fixture
def api(cluster: Cluster) -> Client:
    return cluster.client


@pytest.fixture
def namespace(api: Client) -> Iterator[str]:
    """A namespace of this test's own; its removal is not waited for."""
    name = f"contract-{os.getpid()}-{next(NUMBERS)}"
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    assert api.create("/api/v1/namespaces", made).status == 201
    yield name
    api.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture
def unique() -> Callable[[str], str]:
    """Names of cluster-wide objects that no other test uses."""
    return lambda word: f"{word}-{os.getpid()}-{next(NUMBERS)}"


Restart = Callable[[], contextlib.AbstractContextManager[Client]]


@pytest.fixture(params=["simulated", pytest.param("kubernetes", marks=REAL)])
def restartable(
    request: pytest.FixtureRequest, tmp_path: Path, short_folder: Path
) -> Callable[[], contextlib.AbstractContextManager[Client]]:
    """Starts the same cluster again and again, each time on what it had stored."""
    real = short_folder / f"again-{next(NUMBERS)}"

    @contextlib.contextmanager
    def started() -> Iterator[Client]:
        if request.param == "simulated":
            with apiserver.running(tmp_path / "again") as server:
                yield Client(server.kubeconfig)
        else:
            with controlplane.running(real) as kubeconfig:
                yield Client(kubeconfig)

    return started
