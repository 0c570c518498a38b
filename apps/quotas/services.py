"""Giving a tenant a cluster, and devices in it."""

from collections.abc import Mapping
from functools import partial

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.audit import services as audit
from apps.catalog.models import DeviceClass
from apps.inventory.models import Cluster
from apps.quotas import ledger, occupants, reconcile, selectors, tasks
from apps.quotas.models import Quota, TenantNamespace
from apps.tenancy.models import Tenant, User
from domain.errors import DomainError, InvalidValue

LARGEST_LIMIT = 1_000_000
RESERVED = ("default", "kube-system", "kube-public", "kube-node-lease")


@transaction.atomic
def give_cluster(
    *, actor: User, tenant: Tenant, cluster: Cluster, namespace: str, adopt: bool = False
) -> TenantNamespace:
    """Give the tenant a namespace in a cluster. With `adopt` it may exist there already."""
    if namespace in RESERVED:
        raise InvalidValue(f"{namespace} belongs to the cluster itself.", field="namespace")
    ledger.lock(tenant)
    row = TenantNamespace(tenant=tenant, cluster=cluster, namespace=namespace, adopted=adopt)
    row.full_clean()
    row.save()
    audit.record(actor=actor, verb="gave", subject=row, after={"namespace": namespace})
    transaction.on_commit(partial(tasks.reconcile_namespace.delay, row.pk))
    return row


class InUse(DomainError):
    """Something of the tenant's runs where the cluster is to be taken back."""

    code = "in_use"


@transaction.atomic
def take_cluster(*, actor: User, row: TenantNamespace) -> TenantNamespace:
    """Take a cluster back from a tenant: its space there goes, with its quotas.

    Raises InUse while deployments run there. May be repeated. Where the cluster is retired nothing
    is changed in it, and the row goes at once.
    """
    ledger.lock(row.tenant)
    row = _locked(row)
    if row.is_leaving and row.cluster.retired_at is None:
        return row
    if running := occupants.of(row.tenant, row.cluster):
        named = ", ".join(running[:5]) + (" and others" if len(running) > 5 else "")
        raise InUse(f"{named} of {row.tenant.name} still run in {row.cluster.name}; retire them.")
    row.leaving_at = timezone.now()
    row.generation += 1
    row.save(update_fields=["leaving_at", "generation", "updated_at"])
    audit.record(
        actor=actor,
        verb="took back",
        subject=row,
        before={"namespace": row.namespace, "quotas": selectors.limits_of(row.tenant, row.cluster)},
        tenant_id=row.tenant_id,
    )
    if row.cluster.retired_at is not None:
        reconcile.forget(row)
    else:
        transaction.on_commit(partial(tasks.reconcile_namespace.delay, row.pk))
    return row


@transaction.atomic
def keep_cluster(*, actor: User, row: TenantNamespace) -> TenantNamespace:
    """Leave the tenant a cluster that was to be taken back; what is gone already is made again."""
    row = _locked(row)
    if row.is_leaving:
        row.leaving_at = None
        row.generation += 1
        row.save(update_fields=["leaving_at", "generation", "updated_at"])
        audit.record(actor=actor, verb="kept", subject=row, tenant_id=row.tenant_id)
        transaction.on_commit(partial(tasks.reconcile_namespace.delay, row.pk))
    return row


def _locked(row: TenantNamespace) -> TenantNamespace:
    rows = TenantNamespace.objects.select_for_update(no_key=True, of=("self",))
    return rows.select_related("tenant", "cluster").get(pk=row.pk)


@transaction.atomic
def set_quotas(
    *, actor: User, tenant: Tenant, cluster: Cluster, limits: Mapping[str, int | None]
) -> None:
    """Set the tenant's limits by class; None takes the class away. Others stay as they are.

    A limit below what is in use is allowed: nothing is taken away, but nothing more is given.
    """
    ledger.lock(tenant)
    before = selectors.limits_of(tenant, cluster)
    for name, limit in limits.items():
        _set_quota(tenant, cluster, name, limit)
    after = selectors.limits_of(tenant, cluster)
    if before == after:
        return
    rows = TenantNamespace.objects.filter(tenant=tenant, cluster=cluster)
    row = rows.first()
    audit.record(
        actor=actor,
        verb="set quotas",
        subject=row or tenant,
        before=before,
        after=after,
        tenant_id=tenant.pk,
    )
    if row is not None:
        rows.update(generation=F("generation") + 1, updated_at=timezone.now())
        transaction.on_commit(partial(tasks.reconcile_namespace.delay, row.pk))


def _set_quota(tenant: Tenant, cluster: Cluster, name: str, limit: int | None) -> None:
    device_class = DeviceClass.objects.filter(name=name).first()
    if device_class is None:
        raise InvalidValue(f"The catalog has no class {name[:60]!r}.", field=name)
    found = Quota.objects.filter(tenant=tenant, cluster=cluster, device_class=device_class)
    if limit is None:
        found.delete()
    elif not 0 <= limit <= LARGEST_LIMIT:
        raise InvalidValue(f"A limit is a number from 0 to {LARGEST_LIMIT}.", field=name)
    else:
        Quota.objects.update_or_create(
            tenant=tenant,
            cluster=cluster,
            device_class=device_class,
            defaults={"limit": limit},
        )


@transaction.atomic
def put_back_namespace(*, actor: User, row: TenantNamespace) -> TenantNamespace:
    """Overwrite what somebody changed in the cluster."""
    row = _locked(row)
    row.generation += 1
    row.forced_generation = row.generation
    row.save(update_fields=["generation", "forced_generation", "updated_at"])
    audit.record(actor=actor, verb="put back", subject=row, before={"drift": row.drift})
    transaction.on_commit(partial(tasks.reconcile_namespace.delay, row.pk))
    return row
