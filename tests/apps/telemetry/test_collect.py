"""Model servers are read through the API server; what cannot be read says why, the rest is kept."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.inventory import connections
from apps.inventory.models import Cluster
from apps.telemetry import collect, selectors
from apps.telemetry.models import Track
from apps.telemetry.scopes import Scope
from domain.manifests import labels
from kube import credentials, kinds
from simulator import apiserver

pytestmark = pytest.mark.django_db
PAGE = b"vllm:num_requests_running 3\nvllm:generation_tokens_total 50\n"


class Pods:
    """Answers for pods by name: a page, something else, or nothing."""

    async def log(
        self, pod: dict[str, Any], container: str, query: Mapping[str, str]
    ) -> apiserver.Reply:
        raise apiserver.Refused(404, "no logs here")

    async def proxy(self, pod: dict[str, Any], call: apiserver.Call) -> apiserver.Reply:
        name = pod["metadata"]["name"]
        if name == "away":
            raise apiserver.Refused(503, "error trying to reach service: refused")
        return apiserver.Reply(200, _once(b"<html>" if name == "strange" else PAGE))

    async def close(self) -> None: ...


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


@pytest.fixture
def cluster(simulated: apiserver.Server) -> Cluster:
    simulated.serve_pods(Pods())
    opened = credentials.from_kubeconfig(Path(simulated.kubeconfig).read_text())
    return Cluster.objects.create(
        slug="lab", name="Lab", server=opened.server, credentials=connections.sealed(opened)
    )


def make_pod(cluster: Cluster, name: str, *, ready: str = "True", port: str = "8000") -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": labels.pool_labels("vision", "llama", "main"),
            "annotations": {labels.METRICS_PORT: port},
        },
        "spec": {"containers": [{"name": "server", "image": "x"}]},
    }
    status = {
        "status": {
            "phase": "Running",
            "podIP": "10.244.0.9",
            "conditions": [{"type": "Ready", "status": ready}],
        }
    }
    with connections.opened(cluster) as connection:
        connection.apply(pod)
        connection.patch_merge(kinds.PODS, "default", name, status, sub="status")


def test_each_ready_server_is_read_and_each_failure_is_told(cluster: Cluster) -> None:
    for name in ("fine", "away", "strange"):
        make_pod(cluster, name)
    make_pod(cluster, "loading", ready="False")
    make_pod(cluster, "portless", port="none")

    assert collect.read_cluster(cluster) == 1

    problems = {track.pod: track.problem for track in Track.objects.all()}
    assert problems.keys() == {"fine", "away", "strange"}
    assert problems["fine"] == ""
    assert "trying to reach service" in problems["away"]
    assert "not Prometheus text exposition" in problems["strange"]

    scope = Scope(tenant="vision", deployment="llama")
    shown = selectors.serving(cluster, scope, timezone.now(), expected=3)
    running = next(one.figure for one in shown if one.metric == "running")
    assert (running.value, running.state, running.known, running.total) == (3, "partial", 1, 3)
    assert "away" in running.detail


def test_a_round_that_is_repeated_makes_no_second_track(cluster: Cluster) -> None:
    make_pod(cluster, "fine")
    collect.read_cluster(cluster)
    collect.read_cluster(cluster)
    track = Track.objects.get(pod="fine")
    assert track.tried_at is not None and track.read_at == track.tried_at > track.first_at
    assert track.aliases["running"] == "vllm:num_requests_running"
