"""What rows know of a pod that waits: approval, quota, refusals, containers."""

from collections.abc import Iterable
from typing import Any

from apps.catalog.models import ClassInCluster, ClassVersion, DeviceClass, VersionState
from apps.claims.models import Claim
from apps.inventory.models import Cluster, Pod
from apps.inventory.selectors import events_about
from apps.quotas import selectors as quotas
from apps.tenancy.models import Tenant
from domain import quota, waiting
from domain.waiting import Layer, Offer, Saying


def before_devices(
    cluster: Cluster,
    *,
    tenant: str,
    uids: Iterable[str],
    asked: list[str],
    missing: list[str],
    gates: Iterable[str] = (),
) -> list[Layer]:
    """Approval, quota and admission of something that asks for the classes `asked`.

    uids: the objects whose events count. missing: its claims that have not been created.
    """
    refused = _refused(cluster, uids) if missing else None
    return [
        waiting.approval([_offer(cluster, name) for name in asked]),
        waiting.quota(tenant, _quota_lines(cluster, tenant, asked), refused),
        waiting.admission(refused, list(gates), missing),
    ]


def _refused(cluster: Cluster, uids: Iterable[str]) -> Saying | None:
    found = events_about(cluster.pk, uids).filter(reason=waiting.CLAIM_REFUSED).first()
    return None if found is None else Saying(found.reason, found.message, found.last_at)


def _offer(cluster: Cluster, name: str) -> Offer:
    if not DeviceClass.objects.filter(name=name).exists():
        return Offer(name)
    approved = ClassVersion.objects.filter(
        device_class__name=name, state=VersionState.APPROVED
    ).first()
    here = ClassInCluster.objects.filter(device_class__name=name, cluster=cluster).exists()
    if approved is None:
        return Offer(name, is_known=True, is_offered_here=here)
    return Offer(name, True, approved.number, approved.approved_at, here)


def _quota_lines(cluster: Cluster, slug: str, asked: list[str]) -> list[quota.Line]:
    tenant = Tenant.objects.filter(slug=slug).first() if slug else None
    if tenant is None:
        return []
    lines = {one.resource: one for one in quotas.lines_of(tenant, cluster, dict.fromkeys(asked, 0))}
    return [lines[name] for name in asked]


def row_of(cluster: Cluster, *, kind: str, namespace: str, name: str) -> Pod | Claim | None:
    """The row of a pod or of a claim."""
    if kind == "Pod":
        return Pod.objects.filter(cluster=cluster, namespace=namespace, name=name).first()
    return Claim.objects.filter(cluster=cluster, namespace=namespace, name=name).first()


def place_in_line(pod: Pod, user: Any) -> tuple[int, int]:
    """Which of the pods without a node it is, by age, and how many there are.

    Of those that `user` may see: kube-scheduler's own order also knows priorities.
    """
    rows = Pod.objects.filter(cluster=pod.cluster, node_name="", phase="Pending")
    if not user.is_platform:
        rows = rows.filter(tenant=pod.tenant)
    moments = list(rows.values_list("created_at", flat=True))
    if pod.created_at is None:
        return 0, len(moments)
    earlier = sum(1 for one in moments if one is not None and one < pod.created_at)
    return earlier + 1, len(moments)
