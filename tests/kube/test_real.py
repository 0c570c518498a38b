"""The same client and watch on a real API server."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kube
from kube import credentials, errors, features, kinds, rights
from kube.api import ApiCluster
from kube.watch import Broken, Changed, Deleted, Listed, Step, follow
from tests.workers import fleet

pytestmark = pytest.mark.cluster


@pytest.fixture(params=["control_plane", "old_control_plane"])
def cluster(request: pytest.FixtureRequest) -> Iterator[ApiCluster]:
    plane = request.getfixturevalue(request.param)
    found = kube.connect(credentials.from_kubeconfig(Path(plane.kubeconfig).read_text()))
    yield found
    for kind in (kinds.SLICES, kinds.NODES):
        for raw in found.list_all(kind):
            if raw["metadata"]["name"].startswith("watched-"):
                found.delete(kind, None, raw["metadata"]["name"], missing_ok=True)
    found.close()


def test_it_tells_its_version_features_and_our_rights(cluster: ApiCluster) -> None:
    served = cluster.resources()
    assert cluster.version().startswith("v1.") and features.found(served)["dra"]
    allowed = cluster.review_access(rights.to_ask(["observe", "manage"]))
    assert rights.missing(allowed, ["observe", "manage"], served) == []
    assert cluster.whoami()


def test_the_installed_rights_are_accepted_as_they_are(cluster: ApiCluster) -> None:
    for manifest in rights.manifests(mode="manage", metrics=True, migrate=True):
        if manifest["metadata"].get("namespace") is None:
            assert cluster.apply(manifest, dry_run=True)


def test_a_watch_follows_what_happens(cluster: ApiCluster) -> None:
    stop = threading.Event()
    seen: list[Step] = []

    def read() -> None:
        seen.extend(follow(cluster, kinds.SLICES, stop=stop, page_size=1))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    _until(lambda: any(isinstance(step, Listed) and step.is_last for step in seen))
    name = f"watched-n1-{fleet.DRIVER}"
    cluster.apply(fleet.resource_slice("watched-n1", cards=2))
    cluster.apply(fleet.resource_slice("watched-n1", cards=3))
    cluster.delete(kinds.SLICES, None, name)
    _until(lambda: any(isinstance(step, Deleted) and step.item.name == name for step in seen))
    stop.set()
    cluster.close()
    thread.join(10)
    mine: list[Step] = [step for step in seen if _is_about(step, name)]
    assert [type(step) for step in mine] == [Changed, Changed, Deleted]
    assert not any(isinstance(step, Broken) for step in seen[: seen.index(mine[-1])])


def _is_about(step: Any, name: str) -> bool:
    return isinstance(step, Changed | Deleted) and step.item.name == name


def test_conflicts_refusals_and_dry_runs_are_told_apart(cluster: ApiCluster) -> None:
    cluster.apply(fleet.node("watched-n2", colour="red"), field_manager="other")
    with pytest.raises(errors.Conflict) as conflict:
        cluster.apply(fleet.node("watched-n2", colour="blue"), dry_run=True)
    assert any("colour" in cause.field for cause in conflict.value.causes)
    wrong = fleet.resource_slice("watched-n2")
    wrong["spec"]["devices"][0]["name"] = "Not A Name"
    with pytest.raises(errors.Invalid) as invalid:
        cluster.apply(wrong, dry_run=True)
    assert "devices" in str(invalid.value.causes)


def _until(holds: Any, seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.02)
