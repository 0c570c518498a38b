"""The watch tells the rooms above of changes, in tenants' namespaces only."""

from typing import Any

import pytest

from domain.manifests import pool_labels
from kube import kinds
from tests.workers import fleet
from tests.workers.test_mirroring import Lab, eventually, lab

__all__ = ["lab"]
pytestmark = pytest.mark.django_db(transaction=True)
NAMESPACE = "told-of"


def told(sent: Any) -> list[Any]:
    """The namespaces of each hint: None for all of them."""
    return [args[1] for name, args in sent.messages if name == "observe_cluster"]


def test_a_tenants_pod_is_told_of_and_a_strangers_is_not(lab: Lab, sent: Any) -> None:
    labels = {"claimyard.dev/tenant": "vision"}
    lab.apply(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": NAMESPACE, "labels": labels},
        }
    )
    lab.mirror()
    eventually(lambda: None in told(sent))  # all of the cluster, once after the first list
    lab.apply(fleet.pod("stranger", "n1", "default"))
    ours = fleet.pod("server", "n1", NAMESPACE)
    ours["metadata"]["labels"] = pool_labels("vision", "llama", "main")
    lab.apply(ours)
    eventually(lambda: [NAMESPACE] in told(sent))
    lab.client.delete(kinds.PODS, NAMESPACE, "server", grace_seconds=0)
    eventually(lambda: told(sent).count([NAMESPACE]) >= 2)
    assert all(one is None or one == [NAMESPACE] for one in told(sent))
    lab.client.delete(kinds.NAMESPACES, None, NAMESPACE)
