from django.db import models

from apps.inventory.models import Cluster


class Source(models.Model):
    """One model server whose /metrics page is read: a pod, for as long as it lives.

    Tenant, deployment and pool are copied from its labels: figures outlive the rows they were
    about.
    """

    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    uid = models.CharField(max_length=64)
    namespace = models.CharField(max_length=63)
    pod = models.CharField(max_length=253)
    tenant = models.CharField(max_length=63, blank=True)
    deployment = models.CharField(max_length=63, blank=True)
    pool = models.CharField(max_length=63, blank=True)
    first_at = models.DateTimeField(auto_now_add=True)
    read_at = models.DateTimeField(null=True, blank=True)
    problem = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "uid"], name="telemetry_source_once"),
        ]
        indexes = [
            models.Index(fields=["tenant", "deployment", "read_at"], name="telemetry_deployment"),
            models.Index(fields=["read_at"], name="telemetry_read"),
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.pod}"


class Chunk(models.Model):
    """Ten minutes of one source's readings in one packed value, see apps.telemetry.packing."""

    source = models.ForeignKey(Source, models.CASCADE, related_name="chunks")
    start = models.DateTimeField()
    packed = models.BinaryField()
    rolled_up = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["source", "start"], name="telemetry_chunk_once"),
        ]
        indexes = [models.Index(fields=["start", "rolled_up"], name="telemetry_chunk_age")]

    def __str__(self) -> str:
        return f"{self.source_id} from {self.start:%H:%M}"
