"""Claim and pod by dry run as a tenant's account, on the real control plane: RBAC, quota and
admission policies judge."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import kube
from apps.common import secrets
from apps.inventory.models import Cluster, Mode
from apps.rollouts import dryrun
from domain.policies import SERVICE_ACCOUNT
from kube import client, credentials, kinds, rights
from kube.credentials import Credentials

pytestmark = [pytest.mark.django_db, pytest.mark.cluster]
RBAC = "rbac.authorization.k8s.io"
SECONDS = 60.0
Json = dict[str, Any]


@pytest.fixture(scope="module")
def kubeconfig(control_plane: Any) -> str:
    return Path(control_plane.kubeconfig).read_text()


@pytest.fixture
def api(kubeconfig: str) -> Iterator[client.Cluster]:
    """As an administrator."""
    connection = kube.connect(credentials.from_kubeconfig(kubeconfig))
    yield connection
    connection.close()


def portal(control_plane: Any, *, migrate: bool) -> Credentials:
    """The portal's own account, with or without the rights of migrations."""
    found = credentials.from_kubeconfig(Path(control_plane.kubeconfig).read_text())
    connection = kube.connect(found)
    for manifest in rights.manifests(mode="manage", migrate=True):
        connection.apply(manifest, force=True)
    if not migrate:
        kind = kinds.CLUSTER_ROLE_BINDINGS
        connection.delete(kind, None, rights.MIGRATE_ROLE, missing_ok=True)
    connection.close()
    arguments = [f"--kubeconfig={control_plane.kubeconfig}", *rights.token_command().split()[1:]]
    kubectl = Path(sys.executable).with_name("kubectl")
    made = subprocess.run([kubectl, *arguments], capture_output=True, text=True, check=True)
    return credentials.from_parts(server=found.server, ca=found.ca, token=made.stdout)


def cluster_of(found: Credentials) -> Cluster:
    return Cluster.objects.create(
        slug=f"real-{uuid4().hex[:6]}",
        name="Real",
        server=found.server,
        credentials=secrets.seal(found.dump()),
        mode=Mode.MANAGE,
    )


@pytest.fixture
def space(api: client.Cluster) -> Iterator[str]:
    name = f"dry-{uuid4().hex[:8]}"
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    account = {"name": SERVICE_ACCOUNT, "namespace": name}
    api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    yield name
    api.delete(kinds.NAMESPACES, None, name, missing_ok=True)


def let_edit(api: client.Cluster, space: str) -> None:
    """As once admission policies hold the tenant to approved claims."""
    api.create(
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "edit", "namespace": space},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "claimyard-tenant-edit"},
            "subjects": [{"kind": "ServiceAccount", "name": SERVICE_ACCOUNT, "namespace": space}],
        }
    )


def claim(space: str, device_class: str = "h100") -> Json:
    exactly = {"deviceClassName": device_class}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "try", "namespace": space},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    }


def pod(space: str) -> Json:
    spec = {
        "serviceAccountName": SERVICE_ACCOUNT,
        "containers": [{"name": "a", "image": "example.com/a"}],
    }
    metadata = {"name": "try", "namespace": space}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def workload(space: str) -> Json:
    labels = {"app": "try"}
    inner = {"metadata": {"labels": labels}, "spec": pod(space)["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "try", "namespace": space},
        "spec": {"selector": {"matchLabels": labels}, "template": inner},
    }


def until(answer: Callable[[], dryrun.Answer], outcome: str) -> dryrun.Answer:
    """RBAC, quotas and policies take a moment to be in force."""
    limit = time.monotonic() + SECONDS
    while (found := answer()).outcome != outcome:
        assert time.monotonic() < limit, found
        time.sleep(0.1)
    return found


def test_the_account_is_asked_where_it_may_make_claims(
    api: client.Cluster, space: str, control_plane: Any
) -> None:
    cluster = cluster_of(portal(control_plane, migrate=True))
    let_edit(api, space)
    account = dryrun.account_of(space)

    def asked() -> dryrun.Answer:
        found = dryrun.try_claim(cluster, space, claim(space))
        return found if found.asked_as == account else dryrun.Answer("error", "", "")

    assert until(asked, "accepted").asked_as == account
    found = dryrun.try_pod(cluster, space, pod(space), workload(space))
    assert (found.outcome, found.asked_as) == ("accepted", account)
    assert not api.list_all(kinds.CLAIMS, namespace=space)
    assert not api.list_all(kinds.PODS, namespace=space)


def test_a_quota_refuses_the_object_not_the_account(
    api: client.Cluster, space: str, control_plane: Any
) -> None:
    cluster = cluster_of(portal(control_plane, migrate=True))
    let_edit(api, space)
    hard = {"count/resourceclaims.resource.k8s.io": "0"}
    metadata = {"name": "none", "namespace": space}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata}
    api.create(quota | {"spec": {"hard": hard}})
    found = until(lambda: dryrun.try_claim(cluster, space, claim(space)), "refused")
    assert "exceeded quota" in found.text


def test_a_policy_refuses_with_its_own_words(
    api: client.Cluster, space: str, control_plane: Any
) -> None:
    cluster = cluster_of(portal(control_plane, migrate=True))
    let_edit(api, space)
    group = "admissionregistration.k8s.io"
    rule = {
        "apiGroups": ["resource.k8s.io"],
        "apiVersions": ["*"],
        "operations": ["CREATE"],
        "resources": ["resourceclaims"],
    }
    expression = (
        "object.spec.devices.requests.all(r, r.?exactly.deviceClassName.orValue('') == 'h100')"
    )
    policy = {
        "apiVersion": f"{group}/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": space},
        "spec": {
            "matchConstraints": {
                "resourceRules": [rule],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": space}},
            },
            "validations": [{"expression": expression, "message": "Only h100 is approved."}],
        },
    }
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": space},
        "spec": {"policyName": space, "validationActions": ["Deny"]},
    }
    api.create(policy)
    api.create(binding)
    try:
        other = claim(space, "l40s")
        found = until(lambda: dryrun.try_claim(cluster, space, other), "refused")
        assert "Only h100 is approved." in found.text
        assert dryrun.try_claim(cluster, space, claim(space)).outcome == "accepted"
    finally:
        api.delete(kinds.ADMISSION_BINDINGS, None, space)
        api.delete(kinds.ADMISSION_POLICIES, None, space)


def test_an_account_that_only_reads_leaves_it_to_the_portal(space: str, control_plane: Any) -> None:
    cluster = cluster_of(portal(control_plane, migrate=True))
    found = until(lambda: dryrun.try_claim(cluster, space, claim(space)), "accepted")
    assert found.asked_as == "claimyard"
    assert "cannot create resource" in found.text
    tried = dryrun.try_pod(cluster, space, pod(space), workload(space))
    assert (tried.outcome, tried.asked_as) == ("accepted", "claimyard")
    assert "not its pod" in tried.text


def test_without_the_right_to_impersonate_it_is_said(space: str, control_plane: Any) -> None:
    cluster = cluster_of(portal(control_plane, migrate=False))

    def asked() -> dryrun.Answer:
        found = dryrun.try_claim(cluster, space, claim(space))
        return found if "impersonate" in found.text else dryrun.Answer("error", found.text, "")

    found = until(asked, "accepted")
    assert (found.asked_as, "cannot impersonate" in found.text) == ("claimyard", True)


def test_the_right_is_for_claims_and_pods_only(
    api: client.Cluster, space: str, control_plane: Any
) -> None:
    """Acting as the account the portal may not even list what the account may list."""
    found = portal(control_plane, migrate=True)
    let_edit(api, space)
    acting = kube.connect(found, acting_as=dryrun.account_of(space))
    try:
        with pytest.raises(kube.errors.Forbidden, match="impersonate-on"):
            acting.list_all(kinds.PODS, namespace=space)
        other = kube.connect(found, acting_as=f"system:serviceaccount:{space}:default")
        with pytest.raises(kube.errors.Forbidden, match="cannot impersonate"):
            other.create(claim(space), dry_run=True)
        other.close()
    finally:
        acting.close()
