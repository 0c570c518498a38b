from django.contrib.postgres.indexes import GinIndex, OpClass
from django.core.validators import MinLengthValidator
from django.db import models
from django.db.models.fields.json import KT
from django.db.models.functions import Upper

from apps.common.models import Leased, TimeStamped
from apps.tenancy.models import dns_label


class Mode(models.TextChoices):
    OBSERVE = "observe", "Observe: only looks"
    PROPOSE = "propose", "Propose: shows each change as a patch to take away"
    MANAGE = "manage", "Manage: applies changes"


class Cluster(TimeStamped, Leased):
    """A Kubernetes cluster that the portal mirrors and, in mode manage, writes to.

    `credentials` is sealed JSON, see apps.common.secrets; nothing shows it again. `features` and
    `rights` are what the last check found: see kube.features and kube.rights.
    """

    slug = models.CharField(max_length=50, unique=True, validators=[dns_label])
    name = models.CharField(max_length=100, validators=[MinLengthValidator(1)])
    server = models.CharField(max_length=500)  # checked by kube.credentials
    credentials = models.BinaryField(editable=False)
    credentials_expire_at = models.DateTimeField(null=True, blank=True)
    mode = models.CharField(max_length=10, choices=Mode, default=Mode.OBSERVE)
    version = models.CharField(max_length=40, blank=True)
    features = models.JSONField(default=dict, blank=True)
    rights = models.JSONField(default=dict, blank=True)
    checked_at = models.DateTimeField(null=True, blank=True)
    # The watch's own words on how it goes: when it last heard anything, and what is wrong.
    heard_at = models.DateTimeField(null=True, blank=True)
    problem = models.TextField(blank=True)
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug


class WriteSwitch(models.Model):
    """The one switch that stops all writes to all clusters. There is exactly one row."""

    stopped = models.BooleanField(default=False)
    reason = models.CharField(max_length=200, blank=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(pk=1), name="write_switch_is_one_row"),
        ]

    def __str__(self) -> str:
        return "writes stopped" if self.stopped else "writes allowed"


class WatchLease(models.Model):
    """Who mirrors a cluster now. Each new leader raises `epoch`, and every write names its own: one
    that froze and wakes up finds a higher number and writes nothing."""

    cluster = models.OneToOneField(Cluster, models.CASCADE, related_name="watch_lease")
    epoch = models.BigIntegerField(default=0)
    holder = models.CharField(max_length=200, blank=True)
    until = models.DateTimeField(null=True, blank=True)
    # The rules by which all that is stored was counted; "" while something is not counted yet.
    counted_by = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"{self.cluster} by {self.holder or 'nobody'}, epoch {self.epoch}"


class Revision(models.Model):
    """How often what is known of one kind in one cluster has changed; what a page's ETag is of.

    `kind` is a plural such as "pods", or that of rows made from several kinds: "cards", "uses".
    `listed_at` is the last full list: before the first one, nothing may be called absent.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="revisions")
    kind = models.CharField(max_length=60)
    value = models.BigIntegerField(default=0)
    changed_at = models.DateTimeField(null=True, blank=True)
    listed_at = models.DateTimeField(null=True, blank=True)
    problem = models.TextField(blank=True)
    # Objects that could not be read: name, and why.
    malformed = models.JSONField(default=list, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "kind"], name="revision_once_per_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.cluster} at {self.value}"


class Mirrored(models.Model):
    """An object of a cluster as it was last seen, in the API's own shape.

    Slices, classes, claims, templates, rules whole; nodes and pods without what placement never
    looks at; a pod that waits whole. `revision` is the kind's when the row last changed, so that a
    reader who was at n takes the rows above n and the `Gone` above n.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="mirrored")
    kind = models.CharField(max_length=60)
    uid = models.TextField()
    namespace = models.TextField(blank=True)
    name = models.TextField()
    resource_version = models.TextField()
    revision = models.BigIntegerField()
    body = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "kind", "uid"], name="mirrored_once"),
        ]
        indexes = [
            models.Index(fields=["cluster", "kind", "namespace", "name"], name="mirrored_name"),
            models.Index(fields=["cluster", "kind", "revision"], name="mirrored_revision"),
            # A device's page looks for the slices of its pool.
            models.Index(
                KT("body__spec__pool__name"),
                name="mirrored_slice_pool",
                condition=models.Q(kind="resourceslices"),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class Gone(models.Model):
    """An object that went away at `revision`; kept for an hour, for readers that follow."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=60)
    uid = models.TextField()
    namespace = models.TextField(blank=True)
    name = models.TextField()
    revision = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["cluster", "kind", "revision"], name="gone_revision"),
            models.Index(fields=["at"], name="gone_at"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}, gone"


class Node(models.Model):
    """A node and its cards, counted by domain.inventory.

    The five states add up to `physical`; all are null where nothing tells how many cards there
    are (`at_least` is a lower bound then). `digest` is of this row and its devices' rows.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="nodes")
    uid = models.TextField(blank=True)
    name = models.TextField()
    is_ready = models.BooleanField(default=False)
    is_schedulable = models.BooleanField(default=True)
    path = models.CharField(max_length=20)
    has_cards = models.BooleanField(default=False)
    physical = models.IntegerField(null=True, blank=True)
    unknown = models.IntegerField(null=True, blank=True)
    unhealthy = models.IntegerField(null=True, blank=True)
    in_dra = models.IntegerField(null=True, blank=True)
    in_plugin = models.IntegerField(null=True, blank=True)
    free = models.IntegerField(null=True, blank=True)
    at_least = models.IntegerField(default=0)
    tenants = models.IntegerField(default=0)
    product = models.TextField(blank=True)
    driver = models.TextField(blank=True)
    driver_version = models.TextField(blank=True)
    mig = models.TextField(blank=True)
    node_pool = models.TextField(blank=True)
    zone = models.TextField(blank=True)
    # What else the node tells: CDI, clique, instance type, plugin's configuration.
    facts = models.JSONField(default=dict, blank=True)
    units = models.JSONField(default=list, blank=True)
    faults = models.JSONField(default=list, blank=True)
    fault_count = models.IntegerField(default=0)
    digest = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "name"], name="node_once_per_cluster"),
        ]
        indexes = [
            models.Index(fields=["name", "id"], name="node_name_order"),
            models.Index(fields=["free", "id"], name="node_free_order"),
            models.Index(fields=["physical", "id"], name="node_physical_order"),
            models.Index(fields=["product", "id"], name="node_product_order"),
            models.Index(fields=["path", "id"], name="node_path_order"),
            models.Index(fields=["fault_count", "id"], name="node_fault_order"),
            models.Index(fields=["cluster", "id"], name="node_by_cluster"),
            # What the list searches, as `icontains` asks for it.
            GinIndex(OpClass(Upper("name"), "gin_trgm_ops"), name="node_find_name"),
        ]

    def __str__(self) -> str:
        return self.name


class Device(models.Model):
    """What a node's cards are handed out as: published devices, or cards behind a device plugin.

    `card` puts the partitions of one card together; `is_card` marks the one row that stands for
    it. `node_name` is "" for devices that no single node owns.
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="devices")
    node_name = models.TextField(blank=True)
    driver = models.TextField(blank=True)
    pool = models.TextField(blank=True)
    name = models.TextField()
    card = models.TextField()
    is_card = models.BooleanField(default=True)
    card_state = models.CharField(max_length=20)
    type = models.TextField(blank=True)
    path = models.CharField(max_length=20)
    mode = models.CharField(max_length=20)
    state = models.CharField(max_length=20)
    uuid = models.TextField(blank=True)
    profile = models.TextField(blank=True)
    product = models.TextField(blank=True)
    memory_mib = models.IntegerField(null=True, blank=True)
    pci_bus_id = models.TextField(blank=True)
    numa_node = models.IntegerField(null=True, blank=True)
    driver_version = models.TextField(blank=True)
    reason = models.TextField(blank=True)
    taints = models.JSONField(default=list, blank=True)
    holder = models.TextField(blank=True)  # the first one, as namespace/name
    device_class = models.TextField(blank=True)
    holders = models.JSONField(default=list, blank=True)
    is_exact = models.BooleanField(default=True)
    is_blocked = models.BooleanField(default=False)
    is_vanished = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "node_name", "driver", "pool", "name"], name="device_once"
            ),
        ]
        indexes = [
            models.Index(fields=["node_name", "id"], name="device_node_order"),
            models.Index(fields=["state", "id"], name="device_state_order"),
            models.Index(fields=["product", "id"], name="device_product_order"),
            models.Index(fields=["uuid", "id"], name="device_uuid_order"),
            models.Index(fields=["holder", "id"], name="device_holder_order"),
            models.Index(fields=["cluster", "state", "id"], name="device_by_cluster_state"),
            GinIndex(OpClass(Upper("node_name"), "gin_trgm_ops"), name="device_find_node"),
            GinIndex(OpClass(Upper("uuid"), "gin_trgm_ops"), name="device_find_uuid"),
            GinIndex(OpClass(Upper("holder"), "gin_trgm_ops"), name="device_find_holder"),
        ]

    def __str__(self) -> str:
        return f"{self.name} on {self.node_name}" if self.node_name else self.name


class Pod(models.Model):
    """A pod that uses devices, or waits for some, or serves a model for a tenant of ours."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="pods")
    uid = models.TextField()
    namespace = models.TextField()
    name = models.TextField()
    resource_version = models.TextField(blank=True)
    node_name = models.TextField(blank=True)
    phase = models.TextField()
    is_ready = models.BooleanField(default=False)
    requests = models.JSONField(default=dict, blank=True)
    claims = models.JSONField(default=list, blank=True)
    tenant = models.TextField(blank=True)
    deployment = models.TextField(blank=True)
    model_pool = models.TextField(blank=True)
    # Why it waits, in the scheduler's words.
    waiting = models.TextField(blank=True)
    labels = models.JSONField(default=dict, blank=True)
    # Container states worth a look: waiting, restarts, last end.
    containers = models.JSONField(default=list, blank=True)
    ip = models.TextField(blank=True)
    created_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "uid"], name="pod_once"),
        ]
        indexes = [
            models.Index(fields=["cluster", "namespace", "name"], name="pod_name"),
            models.Index(fields=["cluster", "node_name"], name="pod_node"),
            models.Index(fields=["cluster", "tenant", "deployment"], name="pod_deployment"),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Event(models.Model):
    """What the cluster said of a pod, claim or workload that uses devices. Kept for a day."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    uid = models.TextField()
    namespace = models.TextField(blank=True)
    about_kind = models.TextField()
    about_uid = models.TextField(blank=True)
    about_name = models.TextField()
    type = models.TextField(blank=True)
    reason = models.TextField(blank=True)
    message = models.TextField(blank=True)
    source = models.TextField(blank=True)
    count = models.IntegerField(default=1)
    first_at = models.DateTimeField(null=True, blank=True)
    last_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "uid"], name="event_once"),
        ]
        indexes = [
            models.Index(fields=["cluster", "about_uid", "-last_at"], name="event_about"),
            models.Index(fields=["last_at"], name="event_age"),
        ]

    def __str__(self) -> str:
        return f"{self.reason} of {self.about_kind} {self.about_name}"
