"""A pod waits, one page says which selector took the devices away and what would fit; and it does.

On a simulated and on a real cluster: there, kube-scheduler lets the pod wait, and it is
kube-scheduler that places the pod of the proposed claim.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

import kube
from apps.common import asks
from apps.common.models import Ask
from apps.inventory import services as inventory
from apps.inventory.models import Cluster, Mode, Pod
from kube import client, credentials, kinds
from tests.apps.api.conftest import Caller, caller
from tests.mirrors import mirrored
from tests.story.test_story import as_the_portals_account, kubeconfig, until
from workers.placement.service import Service

__all__ = ["kubeconfig"]
pytestmark = [pytest.mark.django_db(transaction=True)]
Json = dict[str, Any]

IS_GPU = 'device.attributes["gpu.nvidia.com"].?type.orValue("") == "gpu"'
HUGE = 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("200Gi")) >= 0'


@dataclass(slots=True)
class Scene:
    """A mirrored cluster, somebody who looks at it, and a namespace and class of its own."""

    cluster: Cluster
    api: client.Cluster
    page: Client
    rest: Caller
    namespace: str
    device_class: str
    answer: Callable[[], None]

    def apply(self, version: str, kind: str, name: str, spec: Json) -> None:
        meta = {"name": name, "namespace": self.namespace}
        self.api.apply({"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec})

    def ask_by_claim(self, name: str, devices: Json) -> None:
        """A claim, and a pod that uses it."""
        self.apply("resource.k8s.io/v1", "ResourceClaim", name, {"devices": devices})
        container: Json = {"name": "main", "image": "example.org/none", "command": ["sleep", "1"]}
        container["resources"] = {"claims": [{"name": "gpu"}]}
        spec = {
            "containers": [container],
            "resourceClaims": [{"name": "gpu", "resourceClaimName": name}],
            "terminationGracePeriodSeconds": 0,
        }
        self.apply("v1", "Pod", name, spec)

    def why(self, pod: str) -> tuple[str, Json]:
        """The page and the API's answer about the same pod."""
        address = f"/placement/why/{self.cluster.slug}/{self.namespace}/{pod}/"
        assert self.page.get(address).status_code == 200
        body = {"cluster": self.cluster.slug, "namespace": self.namespace, "pod": pod}
        asked = self.rest.post("placement/explain/", body)
        assert asked.status_code == 202, asked.text
        shown = Ask.objects.order_by("pk").first()
        assert shown is not None
        self.answer()
        found = self.rest.client.get(asked.headers["Location"]).json()
        assert found["state"] == "answered", found
        return self.page.get(f"/asks/{shown.key}/").text, found["answer"]

    def devices_of_class(self) -> set[str]:
        """Whole cards that the cluster publishes, by its own word."""
        return {
            f"{one['spec']['driver']}/{one['spec']['pool']['name']}/{device['name']}"
            for one in self.api.list_all(kinds.SLICES)
            for device in one["spec"].get("devices") or ()
            if (device.get("attributes") or {}).get("type", {}).get("string") == "gpu"
        }

    def given(self, claim: str) -> Json:
        """status.allocation of a claim; empty before it has one."""
        held = self.api.get(kinds.CLAIMS, self.namespace, claim)
        found: Json = (held.get("status") or {}).get("allocation") or {}
        return found


@pytest.fixture
def scene(
    kubeconfig: Path, admin: Any, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> Iterator[Scene]:
    settings.ASK_WAIT_MS = 0
    monkeypatch.setattr(asks, "ANSWERERS", {})
    service = Service()
    service.register()

    def answer() -> None:
        for pk in Ask.objects.filter(state=Ask.State.WAITING).values_list("pk", flat=True):
            asks.answer(pk)

    mark = uuid4().hex[:8]
    account = as_the_portals_account(kubeconfig)
    cluster = inventory.register_cluster(
        actor=admin, slug="lab", name="Lab", credentials=account, mode=Mode.OBSERVE
    )
    page = Client()
    page.force_login(admin)
    api = kube.connect(credentials.from_kubeconfig(kubeconfig.read_text()))
    made = Scene(cluster, api, page, caller(admin), f"waits-{mark}", f"cards-{mark}", answer)
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": made.namespace}})
    selectors = [{"cel": {"expression": f'device.driver == "gpu.nvidia.com" && {IS_GPU}'}}]
    api.apply(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": made.device_class},
            "spec": {"selectors": selectors},
        }
    )
    with mirrored(cluster, "why"):
        yield made
    for pod in api.list_all(kinds.PODS, namespace=made.namespace):
        api.delete(kinds.PODS, made.namespace, pod["metadata"]["name"], missing_ok=True)
    for claim in api.list_all(kinds.CLAIMS, namespace=made.namespace):
        api.delete(kinds.CLAIMS, made.namespace, claim["metadata"]["name"], missing_ok=True)
    api.delete(kinds.CLASSES, None, made.device_class, missing_ok=True)
    api.delete(kinds.NAMESPACES, None, made.namespace, missing_ok=True)
    api.close()


def layer_of(answer: Json, name: str) -> Json:
    (funnel,) = answer["funnels"]
    found: Json = next(one for one in funnel["layers"] if one["name"] == name)
    return found


def devices(scene: Scene, count: int, *selectors: str) -> Json:
    exactly = {
        "deviceClassName": scene.device_class,
        "count": count,
        "selectors": [{"cel": {"expression": one}} for one in selectors],
    }
    return {"requests": [{"name": "gpu", "exactly": exactly}]}


def waits(scene: Scene, name: str, words: str) -> None:
    """Until the cluster's scheduler has refused the pod, and the mirror knows of it."""

    def refused() -> bool:
        return words in "".join(
            Pod.objects.filter(namespace=scene.namespace, name=name).values_list(
                "waiting", flat=True
            )
        )

    until(refused, f"the scheduler says of {name}: {words}")


def test_the_selector_is_named_and_the_claim_that_is_proposed_is_allocated(scene: Scene) -> None:
    scene.ask_by_claim("huge", devices(scene, 1, HUGE))
    waits(scene, "huge", "cannot allocate all claims")
    page, answer = scene.why("huge")

    published = scene.devices_of_class()
    assert published
    layer = layer_of(answer, "request selectors")
    assert answer["funnels"][0]["first_empty"] == "request selectors"
    assert layer_of(answer, "class selectors")["count"] == layer["removed"] == len(published)
    assert set(layer["sample"]) <= published
    assert HUGE in layer["detail"]
    first = next(one for one in answer["layers"] if one["is_first"])
    assert first["name"] == "Device selection"
    said = page.replace("&quot;", '"').replace("&gt;", ">")
    assert HUGE in said
    assert f"{len(published)} taken away" in page

    lower = next(one for one in answer["fixes"]["found"] if one["kind"] == "lower")
    assert lower["text"] in said
    _try(scene, "lower", lower)
    assert scene.given("huge") == {}


def test_as_many_as_are_free_are_proposed_and_given(scene: Scene) -> None:
    most = max(_on_one_node(scene))
    scene.ask_by_claim("many", devices(scene, most + 3))
    waits(scene, "many", "cannot allocate all claims")
    _, answer = scene.why("many")
    assert answer["funnels"][0]["first_empty"] == "constraints"
    fewer = next(one for one in answer["fixes"]["found"] if one["kind"] == "fewer")
    assert f"Ask for {most} instead of {most + 3}" in fewer["text"]
    _try(scene, "fewer", fewer)
    assert len(scene.given("fewer")["devices"]["results"]) == most


def test_what_runs_waits_no_more(scene: Scene) -> None:
    scene.ask_by_claim("one", devices(scene, 1))
    until(lambda: scene.given("one"), "a card for the pod")
    until(
        lambda: Pod.objects.filter(namespace=scene.namespace, name="one").exclude(node_name=""),
        "the mirror knows its node",
    )
    _, answer = scene.why("one")
    assert answer["outcome"] == "settled"
    assert next(one for one in answer["layers"] if one["name"] == "Node")["verdict"] == "passed"


def _on_one_node(scene: Scene) -> list[int]:
    pools = [one.split("/")[1] for one in scene.devices_of_class()]
    return [pools.count(pool) for pool in set(pools)]


def _try(scene: Scene, name: str, fix: Json) -> None:
    """Do what was proposed: the cluster gives the devices, on a node that was named."""
    (claim,) = fix["claims"]
    scene.ask_by_claim(name, claim["spec"]["devices"])
    until(lambda: scene.given(name), f"the devices of the proposal “{fix['text']}”")
    until(lambda: _node_of(scene, name), f"a node for {name}")
    assert _node_of(scene, name) in fix["nodes"]


def _node_of(scene: Scene, pod: str) -> str:
    held = scene.api.get(kinds.PODS, scene.namespace, pod)
    return str(held["spec"].get("nodeName") or "")
