"""Keeping tenants' namespaces as the portal wants them."""

from typing import Any

from django.db import transaction

from apps.audit import services as audit
from apps.catalog.reconcile import away, record
from apps.common import leases
from apps.inventory import connections, writing
from apps.quotas import leaving, ledger, occupants, selectors
from apps.quotas.models import Quota, TenantNamespace
from domain import canonical, policies
from domain.conditions import Condition
from kube import kinds
from kube.errors import Permanent, Transient

LEASE_SECONDS = 60


def reconcile_namespace(row_id: int) -> None:
    """Apply namespace, account, rights and limits, or take them away. Safe to run twice, late, or
    never.

    Transient cluster errors pass through, for the task to retry.
    """
    rows = TenantNamespace.objects.filter(pk=row_id)
    token = leases.claim(rows, seconds=LEASE_SECONDS)
    if token is None:
        return
    row = rows.select_related("tenant", "cluster").get()
    changes: dict[str, Any] = {}
    try:
        changes = _leave(row) if row.is_leaving else _keep_so(row)
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


def _leave(row: TenantNamespace) -> dict[str, Any]:
    """Take away what the portal has there; when nothing of it is left, forget the row."""
    try:
        outcome = _taken_away(row)
    except Permanent as error:
        outcome = writing.Outcome(Condition("Applied", "False", error.reason, error.message))
    if outcome.condition.status == "True":
        forget(row)
        return {}
    # It stays unsettled until it is gone, so that the sweep comes again.
    return record(row, outcome) | {"observed_generation": row.observed_generation}


def _taken_away(row: TenantNamespace) -> writing.Outcome:
    if running := occupants.of(row.tenant, row.cluster):
        text = f"{', '.join(running[:5])} still run here; retire them, or keep the cluster."
        return writing.Outcome(Condition("Applied", "False", "InUse", text))
    space = writing.Object(kinds.NAMESPACES, None, row.namespace)
    with connections.opened(row.cluster) as connection:
        found = leaving.look(connection, row)
    outcome = writing.remove(row.cluster, found.removed)
    if outcome.condition.status != "True":
        return outcome
    if found.keeps_namespace:
        return writing.release(row.cluster, space, policies.SPACE_LABELS)
    with connections.opened(row.cluster) as connection:
        if leaving.is_gone(connection, space):
            return outcome
    text = f"Waiting for {space} to end."
    return writing.Outcome(Condition("Applied", "False", "Removing", text))


@transaction.atomic
def forget(row: TenantNamespace) -> None:
    """Nothing of the tenant's is left there: its limits go, and the row; unless somebody decided
    meanwhile that the tenant keeps it."""
    ledger.lock(row.tenant)
    there = TenantNamespace.objects.select_for_update().filter(pk=row.pk).first()
    if there is None or not there.is_leaving:
        return
    Quota.objects.filter(tenant=row.tenant, cluster=row.cluster).delete()
    audit.record(
        actor=None,
        verb="removed",
        subject=row,
        before={"namespace": row.namespace},
        tenant_id=row.tenant_id,
    )
    there.delete()
