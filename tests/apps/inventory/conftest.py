"""A mirrored cluster in rows, as the watch would have stored it."""

from typing import Any

import orjson
import pytest
from django.utils import timezone

from apps.claims import snapshot as claims
from apps.inventory import connections
from apps.inventory.models import Cluster
from apps.inventory.snapshot import (
    WATCHED,
    Batch,
    Intake,
    Leadership,
    Mirror,
    Stored,
    lead,
    store,
)
from kube.api import item_of
from kube.client import Item, Json
from kube.credentials import Credentials
from kube.transport import without_nul
from kube.watch import Changed, Deleted, Listed
from tests.workers import fleet


class Told:
    """Stores what a test says that a cluster told."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        leadership = lead(cluster.pk, "test")
        assert leadership is not None
        self.leadership: Leadership = leadership
        self.mirror, self.stored = Mirror(), Stored()
        self.intake = Intake(WATCHED, self.mirror, {}, {})
        self.version = 0

    def listed(self, **objects: list[Json]) -> set[str]:
        """A full list of every kind; those not named are empty."""
        batch = Batch()
        for watched in WATCHED:
            items = [self._item(one) for one in objects.get(watched.name, [])]
            self.intake.take(watched.name, Listed(items, True, True, "1"), batch)
        return self.store(batch)

    def changed(self, kind: str, *objects: Json) -> set[str]:
        batch = Batch()
        for one in objects:
            self.intake.take(kind, Changed(self._item(one)), batch)
        return self.store(batch)

    def deleted(self, kind: str, *objects: Json) -> set[str]:
        batch = Batch()
        for one in objects:
            self.intake.take(kind, Deleted(self._item(one)), batch)
        return self.store(batch)

    def store(self, batch: Batch) -> set[str]:
        return store(
            self.leadership,
            batch,
            self.mirror,
            self.stored,
            can_count=self.intake.can_count,
            writers=[claims.write],
        )

    def _item(self, raw: Json) -> Item:
        self.version += 1
        metadata = {
            "uid": f"uid-{raw['metadata'].get('namespace', '')}-{raw['metadata']['name']}",
            "resourceVersion": str(self.version),
            "creationTimestamp": "2026-11-30T09:00:00Z",
            **raw["metadata"],
        }
        return item_of(without_nul(orjson.dumps({**raw, "metadata": metadata})))


@pytest.fixture
def cluster(db: None) -> Cluster:
    sealed = connections.sealed(Credentials("https://lab.example:6443", token="secret-token"))
    return Cluster.objects.create(
        slug="lab",
        name="Lab",
        server="https://lab.example:6443",
        credentials=sealed,
        heard_at=timezone.now(),
    )


@pytest.fixture
def told(cluster: Cluster) -> Told:
    return Told(cluster)


@pytest.fixture
def fleet_told(told: Told) -> Any:
    """Two nodes: n1 with eight cards by DRA, one of them held; n2 with four behind a plugin."""
    told.listed(
        nodes=[fleet.node("n1"), fleet.plugin_node("n2", 4)],
        resourceslices=[fleet.resource_slice("n1")],
        resourceclaims=[
            fleet.claim("one", "team-a") | {"status": fleet.allocation("n1", "gpu-0")},
            fleet.claim("two", "team-a"),
        ],
        pods=[fleet.pod("p", "n2", "team-b", **{"nvidia.com/gpu": "2"})],
        namespaces=[
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "team-a", "labels": {"claimyard.dev/tenant": "alpha"}},
            }
        ],
    )
    return told
