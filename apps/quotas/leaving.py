"""Taking a cluster back from a tenant: what is removed there, and what is not the portal's.

A namespace that the portal made goes with the tenant, if nothing of somebody else is in it. One
that was adopted, or that others use, stays: only what the portal put there goes, labels included.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from apps.inventory import writing
from apps.inventory.writing import Object
from apps.quotas.models import TenantNamespace
from domain.policies import QUOTA, SERVICE_ACCOUNT, VIEWER
from kube import client, kinds
from kube.errors import Forbidden, NotFound

# What an empty namespace must not hold. Secrets cannot be read, and are not among these.
LOOKED_AT = (
    kinds.PODS,
    kinds.DEPLOYMENTS,
    kinds.STATEFUL_SETS,
    kinds.DAEMON_SETS,
    kinds.JOBS,
    kinds.SERVICES,
    kinds.CLAIMS,
    kinds.TEMPLATES,
    kinds.VOLUME_CLAIMS,
    kinds.CONFIG_MAPS,
)
# Put into every namespace by the cluster itself.
_OF_THE_CLUSTER = frozenset({"kube-root-ca.crt", "openshift-service-ca.crt"})
MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Leaving:
    """What taking a cluster back comes to. `others` keep the namespace; `unseen` are kinds that
    the portal may not list there, which keep it too."""

    removed: tuple[Object, ...]
    others: tuple[str, ...]
    unseen: tuple[str, ...]
    keeps_namespace: bool

    def as_answer(self) -> dict[str, Any]:
        return {
            "removed": [str(one) for one in self.removed],
            "others": list(self.others[:MOST_NAMED]),
            "more": max(0, len(self.others) - MOST_NAMED),
            "unseen": list(self.unseen),
            "keeps_namespace": self.keeps_namespace,
        }


def look(connection: client.Cluster, row: TenantNamespace) -> Leaving:
    """Look into the namespace; cluster errors pass through."""
    name = row.namespace
    space = _get(connection, Object(kinds.NAMESPACES, None, name))
    if space is None:
        return Leaving((), (), (), keeps_namespace=False)
    if not writing.is_ours(space):
        return Leaving((), (f"Namespace {name}",), (), keeps_namespace=True)
    others: list[str] = []
    unseen: list[str] = []
    for kind in LOOKED_AT:
        try:
            others += _others(connection, kind, name)
        except Forbidden:
            unseen.append(kind.plural)
        except NotFound:
            continue  # the cluster does not serve this kind
    ours = tuple(one for one in _ours(name) if _is_there(connection, one))
    keeps = row.adopted or bool(others or unseen)
    whole = () if keeps else (Object(kinds.NAMESPACES, None, name),)
    return Leaving((*ours, *whole), tuple(others), tuple(unseen), keeps)


def _ours(namespace: str) -> tuple[Object, ...]:
    return (
        Object(kinds.ROLE_BINDINGS, namespace, VIEWER),
        Object(kinds.RESOURCE_QUOTAS, namespace, QUOTA),
        Object(kinds.SERVICE_ACCOUNTS, namespace, SERVICE_ACCOUNT),
    )


def is_gone(connection: client.Cluster, one: Object) -> bool:
    return _get(connection, one) is None


def _is_there(connection: client.Cluster, one: Object) -> bool:
    found = _get(connection, one)
    return found is not None and writing.is_ours(found)


def _get(connection: client.Cluster, one: Object) -> client.Json | None:
    try:
        return connection.get(one.kind, one.namespace, one.name)
    except NotFound:
        return None


def _others(connection: client.Cluster, kind: kinds.Kind, namespace: str) -> Iterator[str]:
    for found in connection.list_all(kind, namespace=namespace):
        name = str(found["metadata"]["name"])
        if name not in _OF_THE_CLUSTER and not writing.is_ours(found):
            yield f"{kind.kind} {name}"
