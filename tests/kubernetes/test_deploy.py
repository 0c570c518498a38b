"""The manifests that people install are accepted by a real API server."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from embedded.controlplane import ControlPlane

pytestmark = pytest.mark.cluster
K8S = Path(__file__).resolve().parents[2] / "deploy" / "k8s"
Kubectl = Callable[..., str]


def warned(kubeconfig: Path, *arguments: str) -> str:
    done = subprocess.run(
        [Path(sys.executable).with_name("kubectl"), f"--kubeconfig={kubeconfig}", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert not done.returncode, done.stderr
    return done.stderr


def test_the_portals_own_objects_are_accepted_and_meet_the_strictest_pod_standard(
    control_plane: ControlPlane, kubectl: Kubectl
) -> None:
    kubeconfig = control_plane.kubeconfig
    kubectl(kubeconfig, "create", "namespace", "claimyard-portal")
    strict = "pod-security.kubernetes.io/warn=restricted"
    kubectl(kubeconfig, "label", "namespace", "claimyard-portal", strict)
    said = warned(
        kubeconfig, "apply", "--server-side", "--dry-run=server", "-k", str(K8S / "portal")
    )
    assert "Warning" not in said


@pytest.mark.parametrize(
    ("verb", "resource", "allowed"),
    [
        ("list", "nodes", "yes"),
        ("patch", "deviceclasses.resource.k8s.io", "yes"),
        ("get", "secrets", "no"),
        ("create", "pods/exec", "no"),
        ("delete", "nodes", "no"),
    ],
)
def test_the_account_for_a_cluster_may_do_what_the_table_says(
    control_plane: ControlPlane, kubectl: Kubectl, verb: str, resource: str, allowed: str
) -> None:
    kubeconfig = control_plane.kubeconfig
    file = K8S / "cluster-access" / "manage.yaml"
    kubectl(kubeconfig, "apply", "--server-side", "-f", str(file))
    account = "--as=system:serviceaccount:claimyard:claimyard"
    done = subprocess.run(
        [
            Path(sys.executable).with_name("kubectl"),
            f"--kubeconfig={kubeconfig}",
            *("auth", "can-i", verb, resource, "--all-namespaces", account),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == allowed
