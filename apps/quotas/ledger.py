"""Charging quotas. Two who want the last device take turns on the tenant's row: one wins."""

from django.db import transaction

from apps.inventory.models import Cluster
from apps.quotas import selectors
from apps.quotas.models import Charge
from apps.tenancy.models import Tenant
from domain import quota


def lock(tenant: Tenant) -> Tenant:
    """Make everybody who charges this tenant wait for us, until the transaction ends."""
    return Tenant.objects.select_for_update(no_key=True).get(pk=tenant.pk)


@transaction.atomic
def charge(*, tenant: Tenant, cluster: Cluster, holder: str, amounts: quota.Amounts) -> None:
    """Set what `holder` has of the tenant's quota; raise QuotaExceeded if it asks for too much.

    Only what is asked for beyond what it had already must fit, so that one may always give back,
    even when a limit was lowered under what is in use.
    """
    lock(tenant)
    held = held_by(holder)
    quota.require_room(
        limits=selectors.limits_of(tenant, cluster),
        used=selectors.used_by(tenant, cluster),
        asked=quota.more(before=held, after=amounts),
    )
    Charge.objects.filter(holder=holder).exclude(
        class_name__in=[name for name, amount in amounts.items() if amount]
    ).delete()
    for name, amount in amounts.items():
        if amount:
            Charge.objects.update_or_create(
                holder=holder,
                class_name=name,
                defaults={"tenant": tenant, "cluster": cluster, "amount": amount},
            )


def held_by(holder: str) -> dict[str, int]:
    """Devices of each class."""
    return dict(Charge.objects.filter(holder=holder).values_list("class_name", "amount"))


def release(holder: str) -> None:
    Charge.objects.filter(holder=holder).delete()
