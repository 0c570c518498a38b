"""Keeping tenants' namespaces as the portal wants them."""

from typing import Any

from apps.catalog.reconcile import away, record
from apps.common import leases
from apps.inventory import writing
from apps.quotas import selectors
from apps.quotas.models import TenantNamespace
from domain import canonical, policies
from kube.errors import Transient

LEASE_SECONDS = 60


def reconcile_namespace(row_id: int) -> None:
    """Apply namespace, account, rights and limits. Safe to run twice, late, or never.

    Transient cluster errors pass through, for the task to retry.
    """
    rows = TenantNamespace.objects.filter(pk=row_id)
    token = leases.claim(rows, seconds=LEASE_SECONDS)
    if token is None:
        return
    row = rows.select_related("tenant", "cluster").get()
    changes: dict[str, Any] = {}
    try:
        changes = _keep_so(row)
    except Transient as error:
        changes = away(row, error)
        raise
    finally:
        leases.finish(rows, token, **changes)


def _keep_so(row: TenantNamespace) -> dict[str, Any]:
    manifests = policies.render(selectors.space_of(row))
    wanted = canonical.digest(manifests)
    outcome = writing.keep_so(
        row.cluster,
        manifests,
        adopt=row.adopted,
        force=row.is_forced or row.adopted,
        touch=not row.is_settled or wanted != row.applied_hash,
    )
    taken = outcome.condition.status == "True"
    return record(row, outcome) | {"applied_hash": wanted if taken else row.applied_hash}
