"""The product's story from end to end, by its pages, on a simulated and on a real cluster.

Only the worker is replaced: what beat and Celery would run, `settle` runs here and now. On the real
control plane it is kube-scheduler that allocates, and quota and admission that judge.
"""

import contextlib
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

import kube
from apps.catalog.models import Approval, ClassInCluster, ClassVersion, PatternVersion
from apps.catalog.reconcile import reconcile_class
from apps.deployments import surge
from apps.deployments.models import Deployment
from apps.deployments.observe import observe_cluster
from apps.deployments.reconcile import reconcile_deployment
from apps.inventory import connections
from apps.inventory import services as inventory
from apps.inventory.models import Cluster, Mode
from apps.quotas.models import TenantNamespace
from apps.quotas.reconcile import reconcile_namespace
from domain.manifests import selector_of
from kube import client, credentials, kinds, rights
from kube.errors import NotFound
from simulator import apiserver
from simulator.fleet.run import running
from simulator.fleet.scenario import load
from tests.mirrors import mirrored

pytestmark = [pytest.mark.django_db(transaction=True)]
CLUSTERS = ["simulated", pytest.param("kubernetes", marks=pytest.mark.cluster)]
SECONDS = 90.0
GPU = 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].?type.orValue("")'


@pytest.fixture(scope="module", params=CLUSTERS)
def kubeconfig(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A cluster with the fleet "small" on it: eight H100 cards among others."""
    with contextlib.ExitStack() as stack:
        options: dict[str, Any] = {}
        if request.param == "simulated":
            server = stack.enter_context(apiserver.running(tmp_path_factory.mktemp("story")))
            path = Path(server.kubeconfig)
        else:
            plane = request.getfixturevalue("bare_control_plane")
            path = Path(plane.kubeconfig)
            options = {"nodes_only": True, "egress": Path(plane.pod_proxy)}
        stack.enter_context(running(path, load("small", speed=200), **options))
        yield path


def as_the_portals_account(kubeconfig: Path) -> credentials.Credentials:
    """A token of the account that the portal's own manifest makes: no right beyond the table."""
    found = credentials.from_kubeconfig(kubeconfig.read_text())
    connection = kube.connect(found)
    try:
        for manifest in rights.manifests(mode="manage", metrics=True):
            connection.apply(manifest, force=True)
    finally:
        connection.close()
    arguments = [f"--kubeconfig={kubeconfig}", *rights.token_command(hours=1).split()[1:]]
    kubectl = Path(sys.executable).with_name("kubectl")
    token = subprocess.run([kubectl, *arguments], capture_output=True, text=True, check=True).stdout
    return credentials.from_parts(server=found.server, ca=found.ca, token=token)


def until(holds: Callable[[], object], what: str) -> None:
    """Wait for something that the cluster brings about; the limit is for broken code only."""
    limit = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < limit, f"it never happened: {what}"
        time.sleep(0.1)


@dataclass(slots=True)
class Story:
    """People with a browser each, the cluster, and names that no other test uses."""

    cluster: Cluster
    people: dict[str, Client]
    device_class: str
    namespace: str

    def post(self, who: str, path: str, **data: Any) -> str:
        response = self.people[who].post(path, data, follow=True)
        assert response.status_code in (200, 422), response.status_code
        return str(response.text)

    def settle(self) -> None:
        """Run whatever the worker would run."""
        for placement in ClassInCluster.objects.all():
            reconcile_class(placement.pk)
        for row in TenantNamespace.objects.all():
            reconcile_namespace(row.pk)
        for deployment in Deployment.objects.filter(retired_at=None):
            reconcile_deployment(deployment.pk)
        observe_cluster(self.cluster)

    def word(self) -> str:
        self.settle()
        page = self.people["alice"].get("/t/vision/deployments/llama/")
        return str(page.context["summary"].word)


@pytest.fixture
def story(
    kubeconfig: Path,
    admin: Any,
    approver: Any,
    alice: Any,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> Iterator[Story]:
    account = as_the_portals_account(kubeconfig)
    monkeypatch.setattr(surge, "WAIT_MS", 0)
    settings.ASK_WAIT_MS = 0
    mark = uuid4().hex[:8]
    cluster = inventory.register_cluster(
        actor=admin,
        slug="lab",
        name="Lab",
        credentials=account,
        mode=Mode.MANAGE,
    )
    people = {}
    for user in (admin, approver, alice):
        people[user.username] = Client()
        people[user.username].force_login(user)
    with mirrored(cluster, "story"):
        yield Story(cluster, people, f"h100-{mark}", f"vision-{mark}")
    # The portal may not delete namespaces; the tests may.
    api = kube.connect(credentials.from_kubeconfig(kubeconfig.read_text()))
    api.delete(kinds.CLASSES, None, f"h100-{mark}", missing_ok=True)
    api.delete(kinds.NAMESPACES, None, f"vision-{mark}", missing_ok=True)
    api.close()


def left_in_namespace(api: client.Cluster, namespace: str) -> list[str]:
    return [
        f"{kind.kind} {one['metadata']['name']}"
        for kind in (
            kinds.DEPLOYMENTS,
            kinds.PODS,
            kinds.CLAIMS,
            kinds.TEMPLATES,
            kinds.SERVICES,
            kinds.DISRUPTION_BUDGETS,
        )
        for one in api.list_all(kind, namespace=namespace, label_selector=selector_of("llama"))
    ]


def _catalog(story: Story) -> None:
    """A class, denied, changed and approved; then a pattern on it."""
    name = story.device_class
    form = {"name": name, "selectors": "true", "clusters": ["lab"], "submit": "1"}
    assert "waits for an approver" in story.post("admin", "/catalog/classes/new/", **form)
    first = Approval.objects.get()
    denied = {"content_hash": first.content_hash, "deny": "1", "text": "every device there is?"}
    story.post("approver", f"/catalog/approvals/{first.pk}/", **denied)
    changed = {"selectors": f'{GPU} == "gpu"', "submit": "1"}
    story.post("admin", f"/catalog/classes/{name}/edit/", **changed)
    _approve(story)
    assert ClassVersion.objects.get().state == "approved"

    pattern = {
        "slug": "cards",
        "name": "Cards",
        "device_class": name,
        "most": 4,
        "default_count": 1,
        "memory_key": "gpu.nvidia.com/memory",
        "memory_default": "40Gi",
        "memory_most": "80Gi",
        "submit": "1",
    }
    story.post("admin", "/catalog/patterns/new/", **pattern)
    _approve(story)
    assert PatternVersion.objects.get().state == "approved"


def _approve(story: Story) -> None:
    waiting = Approval.objects.get(state="pending")
    decision = {"content_hash": waiting.content_hash, "approve": "1"}
    story.post("approver", f"/catalog/approvals/{waiting.pk}/", **decision)


def _tenant(story: Story) -> None:
    give = {"cluster": "lab", "namespace": story.namespace}
    story.post("admin", "/tenants/vision/quotas/give/", **give)
    story.post("admin", "/tenants/vision/quotas/in/lab/", **{story.device_class: "3"})


def _deploy(story: Story) -> None:
    answers = {
        "cluster": "lab",
        "pattern": "cards",
        "path": "dra",
        "name": "llama",
        "runtime": "vllm",
        "model": "tiny/llama-1B",
        "image": "docker.io/vllm/vllm-openai:v0.33.0",
        "cpu": "1",
        "memory": "1Gi",
        "startup_minutes": 10,
        "replicas": 2,
        "param-count": 1,
        "param-memory": "40Gi",
    }
    review = story.people["alice"].post("/t/vision/deployments/+new/", answers | {"at": "size"})
    assert review.status_code == 200, review.text
    text = story.post("alice", "/t/vision/deployments/+submit/", yaml=review.context["yaml"])
    assert "llama is on its way" in text


def test_from_a_registered_cluster_to_a_served_model_and_back(story: Story) -> None:
    _catalog(story)
    _tenant(story)
    story.settle()
    with connections.opened(story.cluster) as api:
        applied = api.get(kinds.CLASSES, None, story.device_class)
        assert applied["spec"]["selectors"][0]["cel"]["expression"] == f'{GPU} == "gpu"'

        _deploy(story)
        until(lambda: story.word() == "Ready", "two replicas serve")
        claims = [claim for pool in _pools() for claim in pool.claims]
        devices = {device for claim in claims for device in claim["devices"]}
        assert len(claims) == len(devices) == 2
        _holders_are_shown(story, {pod["node"] for pool in _pools() for pod in pool.pods})

        refused = story.post(
            "alice",
            "/t/vision/deployments/llama/pools/main/scale/",
            replicas=4,
            generation=Deployment.objects.get().generation,
        )
        assert f"{story.device_class}: asked for 2, 1 of 3 left" in refused

        story.post(
            "alice",
            "/t/vision/deployments/llama/pools/main/scale/",
            replicas=1,
            generation=Deployment.objects.get().generation,
        )
        story.settle()
        until(
            lambda: len(api.list_all(kinds.CLAIMS, namespace=story.namespace)) == 1,
            "the device of the replica that went is free",
        )

        story.post("alice", "/t/vision/deployments/llama/retire/")
        until(lambda: story.word() == "Retired", "the deployment is retired")
        assert left_in_namespace(api, story.namespace) == []
    page = story.people["alice"].get("/tenants/vision/quotas/")
    assert re.search(r"0\D+of\D+3", re.sub(r"<[^>]+>", " ", page.text))
    _take_back(story)


def _take_back(story: Story) -> None:
    """The tenant's place in the cluster goes, and its namespace with it."""
    story.post("admin", "/tenants/vision/quotas/in/lab/take/")

    def is_gone() -> bool:
        story.settle()
        return not TenantNamespace.objects.exists()

    until(is_gone, "nothing of the tenant is left in the cluster")
    with connections.opened(story.cluster) as api, pytest.raises(NotFound):
        api.get(kinds.NAMESPACES, None, story.namespace)


@pytest.mark.parametrize("kubeconfig", [CLUSTERS[1]], indirect=True)
def test_what_the_clusters_own_quota_refuses_is_told_in_its_words(
    story: Story, kubeconfig: Path
) -> None:
    """Somebody lowers the ResourceQuota by hand: the API server refuses pods, then claims."""
    _catalog(story)
    _tenant(story)
    story.settle()
    by_hand = kube.connect(credentials.from_kubeconfig(kubeconfig.read_text()))

    def limit(**hard: str) -> None:
        changes = {"spec": {"hard": hard}}
        by_hand.patch_merge(kinds.RESOURCE_QUOTAS, story.namespace, "claimyard", changes)

    limit(pods="1")
    _deploy(story)
    refused = "exceeded quota: claimyard, requested: pods=1, used: pods=1, limited: pods=1"
    until(lambda: refused in _allocated(story)["message"], "the second pod is refused")
    assert _allocated(story)["reason"] == "FailedCreate"

    key = f"{story.device_class}.deviceclass.resource.k8s.io/devices"
    limit(**{"pods": "9", key: "1"})
    refused = f"exceeded quota: claimyard, requested: {key}=1, used: {key}=1, limited: {key}=1"
    until(lambda: refused in _allocated(story)["message"], "the second claim is refused")
    assert _allocated(story)["reason"] == "FailedResourceClaimCreation"
    story.post("alice", "/t/vision/deployments/llama/retire/")
    until(lambda: story.word() == "Retired", "the deployment is retired")
    by_hand.close()


def _allocated(story: Story) -> dict[str, Any]:
    story.settle()
    (pool,) = _pools()
    return pool.condition("Allocated") or {"message": "", "reason": ""}


def _pools() -> list[Any]:
    return list(Deployment.objects.get().pools.all())


def _holders_are_shown(story: Story, nodes: set[str]) -> None:
    """The mirrored claims reach the picture of their node."""

    def shown() -> bool:
        return all(
            "llama" in story.people["admin"].get(f"/parts/holders/lab/{node}/").text
            for node in nodes
        )

    until(shown, "the holders on the pages of their nodes")
