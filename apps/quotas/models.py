"""What a tenant has in a cluster: a namespace, and a number of devices of each class."""

from django.db import models
from django.db.models import F, Q

from apps.catalog.models import Applied, DeviceClass
from apps.common.models import TimeStamped
from apps.inventory.models import Cluster
from apps.tenancy.models import Tenant, dns_label


class TenantNamespace(Applied):
    """A tenant's namespace in one cluster, with its account, rights and ResourceQuota."""

    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="namespaces")
    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="tenant_namespaces")
    namespace = models.CharField(max_length=63, validators=[dns_label])
    # A namespace that was there before: it is labelled, and outlives the tenant's leaving.
    adopted = models.BooleanField(default=False)
    # The cluster is being taken back from the tenant; the row goes when nothing is left there.
    leaving_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Of what was last applied: other rooms' changes, such as a new class, change what is wanted.
    applied_hash = models.CharField(max_length=64, blank=True, editable=False)

    class Meta:
        ordering = ["tenant", "cluster"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "cluster"], name="one_namespace_per_cluster"),
            models.UniqueConstraint(
                fields=["cluster", "namespace"], name="namespace_of_one_tenant"
            ),
            models.CheckConstraint(
                condition=Q(observed_generation__lte=F("generation")),
                name="namespace_observed_not_ahead",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.namespace} in {self.cluster}"

    @property
    def is_leaving(self) -> bool:
        return self.leaving_at is not None


class Quota(TimeStamped):
    """Devices of a class that a tenant may hold in a cluster, on whichever allocation path.

    No row means none: a quota is an allow-list.
    """

    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="quotas")
    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="quotas")
    device_class = models.ForeignKey(DeviceClass, models.PROTECT, related_name="quotas")
    limit = models.PositiveIntegerField()

    class Meta:
        ordering = ["tenant", "cluster", "device_class"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "cluster", "device_class"], name="quota_once_per_class"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.device_class} for {self.tenant} in {self.cluster}"


class Charge(TimeStamped):
    """Devices of a class that something holds against a tenant's quota.

    `holder` names it, such as "pool:12"; higher rooms write through apps.quotas.ledger.
    """

    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="charges")
    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="charges")
    class_name = models.CharField(max_length=200)
    holder = models.CharField(max_length=60)
    amount = models.PositiveIntegerField()

    class Meta:
        ordering = ["tenant", "cluster", "class_name", "holder"]
        constraints = [
            models.UniqueConstraint(fields=["holder", "class_name"], name="charge_once_per_holder"),
        ]
        indexes = [models.Index(fields=["tenant", "cluster"], name="charge_by_tenant")]

    def __str__(self) -> str:
        return f"{self.amount} {self.class_name} by {self.holder}"
