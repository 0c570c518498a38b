"""Rows become objects in a cluster, once, whatever happens on the way."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from apps.catalog.reconcile import reconcile_class
from apps.deployments import services, surge
from apps.deployments.models import Deployment
from apps.deployments.reconcile import reconcile_deployment
from apps.deployments.selectors import summary_of
from apps.inventory import connections
from apps.inventory.models import Cluster, Mode, WriteSwitch
from apps.quotas import selectors as quotas
from apps.quotas import services as quota_services
from apps.quotas.models import TenantNamespace
from apps.quotas.reconcile import reconcile_namespace
from domain.manifests import selector_of
from kube import client, kinds
from kube.errors import Transient
from simulator.apiserver import Fault
from tests.apps.conftest import make_cluster
from tests.apps.deployments.conftest import asked, pools

pytestmark = [pytest.mark.django_db]


@pytest.fixture
def cluster(simulated: Any, db: None) -> Cluster:
    return make_cluster(kubeconfig=Path(simulated.kubeconfig).read_text())


@pytest.fixture
def api(cluster: Cluster) -> Iterator[client.Cluster]:
    with connections.opened(cluster) as connection:
        yield connection


@pytest.fixture
def namespace(tenant: Any, cluster: Cluster, admin: Any) -> TenantNamespace:
    """One of its own for each test: nothing here ends a namespace that is being deleted."""
    return quota_services.give_cluster(
        actor=admin, tenant=tenant, cluster=cluster, namespace=f"vision-{uuid4().hex[:8]}"
    )


@pytest.fixture(autouse=True)
def nobody_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """No placement worker runs here, so nobody waits for it."""
    monkeypatch.setattr(surge, "WAIT_MS", 0)


@pytest.fixture
def deployment(alice: Any, tenant: Any, ready: Any, namespace: Any) -> Deployment:
    reconcile_class(namespace.cluster.classes.get().pk)
    reconcile_namespace(namespace.pk)
    return services.create_deployment(actor=alice, tenant=tenant, asked=asked())


def owned(api: client.Cluster, deployment: Deployment) -> dict[str, str]:
    """Names and resource versions of everything of the deployment."""
    return {
        f"{kind.kind}/{one['metadata']['name']}": one["metadata"]["resourceVersion"]
        for kind in (kinds.DEPLOYMENTS, kinds.SERVICES, kinds.TEMPLATES, kinds.DISRUPTION_BUDGETS)
        for one in api.list_all(
            kind, namespace=deployment.namespace, label_selector=selector_of("llama")
        )
    }


def test_everything_is_applied_and_told(deployment: Deployment, api: client.Cluster) -> None:
    reconcile_deployment(deployment.pk)
    kinds_there = sorted(name.split("/")[0] for name in owned(api, deployment))
    assert kinds_there == [
        "Deployment",
        "PodDisruptionBudget",
        "ResourceClaimTemplate",
        "Service",
    ]
    deployment.refresh_from_db()
    assert deployment.is_settled
    assert deployment.condition("Applied")["status"] == "True"  # type: ignore[index]
    assert deployment.pools.get().condition("Applied")["status"] == "True"  # type: ignore[index]


def test_class_namespace_and_quota_are_there(deployment: Deployment, api: client.Cluster) -> None:
    assert api.get(kinds.CLASSES, None, "h100")["spec"]["selectors"]
    found = api.get(kinds.RESOURCE_QUOTAS, deployment.namespace, "claimyard")
    assert found["spec"]["hard"]["h100.deviceclass.resource.k8s.io/devices"] == "4"
    assert found["spec"]["hard"]["requests.nvidia.com/gpu"] == "4"
    labels = api.get(kinds.NAMESPACES, None, deployment.namespace)["metadata"]["labels"]
    assert labels["claimyard.dev/tenant"] == "vision"


def test_twice_is_the_same_as_once(deployment: Deployment, api: client.Cluster) -> None:
    reconcile_deployment(deployment.pk)
    before = owned(api, deployment)
    Deployment.objects.update(observed_generation=0)
    reconcile_deployment(deployment.pk)
    assert owned(api, deployment) == before


def test_a_run_that_was_killed_half_way_is_finished_by_the_next(
    deployment: Deployment, api: client.Cluster
) -> None:
    from apps.deployments.rendering import manifests_of

    for manifest in manifests_of(deployment)[:2]:
        api.apply(manifest)
    Deployment.objects.update(
        lease_token="00000000-0000-0000-0000-000000000001",
        lease_until=timezone.now() - timedelta(seconds=1),
    )
    reconcile_deployment(deployment.pk)
    assert len(owned(api, deployment)) == 4


def test_a_held_lease_is_respected(deployment: Deployment, api: client.Cluster) -> None:
    Deployment.objects.update(
        lease_token="00000000-0000-0000-0000-000000000001",
        lease_until=timezone.now() + timedelta(seconds=60),
    )
    reconcile_deployment(deployment.pk)
    assert owned(api, deployment) == {}


def test_a_changed_request_leaves_no_old_template(
    deployment: Deployment, alice: Any, api: client.Cluster
) -> None:
    reconcile_deployment(deployment.pk)
    before = set(owned(api, deployment))
    services.update_deployment(
        actor=alice, deployment=deployment, asked=asked(pools=pools(1, count=2))
    )
    reconcile_deployment(deployment.pk)
    after = set(owned(api, deployment))
    assert len(after) == 4
    assert before - after == {name for name in before if name.startswith("ResourceClaimTemplate")}


def test_the_path_device_plugin_has_limits_and_no_template(
    deployment: Deployment, alice: Any, api: client.Cluster
) -> None:
    plugin = [{**pools(1)[0], "path": "device-plugin"}]
    services.update_deployment(actor=alice, deployment=deployment, asked=asked(pools=plugin))
    reconcile_deployment(deployment.pk)
    found = api.get(kinds.DEPLOYMENTS, deployment.namespace, "llama-main")
    pod = found["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert "resourceClaims" not in pod
    assert not [name for name in owned(api, deployment) if name.startswith("ResourceClaimTemplate")]


def test_observe_writes_nothing_and_manage_catches_up(
    deployment: Deployment, api: client.Cluster
) -> None:
    Cluster.objects.update(mode=Mode.OBSERVE)
    reconcile_deployment(deployment.pk)
    deployment.refresh_from_db()
    assert owned(api, deployment) == {}
    assert deployment.condition("Applied")["reason"] == "ObserveOnly"  # type: ignore[index]
    assert not deployment.is_settled
    Cluster.objects.update(mode=Mode.MANAGE)
    reconcile_deployment(deployment.pk)
    assert len(owned(api, deployment)) == 4


def test_propose_keeps_a_patch_that_can_be_taken_away(
    deployment: Deployment, api: client.Cluster
) -> None:
    Cluster.objects.update(mode=Mode.PROPOSE)
    reconcile_deployment(deployment.pk)
    deployment.refresh_from_db()
    assert owned(api, deployment) == {}
    assert deployment.proposal.count("kind: Deployment\n") == 1
    assert deployment.proposal.count("---\n") == 3
    import yaml

    for manifest in yaml.safe_load_all(deployment.proposal):
        api.apply(manifest)
    reconcile_deployment(deployment.pk)
    deployment.refresh_from_db()
    assert deployment.condition("Applied")["reason"] == "AlreadySo"  # type: ignore[index]


def test_the_switch_stops_all_writes(deployment: Deployment, api: client.Cluster) -> None:
    WriteSwitch.objects.update_or_create(pk=1, defaults={"stopped": True, "reason": "audit"})
    reconcile_deployment(deployment.pk)
    deployment.refresh_from_db()
    assert owned(api, deployment) == {}
    assert deployment.condition("Applied")["message"] == "All writes are stopped: audit"  # type: ignore[index]


def test_what_is_not_ours_is_left_alone(deployment: Deployment, api: client.Cluster) -> None:
    theirs = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "llama", "namespace": deployment.namespace},
        "spec": {"ports": [{"port": 1}]},
    }
    api.create(theirs)
    reconcile_deployment(deployment.pk)
    deployment.refresh_from_db()
    assert deployment.condition("Applied")["reason"] == "NotOurs"  # type: ignore[index]
    assert owned(api, deployment) == {}


def test_an_edit_behind_our_back_is_shown_and_can_be_put_back(
    deployment: Deployment, alice: Any, api: client.Cluster
) -> None:
    reconcile_deployment(deployment.pk)
    api.patch_merge(
        kinds.DEPLOYMENTS, deployment.namespace, "llama-main", {"spec": {"replicas": 5}}
    )
    reconcile_deployment(deployment.pk)
    deployment.refresh_from_db()
    (drift,) = deployment.drift
    assert (drift["path"], drift["live"], drift["wanted"]) == ("spec.replicas", 5, 1)
    services.put_back_deployment(actor=alice, deployment=deployment)
    reconcile_deployment(deployment.pk)
    deployment.refresh_from_db()
    assert deployment.drift == []
    assert api.get(kinds.DEPLOYMENTS, deployment.namespace, "llama-main")["spec"]["replicas"] == 1


def test_a_deletion_behind_our_back_is_made_good(
    deployment: Deployment, api: client.Cluster
) -> None:
    reconcile_deployment(deployment.pk)
    api.delete(kinds.SERVICES, deployment.namespace, "llama")
    reconcile_deployment(deployment.pk)
    assert "Service/llama" in owned(api, deployment)


def test_retire_leaves_nothing_behind_and_frees_the_quota(
    deployment: Deployment, alice: Any, tenant: Any, api: client.Cluster
) -> None:
    reconcile_deployment(deployment.pk)
    services.retire_deployment(actor=alice, deployment=deployment)
    reconcile_deployment(deployment.pk)
    deployment.refresh_from_db()
    assert owned(api, deployment) == {}
    assert deployment.retired_at is not None
    assert quotas.used_by(tenant, deployment.cluster) == {}


def test_a_pod_that_is_left_holds_the_retirement(
    deployment: Deployment, alice: Any, api: client.Cluster
) -> None:
    from domain.manifests import pool_labels

    reconcile_deployment(deployment.pk)
    api.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "left",
                "namespace": deployment.namespace,
                "labels": pool_labels("vision", "llama", "main"),
            },
            "spec": {"containers": [{"name": "server", "image": "x"}]},
        }
    )
    services.retire_deployment(actor=alice, deployment=deployment)
    reconcile_deployment(deployment.pk)
    deployment.refresh_from_db()
    assert deployment.retired_at is None
    assert "Pod left" in deployment.condition("Applied")["message"]  # type: ignore[index]
    api.delete(kinds.PODS, deployment.namespace, "left")
    reconcile_deployment(deployment.pk)
    deployment.refresh_from_db()
    assert deployment.retired_at is not None


@pytest.mark.parametrize("step", range(4))
def test_an_apply_that_fails_at_any_step_is_finished_by_the_next_run(
    deployment: Deployment, api: client.Cluster, simulated: Any, step: int
) -> None:
    simulated.faults.add(Fault("500", "PATCH */namespaces/vision-*", times=1, after=step))
    try:
        with pytest.raises(Transient):
            reconcile_deployment(deployment.pk)
        deployment.refresh_from_db()
        assert deployment.lease_until is None
        assert not deployment.is_settled
        assert deployment.condition("Applied")["status"] == "Unknown"  # type: ignore[index]
    finally:
        simulated.faults.clear()
    reconcile_deployment(deployment.pk)
    deployment.refresh_from_db()
    assert deployment.is_settled
    assert len(owned(api, deployment)) == 4


def test_a_cluster_that_is_away_keeps_the_row_unsettled(
    deployment: Deployment, simulated: Any
) -> None:
    simulated.faults.add(Fault("away", times=-1))
    try:
        with pytest.raises(Transient):
            reconcile_deployment(deployment.pk)
    finally:
        simulated.faults.clear()
    deployment.refresh_from_db()
    assert not deployment.is_settled
    assert deployment.conditions[0]["message"]


def test_an_expired_token_becomes_a_condition(deployment: Deployment, simulated: Any) -> None:
    simulated.faults.add(Fault("expired-token", times=-1))
    try:
        reconcile_deployment(deployment.pk)
    finally:
        simulated.faults.clear()
    deployment.refresh_from_db()
    assert deployment.condition("Applied")["reason"] == "Unauthorized"  # type: ignore[index]


def test_two_workers_on_one_row_apply_it_once(
    deployment: Deployment, api: client.Cluster, simulated: Any
) -> None:
    """The second finds the lease taken and changes nothing."""
    from apps.common import leases

    token = leases.claim(Deployment.objects.filter(pk=deployment.pk), seconds=60)
    reconcile_deployment(deployment.pk)
    assert owned(api, deployment) == {}
    assert token is not None
    leases.finish(Deployment.objects.filter(pk=deployment.pk), token)
    reconcile_deployment(deployment.pk)
    assert len(owned(api, deployment)) == 4


def test_a_worker_that_outlived_its_lease_writes_no_outcome(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    from apps.deployments import reconcile

    def slow(row: Deployment) -> dict[str, Any]:
        Deployment.objects.filter(pk=row.pk).update(lease_token=uuid4())
        return {"observed_generation": row.generation}

    monkeypatch.setattr(reconcile, "_apply", slow)
    reconcile_deployment(deployment.pk)
    deployment.refresh_from_db()
    assert deployment.observed_generation == 0


def accepted(deployment: Deployment) -> tuple[str, str]:
    reconcile_deployment(deployment.pk)
    found = deployment.pools.get().condition("Accepted")
    assert found is not None
    return found["status"], found["reason"]


def test_what_changed_since_is_told_and_takes_nothing_away(
    deployment: Deployment, admin: Any, tenant: Any, pattern: Any, h100: Any, api: client.Cluster
) -> None:
    from apps.catalog import services as catalog

    assert accepted(deployment) == ("True", "Accepted")
    catalog.withdraw(actor=admin, version=pattern, text="replaced")
    assert accepted(deployment) == ("True", "PatternWithdrawn")
    quota_services.set_quotas(
        actor=admin, tenant=tenant, cluster=deployment.cluster, limits={"h100": 0}
    )
    assert accepted(deployment) == ("False", "OverQuota")
    summary = summary_of(Deployment.objects.get())
    assert (summary.word, "the quota is 0 now" in summary.message) == ("Pending", True)
    catalog.withdraw(actor=admin, version=h100, text="end of life")
    assert accepted(deployment) == ("False", "ClassWithdrawn")
    assert len(owned(api, deployment)) == 4
