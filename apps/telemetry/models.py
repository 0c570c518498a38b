"""Where figures come from, and the day of readings that the portal keeps itself."""

from django.db import models

from apps.common.models import TimeStamped
from apps.inventory.models import Cluster


class MetricsSource(TimeStamped):
    """How a cluster's metrics are read. Without a row: from the pods, through the API server.

    A Prometheus is named by its URL, or by its Service in the cluster, which the API server's
    service proxy reaches. `token` is sealed, see apps.common.secrets; nothing shows it again.
    """

    class Kind(models.TextChoices):
        PODS = "pods", "The model servers' own pages, kept for a day"
        PROMETHEUS = "prometheus", "Prometheus, by its URL"
        SERVICE = "service", "Prometheus, through the API server's service proxy"
        OFF = "off", "Not at all"

    cluster = models.OneToOneField(Cluster, models.CASCADE, related_name="metrics_source")
    kind = models.CharField(max_length=12, choices=Kind, default=Kind.PODS)
    url = models.URLField(max_length=300, blank=True)
    service_namespace = models.CharField(max_length=63, blank=True)
    service_name = models.CharField(max_length=63, blank=True)
    service_port = models.CharField(max_length=15, blank=True)
    service_tls = models.BooleanField(default=False)
    service_path = models.CharField(max_length=200, blank=True)
    token = models.BinaryField(editable=False, default=b"", blank=True)
    ca = models.TextField(blank=True)
    tenant_header = models.CharField(max_length=60, blank=True)
    tenant_value = models.CharField(max_length=200, blank=True)
    # What the last test found: version, or the problem in words.
    checked_at = models.DateTimeField(null=True, blank=True)
    version = models.CharField(max_length=60, blank=True)
    problem = models.CharField(max_length=500, blank=True)

    def __str__(self) -> str:
        return f"{self.cluster}: {self.get_kind_display()}"

    @property
    def is_prometheus(self) -> bool:
        return self.kind in {self.Kind.PROMETHEUS, self.Kind.SERVICE}


class Track(models.Model):
    """What readings are kept of: a model server (for as long as its pod lives), a model pool, a
    class, a cluster.

    Tenant, deployment and pool are copied from the pod's labels: figures outlive the rows they
    were about. `tried_at` is when a server was last due, `read_at` when it last answered.
    """

    class Kind(models.TextChoices):
        SERVER = "server"
        POOL = "pool"
        CLASS = "class"
        CLUSTER = "cluster"

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.SERVER)
    key = models.CharField(max_length=260)  # the pod's uid, tenant/deployment/pool, the class
    namespace = models.CharField(max_length=63, blank=True)
    pod = models.CharField(max_length=253, blank=True)
    node_name = models.CharField(max_length=253, blank=True)
    tenant = models.CharField(max_length=63, blank=True)
    deployment = models.CharField(max_length=63, blank=True)
    pool = models.CharField(max_length=63, blank=True)
    model = models.CharField(max_length=300, blank=True)
    first_at = models.DateTimeField()
    tried_at = models.DateTimeField(null=True, blank=True)
    read_at = models.DateTimeField(null=True, blank=True)
    problem = models.CharField(max_length=300, blank=True)
    refused = models.BooleanField(default=False)  # the problem is a missing right
    aliases = models.JSONField(default=dict, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "kind", "key"], name="telemetry_track_once"),
        ]
        indexes = [
            models.Index(fields=["tenant", "deployment", "tried_at"], name="telemetry_deployment"),
            models.Index(fields=["tried_at"], name="telemetry_tried"),
        ]

    def __str__(self) -> str:
        return self.pod or self.key


class Raw(models.Model):
    """One reading of one server, packed; in hourly partitions, kept for a few hours."""

    pk = models.CompositePrimaryKey("track_id", "at")
    track = models.ForeignKey(Track, models.DO_NOTHING, related_name="+", db_constraint=False)
    at = models.DateTimeField()
    packed = models.BinaryField()

    def __str__(self) -> str:
        return f"{self.track_id} at {self.at:%H:%M:%S}"


class Block(models.Model):
    """An hour of one track, a row a minute, as columns of 32-bit floats; kept for a day.

    `family` is "" for gauges and counters, else a histogram's name, whose columns are its bounds.
    Counters and buckets are the minute's increments. See apps.telemetry.columns.
    """

    pk = models.CompositePrimaryKey("track_id", "family", "start")
    track = models.ForeignKey(Track, models.DO_NOTHING, related_name="+", db_constraint=False)
    family = models.CharField(max_length=40)
    start = models.DateTimeField()
    columns = models.TextField()
    packed = models.BinaryField()

    def __str__(self) -> str:
        return f"{self.family or 'numbers'} of {self.track_id} from {self.start:%H:%M}"


class Progress(models.Model):
    """Until when a cluster's readings are rolled up to minutes."""

    cluster = models.OneToOneField(Cluster, models.CASCADE, related_name="+")
    until = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.cluster} until {self.until:%H:%M}"


class Part(models.Model):
    """Which part of a card a device, a share of one, or a unit of a plugin's resource is.

    Only what is not whole has a row. A plugin's resource stands under its node: `pool` is the node,
    `device` the resource, `driver` "".
    """

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="+")
    driver = models.TextField(blank=True)
    pool = models.TextField()
    device = models.TextField()
    share_id = models.TextField(blank=True)
    part = models.FloatField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "driver", "pool", "device", "share_id"],
                name="telemetry_part_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.device}: {self.part:.3f}"


class UsageDay(models.Model):
    """A day (UTC) of device time of one tenant, deployment and class in a cluster, that is over.

    `seconds` counts devices, `charged` their parts of a card; `uses` is how many there were.
    """

    day = models.DateField()
    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    tenant = models.TextField(blank=True)
    deployment = models.TextField(blank=True)
    device_class = models.TextField(blank=True)
    seconds = models.FloatField()
    charged = models.FloatField()
    uses = models.IntegerField()

    class Meta:
        indexes = [models.Index(fields=["day", "tenant"], name="telemetry_usage_day")]

    def __str__(self) -> str:
        return f"{self.tenant or 'no tenant'} on {self.day}"


class UsageState(models.Model):
    """How far days are summed up: all before `until`, of uses up to `last_use`. One row."""

    until = models.DateField()
    last_use = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(pk=1), name="telemetry_usage_is_one_row"),
        ]

    def __str__(self) -> str:
        return f"summed up before {self.until}"
