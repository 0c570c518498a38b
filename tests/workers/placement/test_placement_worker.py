"""Answers come from rows of one instant, follow what changes, and say how old they are."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.common import asks
from apps.common.models import Ask
from apps.inventory.models import Cluster, Gone, Mirrored, Revision
from domain.placement import Features
from workers.placement.service import Service
from workers.placement.warm import features_of

pytestmark = pytest.mark.django_db
DRIVER = "gpu.example.com"


def device(name: str, memory: str = "80Gi") -> dict[str, Any]:
    return {
        "name": name,
        "attributes": {"type": {"string": "gpu"}},
        "capacity": {"memory": {"value": memory}},
    }


def slice_of(node: str, *devices: dict[str, Any]) -> dict[str, Any]:
    return {
        "metadata": {"name": f"{node}-slice"},
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": list(devices),
        },
    }


class Mirror:
    """Writes rows as the watch does: each change raises its kind's revision."""

    def __init__(self) -> None:
        self.cluster = Cluster.objects.create(
            slug="east",
            name="East",
            server="https://east.example",
            credentials=b"",
            version="v1.37.2",
            heard_at=timezone.now() - timedelta(seconds=7),
        )
        for kind in ("resourceslices", "deviceclasses", "nodes", "resourceclaims", "pods"):
            Revision.objects.create(cluster=self.cluster, kind=kind, listed_at=timezone.now())

    def put(self, kind: str, body: dict[str, Any]) -> None:
        meta = body["metadata"]
        Mirrored.objects.update_or_create(
            cluster=self.cluster,
            kind=kind,
            uid=f"{kind}-{meta['name']}",
            defaults={
                "namespace": meta.get("namespace", ""),
                "name": meta["name"],
                "resource_version": "1",
                "revision": self._raise(kind),
                "body": body,
            },
        )

    def remove(self, kind: str, name: str) -> None:
        row = Mirrored.objects.get(cluster=self.cluster, kind=kind, name=name)
        Gone.objects.create(
            cluster=self.cluster,
            kind=kind,
            uid=row.uid,
            namespace=row.namespace,
            name=name,
            revision=self._raise(kind),
            at=timezone.now(),
        )
        row.delete()

    def _raise(self, kind: str) -> int:
        revision = Revision.objects.get(cluster=self.cluster, kind=kind)
        revision.value += 1
        revision.save()
        return revision.value


@pytest.fixture
def mirror() -> Mirror:
    mirror = Mirror()
    mirror.put("nodes", {"metadata": {"name": "n1"}})
    mirror.put("resourceslices", slice_of("n1", device("gpu-0"), device("gpu-1", "40Gi")))
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    mirror.put("deviceclasses", {"metadata": {"name": "gpu"}, "spec": {"selectors": [selector]}})
    return mirror


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    monkeypatch.setattr(asks, "ANSWERERS", {})
    service = Service()
    service.register()
    return service


def ask(mirror: Mirror, kind: str, question: dict[str, Any]) -> Ask:
    made = Ask.objects.create(
        kind=f"placement.{kind}",
        question=question,
        cluster_id=mirror.cluster.pk,
        expires_at=timezone.now() + timedelta(seconds=60),
    )
    asks.answer(made.pk)
    made.refresh_from_db()
    return made


def counts(mirror: Mirror, *selectors: str) -> tuple[int, int, int]:
    found = ask(mirror, "match", {"class_selectors": [], "request_selectors": list(selectors)})
    assert found.answer is not None, found.problem
    return found.answer["total"], found.answer["matches"], found.answer["free"]


BIG = f"device.capacity['{DRIVER}'].memory.compareTo(quantity('80Gi')) >= 0"


@pytest.mark.usefixtures("service")
def test_matches_are_counted_and_the_answer_says_of_what(mirror: Mirror) -> None:
    found = ask(mirror, "match", {"request_selectors": [BIG]})
    assert found.answer is not None, found.problem
    assert (found.answer["total"], found.answer["matches"], found.answer["free"]) == (2, 1, 1)
    assert found.answer["cluster"] == "east"
    assert 7 <= found.answer["age_seconds"] < 60


@pytest.mark.usefixtures("service")
def test_a_snapshot_follows_what_changes_and_what_goes(mirror: Mirror) -> None:
    assert counts(mirror) == (2, 2, 2)
    mirror.put("nodes", {"metadata": {"name": "n2"}})
    mirror.put("resourceslices", slice_of("n2", device("gpu-0")))
    assert counts(mirror) == (3, 3, 3)
    mirror.remove("resourceslices", "n1-slice")
    assert counts(mirror) == (1, 1, 1)


def held_claim() -> dict[str, Any]:
    result = {"request": "gpu", "driver": DRIVER, "pool": "n1", "device": "gpu-0"}
    return {
        "metadata": {"name": "c1", "namespace": "vision", "uid": "u1"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


@pytest.mark.usefixtures("service")
def test_a_device_in_use_matches_and_is_not_free_until_its_claim_goes(mirror: Mirror) -> None:
    mirror.put("resourceclaims", held_claim())
    assert counts(mirror) == (2, 2, 1)
    mirror.remove("resourceclaims", "c1")
    assert counts(mirror) == (2, 2, 2)


def claim(count: int) -> dict[str, Any]:
    exactly = {"deviceClassName": "gpu", "count": count}
    return {
        "metadata": {"name": "asked"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    }


@pytest.mark.usefixtures("service")
def test_a_claim_that_fits_names_the_nodes(mirror: Mirror) -> None:
    found = ask(mirror, "check", {"claims": [claim(2)]})
    assert found.answer is not None, found.problem
    assert (found.answer["outcome"], found.answer["nodes"]) == ("fits", ["n1"])


@pytest.mark.usefixtures("service")
def test_a_claim_that_fits_nowhere_comes_with_its_funnel(mirror: Mirror) -> None:
    found = ask(mirror, "check", {"claims": [claim(3)]})
    assert found.answer is not None, found.problem
    assert (found.answer["outcome"], found.answer["looked_at"], found.answer["of"]) == ("no", 1, 1)
    assert found.answer["funnels"][0]["first_empty"] == "constraints"


@pytest.mark.usefixtures("service")
def test_a_malformed_slice_fails_alone_and_is_named(mirror: Mirror) -> None:
    mirror.put("resourceslices", {"metadata": {"name": "broken"}, "spec": {"driver": 7}})
    found = ask(mirror, "match", {})
    assert found.answer is not None, found.problem
    assert found.answer["total"] == 2
    assert [fault["name"] for fault in found.answer["faults"]] == ["broken"]


@pytest.mark.usefixtures("service")
def test_a_cluster_that_was_not_read_yet_has_no_answer(mirror: Mirror) -> None:
    Revision.objects.filter(kind="nodes").update(listed_at=None)
    found = ask(mirror, "match", {})
    assert found.state == Ask.State.FAILED
    assert "has not been read yet (waiting for nodes)" in found.problem


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(
    ("kind", "question"),
    [
        ("match", {"class_selectors": "text"}),
        ("check", {}),
        ("check", {"claims": []}),
        ("check", {"pod": 3}),
        ("explain", {}),
    ],
)
def test_a_question_that_cannot_be_read_says_which_part(
    mirror: Mirror, kind: str, question: dict[str, Any]
) -> None:
    found = ask(mirror, kind, question)
    assert found.state == Ask.State.FAILED
    assert "its log" not in found.problem


@pytest.mark.parametrize(
    ("version", "preset"),
    [
        ("v1.34.1", "1.34"),
        ("v1.37.2", "1.37"),
        ("v1.40.0", "1.37"),
        ("v1.29.0", "1.34"),
        ("", "1.37"),
    ],
)
def test_features_are_those_of_the_cluster_s_release(version: str, preset: str) -> None:
    assert features_of(version) == Features.preset(preset)
