from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models.functions import Upper

from apps.inventory.models import Cluster


class Claim(models.Model):
    """A ResourceClaim as it stands now; its whole object is the `Mirrored` row of the same uid."""

    class State(models.TextChoices):
        PENDING = "pending", "Pending"
        ALLOCATED = "allocated", "Allocated, unused"
        RESERVED = "reserved", "In use"
        DELETING = "deleting", "Being deleted"

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="claims")
    uid = models.TextField()
    namespace = models.TextField()
    name = models.TextField()
    resource_version = models.TextField(blank=True)
    state = models.CharField(max_length=12, choices=State)
    node_name = models.TextField(blank=True)
    device_class = models.TextField(blank=True)
    devices = models.IntegerField(default=0)
    pods = models.JSONField(default=list, blank=True)
    results = models.JSONField(default=list, blank=True)
    tenant = models.TextField(blank=True)
    deployment = models.TextField(blank=True)
    model_pool = models.TextField(blank=True)
    created_at = models.DateTimeField(null=True, blank=True)
    allocated_at = models.DateTimeField(null=True, blank=True)
    # Since when it has been allocated without a user.
    idle_since = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "uid"], name="claim_once"),
        ]
        indexes = [
            models.Index(fields=["cluster", "namespace", "name"], name="claim_name"),
            models.Index(fields=["name", "id"], name="claim_name_order"),
            models.Index(fields=["namespace", "id"], name="claim_namespace_order"),
            models.Index(fields=["state", "id"], name="claim_state_order"),
            models.Index(fields=["device_class", "id"], name="claim_class_order"),
            models.Index(fields=["node_name", "id"], name="claim_node_order"),
            models.Index(fields=["created_at", "id"], name="claim_age_order"),
            models.Index(fields=["tenant", "id"], name="claim_tenant"),
            models.Index(fields=["cluster", "state", "id"], name="claim_by_cluster_state"),
            # What the list searches, as `icontains` asks for it.
            GinIndex(OpClass(Upper("name"), "gin_trgm_ops"), name="claim_find_name"),
            GinIndex(OpClass(Upper("namespace"), "gin_trgm_ops"), name="claim_find_namespace"),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Use(models.Model):
    """One use of a device (or of a device plugin's units), from its allocation to its end.

    History: rows are never deleted when their cluster's objects are. Names and labels are copied,
    since what they name goes away. `device` is "" where a device plugin does not tell which.
    """

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="uses")
    kind = models.CharField(max_length=8)  # claim | pod
    uid = models.TextField()
    namespace = models.TextField()
    name = models.TextField()
    driver = models.TextField(blank=True)
    pool = models.TextField(blank=True)
    device = models.TextField(blank=True)
    share_id = models.TextField(blank=True)
    # The DeviceClass of a claim's request, or the resource name of a pod's.
    device_class = models.TextField(blank=True)
    amount = models.IntegerField(default=1)
    node_name = models.TextField(blank=True)
    tenant = models.TextField(blank=True)
    deployment = models.TextField(blank=True)
    model_pool = models.TextField(blank=True)
    created_at = models.DateTimeField()
    allocated_at = models.DateTimeField()
    running_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "uid", "driver", "pool", "device", "share_id", "device_class"],
                condition=models.Q(ended_at=None),
                name="use_open_once",
            ),
        ]
        indexes = [
            models.Index(fields=["cluster", "uid"], name="use_holder"),
            models.Index(fields=["ended_at", "allocated_at"], name="use_span"),
            models.Index(fields=["cluster", "node_name", "device"], name="use_device"),
            models.Index(fields=["tenant", "allocated_at"], name="use_tenant"),
        ]

    def __str__(self) -> str:
        return f"{self.device or self.device_class} by {self.namespace}/{self.name}"
