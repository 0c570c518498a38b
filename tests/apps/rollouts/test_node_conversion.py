"""Converting a node of a simulated fleet, and taking it back, by one look after the other."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.audit.models import Entry
from apps.inventory import connections
from apps.inventory import services as inventory
from apps.inventory.models import Cluster, Mode, Node
from apps.rollouts import conversion, node_services
from apps.rollouts.models import Migration, NodeConversion
from apps.tenancy.models import Tenant, User
from domain.errors import IllegalTransition, InvalidValue
from kube import client, kinds
from simulator import apiserver
from simulator.fleet.run import running
from simulator.fleet.scenario import load
from tests.apps.conftest import make_cluster

pytestmark = pytest.mark.django_db
SECONDS = 60.0
NODE = "plugin-1"
GPU = "nvidia.com/gpu"


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with (
        apiserver.running(tmp_path_factory.mktemp("conversion")) as server,
        running(server.kubeconfig, load("small", speed=200)),
    ):
        yield Path(server.kubeconfig).read_text()


@pytest.fixture
def cluster(kubeconfig: str, db: None) -> Cluster:
    found = make_cluster(kubeconfig=kubeconfig)
    Node.objects.create(cluster=found, name=NODE, path="device-plugin", has_cards=True)
    return found


@pytest.fixture
def api(cluster: Cluster) -> Iterator[client.Cluster]:
    with connections.opened(cluster) as connection:
        yield connection


@pytest.fixture
def migration(cluster: Cluster) -> Migration:
    return Migration.objects.create(
        name="nodes",
        cluster=cluster,
        stage="expand",
        state="running",
        started_at=timezone.now(),
        scope={"kind": "node-pool", "names": ["plugin"]},
    )


def until(holds: Callable[[], object], what: object = "") -> None:
    limit = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < limit, what
        time.sleep(0.05)


def run(migration: Migration, state: str) -> NodeConversion:
    """Look again and again, as the worker does, until the node is in that state."""
    row = NodeConversion.objects.get(migration=migration, node=NODE)

    def looked() -> bool:
        conversion.advance(Migration.objects.get(pk=migration.pk))
        row.refresh_from_db()
        return row.state == state

    until(looked, row.log)
    return row


def steps(row: NodeConversion) -> list[str]:
    """The steps that did something, each once in a row."""
    acts = [line["step"] for line in row.log if line["step"] not in ("wait", "blocked")]
    return [one for number, one in enumerate(acts) if not number or acts[number - 1] != one]


def node(api: client.Cluster) -> dict[str, Any]:
    return api.get(kinds.NODES, None, NODE)


def units(api: client.Cluster) -> int:
    return int(node(api)["status"]["allocatable"].get(GPU, 0))


def slices(api: client.Cluster) -> list[Any]:
    return api.list_all(kinds.SLICES, field_selector=f"spec.nodeName={NODE}")


def stranger(api: client.Cluster) -> None:
    until(lambda: units(api), "the plugin offers its cards")
    labels = {"app": "box"}
    spec = {"containers": [{"name": "a", "image": "box", "resources": {"limits": {GPU: "1"}}}]}
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "labs"}})
    api.apply(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "box", "namespace": "labs"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        }
    )
    until(lambda: pods(api), "the stranger runs")


def pods(api: client.Cluster) -> list[Any]:
    found = api.list_all(kinds.PODS, namespace="labs")
    return [one for one in found if one["spec"].get("nodeName") == NODE]


def test_a_node_is_converted_and_taken_back(
    admin: User, migration: Migration, api: client.Cluster
) -> None:
    until(lambda: units(api), "the plugin offers its cards")
    node_services.convert_nodes(actor=admin, migration=migration, nodes=[NODE])
    row = run(migration, "done")
    assert steps(row) == ["cordon", "label", "uncordon", "done"]
    assert units(api) == 0
    assert slices(api)
    assert not node(api)["spec"].get("unschedulable")
    assert conversion.advance(migration) == ""
    node_services.convert_nodes(actor=admin, migration=migration, nodes=[NODE], direction="back")
    row = run(migration, "done")
    assert steps(row)[4:] == ["cordon", "label", "uncordon", "done"]
    assert units(api) > 0
    assert not slices(api)
    assert Entry.objects.filter(verb="asked to convert nodes of").exists()


def test_a_rolled_back_migration_takes_its_nodes_back(
    admin: User, migration: Migration, api: client.Cluster
) -> None:
    until(lambda: units(api), "the plugin offers its cards")
    node_services.convert_nodes(actor=admin, migration=migration, nodes=[NODE])
    run(migration, "done")
    migration.state = "rolling-back"
    migration.save()
    assert conversion.advance(migration) != ""
    row = run(migration, "done")
    assert (row.direction, units(api) > 0, slices(api)) == ("back", True, [])


def test_what_others_use_is_never_drained(
    admin: User, migration: Migration, api: client.Cluster
) -> None:
    stranger(api)
    node_services.convert_nodes(actor=admin, migration=migration, nodes=[NODE])
    row = run(migration, "blocked")
    assert row.owner == "labs"
    assert "labs/box-" in row.cause
    assert "labs/box-" in conversion.advance(migration)
    migration.tenant = Tenant.objects.create(slug="vision", name="Vision")
    assert "labs" not in conversion.advance(migration)  # its tenant reads this as the reason
    assert not node(api)["spec"].get("unschedulable")
    assert pods(api)
    api.delete(kinds.DEPLOYMENTS, "labs", "box")
    until(lambda: not pods(api), "the stranger is gone")
    run(migration, "done")
    node_services.convert_nodes(actor=admin, migration=migration, nodes=[NODE], direction="back")
    run(migration, "done")


def test_a_node_that_was_cordoned_stays_so(
    admin: User, migration: Migration, api: client.Cluster
) -> None:
    api.patch_merge(kinds.NODES, None, NODE, {"spec": {"unschedulable": True}})
    until(lambda: units(api), "the plugin offers its cards")
    node_services.convert_nodes(actor=admin, migration=migration, nodes=[NODE])
    run(migration, "done")
    assert node(api)["spec"]["unschedulable"]
    node_services.convert_nodes(actor=admin, migration=migration, nodes=[NODE], direction="back")
    run(migration, "done")
    assert node(api)["spec"]["unschedulable"]
    api.patch_merge(kinds.NODES, None, NODE, {"spec": {"unschedulable": None}})


def test_stopped_writes_hold_it_and_say_so(
    admin: User, migration: Migration, api: client.Cluster
) -> None:
    node_services.convert_nodes(actor=admin, migration=migration, nodes=[NODE])
    inventory.stop_writes(actor=admin, reason="fire")
    assert "All writes are stopped" in conversion.advance(migration)
    row = NodeConversion.objects.get(node=NODE)
    assert (row.state, row.owner) == ("waiting", "platform team")
    assert not node(api)["spec"].get("unschedulable")


def test_mode_propose_changes_no_node(
    admin: User, migration: Migration, cluster: Cluster, api: client.Cluster
) -> None:
    node_services.convert_nodes(actor=admin, migration=migration, nodes=[NODE])
    Cluster.objects.update(mode=Mode.PROPOSE)
    found = Migration.objects.get(pk=migration.pk)
    assert "mode propose" in conversion.advance(found)
    assert not node(api)["spec"].get("unschedulable")


def test_nodes_that_are_not_there_are_refused(admin: User, migration: Migration) -> None:
    with pytest.raises(InvalidValue, match="no node 'nowhere'"):
        node_services.convert_nodes(actor=admin, migration=migration, nodes=["nowhere"])
    with pytest.raises(InvalidValue, match="1 to"):
        node_services.convert_nodes(actor=admin, migration=migration, nodes=[])
    with pytest.raises(IllegalTransition, match="was not converted"):
        node_services.convert_nodes(
            actor=admin, migration=migration, nodes=[NODE], direction="back"
        )
