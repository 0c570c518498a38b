"""A deployment with two pools on a real data path; what each test needs beside the rig."""

import contextlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from apps.catalog.reconcile import reconcile_class
from apps.deployments import gateway_settings, pools, services, surge
from apps.deployments.gateways import host_of
from apps.deployments.models import Deployment, ModelPool
from apps.deployments.observe import observe_cluster
from apps.deployments.reconcile import reconcile_deployment
from apps.deployments.routing import measured_share, routed_condition
from apps.inventory.models import Cluster
from apps.quotas import services as quota_services
from apps.quotas.models import TenantNamespace
from apps.quotas.reconcile import reconcile_namespace
from apps.telemetry.models import MetricsSource
from domain.figures import Figure
from embedded import gobuild
from embedded.controlplane import ControlPlane
from kube.kinds import PODS
from tests.apps.conftest import admin, alice, approver, h100, make_cluster, pattern, tenant
from tests.apps.deployments.conftest import asked
from tests.conftest import made_control_plane
from tests.datapath import rig as rigs
from tests.datapath.kubelet import until
from tests.datapath.rig import COUNTER, DOMAIN, GATEWAY, Rig
from tests.mirrors import mirrored
from workers.mirroring import Mirroring

__all__ = ["admin", "alice", "approver", "h100", "pattern", "tenant"]
MODEL = "llama"
PROGRAMS = ("fakevllm", "loadgen", "epp")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Build outside a test's time limit: the picker takes two minutes the first time."""
    if item.path.parent == Path(__file__).parent:
        for name in PROGRAMS:
            gobuild.binary(Path(__file__).parent / name)
    return (yield)


@pytest.fixture(scope="session")
def control_plane(short_folder: Path) -> Iterator[ControlPlane]:
    """One of its own: other tests take nodes away, and these nodes carry requests."""
    yield from made_control_plane(short_folder / "path")


@pytest.fixture(scope="session")
def rig(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with rigs.running(control_plane, tmp_path_factory.mktemp("path")) as made:
        yield made


@pytest.fixture(autouse=True)
def nobody_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """No placement worker runs here, so nobody waits for it."""
    monkeypatch.setattr(surge, "WAIT_MS", 0)


@pytest.fixture
def cluster(rig: Rig, control_plane: ControlPlane, transactional_db: None) -> Cluster:
    made = make_cluster("path", kubeconfig=Path(control_plane.kubeconfig).read_text())
    MetricsSource.objects.create(
        cluster=made, kind=MetricsSource.Kind.PROMETHEUS, url=f"http://{rig.prometheus}"
    )
    return made


@pytest.fixture
def namespace(tenant: Any, cluster: Cluster, admin: Any, h100: Any) -> TenantNamespace:
    made = quota_services.give_cluster(
        actor=admin, tenant=tenant, cluster=cluster, namespace=f"path-{uuid4().hex[:8]}"
    )
    quota_services.set_quotas(actor=admin, tenant=tenant, cluster=cluster, limits={"h100": 16})
    reconcile_class(cluster.classes.get().pk)
    reconcile_namespace(made.pk)
    return made


@pytest.fixture
def mirror(cluster: Cluster) -> Iterator[Mirroring]:
    with mirrored(cluster, "path") as made:
        yield made


@dataclass(slots=True)
class Carried:
    """A deployment whose requests Envoy carries, and what its rows say."""

    rig: Rig
    deployment: Deployment
    host: str

    @property
    def namespace(self) -> str:
        return self.deployment.namespace

    def row(self) -> Deployment:
        return Deployment.objects.select_related("tenant", "cluster").get(pk=self.deployment.pk)

    def pool(self, name: str) -> ModelPool:
        return self.row().pools.get(name=name)

    def settle(self) -> Deployment:
        """Do what the worker does until the cluster is as wished and the rows say so."""

        def settled() -> Deployment | None:
            self.rig.check()
            reconcile_deployment(self.deployment.pk)
            observe_cluster(self.deployment.cluster)
            row = self.row()
            ready = all(
                sum(pod["state"] == "Ready" for pod in pool.pods) == pool.replicas
                for pool in row.pools.filter(retiring_at=None)
            )
            routed = routed_condition(row) or {}
            return row if row.is_settled and ready and routed.get("status") == "True" else None

        found = until(settled, why=self.told)
        assert found
        return found

    def told(self) -> object:
        """What the rows say, for whoever wants to know why it did not settle."""
        row = self.row()
        told = [(pool.name, pool.conditions, pool.pods) for pool in row.pools.all()]
        return row.generation, row.observed_generation, row.conditions, row.routing, told

    def routed(self) -> dict[str, Any]:
        """The condition Routed, as the mirror has it now."""
        observe_cluster(self.deployment.cluster)
        return routed_condition(self.row()) or {}

    def weights(self, **wanted: int) -> None:
        pools.set_weights(actor=None, deployment=self.row(), weights=wanted)
        self.settle()

    def load(self, requests: int, *flags: str) -> dict[str, Any]:
        return self.rig.load(self.host, MODEL, requests, *flags)

    def counts(self) -> dict[str, float]:
        found = self.rig.counted(self.namespace)
        return {name.removeprefix(f"{MODEL}-"): count for name, count in found.items()}

    def sent(self, requests: int, *flags: str) -> tuple[dict[str, Any], datetime]:
        """Send so many, wait until Prometheus has counted them; what callers saw, and the end.

        They take several scrapes, and servers are scraped once more afterwards: what a counter had
        before its first scrape in a window is in no increase.
        """
        before = sum(self.counts().values())
        found = self.load(requests, "-rate=60", *flags)
        end = timezone.now()
        servers = sum(self.row().pools.values_list("replicas", flat=True))
        until(lambda: sum(self.counts().values()) >= before + requests)
        until(lambda: self.rig.scraped(self.namespace, end.timestamp()) >= servers)
        return found, timezone.now()

    def born(self, pool: str, status: str = "2.+") -> None:
        """Send until each server of the pool has counted such answers, and Prometheus knows: what
        a counter had before its first scrape is in no increase."""
        servers = f'namespace="{self.namespace}",pod=~"{MODEL}-{pool}-.+",status=~"{status}"'
        query = f"count(sum by (pod) (http_requests_total{{{servers}}}))"
        wanted = self.pool(pool).replicas
        until(lambda: self.load(20) and self.rig.query(query).get("", 0) >= wanted)

    def share(self, since: datetime) -> dict[str, Figure]:
        return measured_share(self.row(), since - timedelta(seconds=2), timezone.now())


@pytest.fixture
def single(
    rig: Rig,
    cluster: Cluster,
    namespace: TenantNamespace,
    mirror: Mirroring,
    pattern: Any,
    alice: Any,
    admin: Any,
    tenant: Any,
) -> Iterator[Carried]:
    """A deployment of two servers on the device plugin, carried by the gateway."""
    until(lambda: Cluster.objects.get(pk=cluster.pk).features.get("routes"))
    cluster.refresh_from_db()
    gateway = gateway_settings.set_gateway(
        actor=admin,
        cluster=cluster,
        namespace=GATEWAY.namespace,
        name=GATEWAY.name,
        section=GATEWAY.section,
        domain=DOMAIN,
        picker_image="registry.example.com/endpoint-picker:v1.5.0",
        counter=COUNTER,
    )
    rig.controller.mode, rig.controller.delay = "original_dst", 0.0
    rig.controller.linger, rig.controller.tells = 30.0, True
    rig.kubelet.defaults = {}
    content = [{"pattern": "h100-cards", "path": "device-plugin", "replicas": 2}]
    made = services.create_deployment(
        actor=alice, tenant=tenant, asked=asked(cluster="path", name=MODEL, pools=content)
    )
    found = Carried(rig, made, host_of(made, gateway))
    try:
        found.settle()
        yield found
    finally:
        _clear(rig, found)


@pytest.fixture
def path(single: Carried, pattern: Any) -> Carried:
    """Pool main on the device plugin with all weight, pool dra on claims without any; 2 each."""
    pools.add_pool(
        actor=None,
        deployment=single.row(),
        name="dra",
        path="dra",
        pattern_version=pattern,
        parameters={},
        replicas=2,
    )
    single.settle()
    return single


def _clear(rig: Rig, path: Carried) -> None:
    """Everything of it goes, so that the next test has the cards."""
    services.retire_deployment(actor=None, deployment=path.row())

    def gone() -> bool:
        reconcile_deployment(path.deployment.pk)
        return not rig.cluster.list_all(PODS, namespace=path.namespace)

    with contextlib.suppress(AssertionError):
        until(gone, 30)
