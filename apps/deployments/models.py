"""Models that tenants serve. Services write what is wanted, the reconciler what was seen."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q

from apps.catalog.models import Applied, PatternVersion
from apps.common.models import TimeStamped
from apps.inventory.models import Cluster
from apps.tenancy.models import Tenant

# A Service's name (RFC 1035 label), with room for the pool's name behind it.
deployment_name = RegexValidator(
    r"\A[a-z]([a-z0-9-]{0,38}[a-z0-9])?\Z",
    "Start with a letter; then lower-case letters, digits and hyphens; 40 characters at most.",
)
pool_name = RegexValidator(
    r"\A[a-z]([a-z0-9-]{0,8}[a-z0-9])?\Z",
    "Start with a letter; then lower-case letters, digits and hyphens; 10 characters at most.",
)

label = RegexValidator(
    r"\A[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z",
    "Lower-case letters, digits and hyphens; 63 characters at most.",
)
subdomain = RegexValidator(
    r"\A[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*\Z",
    "Lower-case letters, digits, hyphens and dots, such as models.example.com.",
)


class Runtime(models.TextChoices):
    VLLM = "vllm", "vLLM"
    OWN = "own", "Own image"


class AllocationPath(models.TextChoices):
    DRA = "dra", "Claims (DRA)"
    DEVICE_PLUGIN = "device-plugin", "Device plugin"


class FailureMode(models.TextChoices):
    CLOSE = "FailClose", "Refuse requests (FailClose)"
    OPEN = "FailOpen", "Let the gateway choose (FailOpen)"


class ClusterGateway(TimeStamped):
    """Where the deployments of a cluster are reached from outside, as the platform team set it up.

    Each gets the host name DEPLOYMENT.TENANT.`domain` on this Gateway. `counter` is PromQL that
    counts the requests that the gateway gave to one pool in a window: it may use $namespace,
    $inference_pool and $window.
    """

    cluster = models.OneToOneField(Cluster, models.PROTECT, related_name="gateway")
    is_on = models.BooleanField(default=True)
    namespace = models.CharField(max_length=63, validators=[label])
    name = models.CharField(max_length=253, validators=[subdomain])
    section = models.CharField(max_length=253, blank=True, validators=[subdomain])
    domain = models.CharField(max_length=130, validators=[subdomain])
    picker_image = models.CharField(max_length=300)
    failure_mode = models.CharField(max_length=10, choices=FailureMode, default=FailureMode.CLOSE)
    counter = models.CharField(max_length=1000, blank=True)
    # What the cluster's Gateway says of itself, as last seen.
    seen = models.JSONField(default=dict, blank=True, editable=False)

    def __str__(self) -> str:
        return f"{self.cluster}: {self.namespace}/{self.name}"


class Deployment(Applied):
    """A model that a tenant serves under one address in one cluster.

    `content_generation` is the last one that changed more than weights: a change of weights alone
    touches only what shares the requests. `handed_over` names an HTTPRoute of the tenant whose
    rule we keep in step; `routing` is what was last seen of route, pools and gateway.
    `own` holds port, command and paths of an image without a preset. A retired one stays as a row:
    its objects are gone from the cluster, its name is free again.
    """

    tenant = models.ForeignKey(Tenant, models.PROTECT, related_name="deployments")
    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="deployments")
    name = models.CharField(max_length=40, validators=[deployment_name])
    namespace = models.CharField(max_length=63)
    runtime = models.CharField(max_length=10, choices=Runtime, default=Runtime.VLLM)
    image = models.CharField(max_length=300)
    model = models.CharField(max_length=300, blank=True)
    args = ArrayField(models.CharField(max_length=4000), default=list, blank=True)
    env = models.JSONField(default=list, blank=True)
    cpu = models.CharField(max_length=24, blank=True)
    memory = models.CharField(max_length=24, blank=True)
    startup_minutes = models.PositiveSmallIntegerField(default=30)
    own = models.JSONField(default=dict, blank=True)
    handed_over = models.JSONField(default=dict, blank=True)
    content_generation = models.PositiveIntegerField(default=1, editable=False)
    routing = models.JSONField(default=dict, blank=True, editable=False)
    restarted_at = models.DateTimeField(null=True, blank=True)
    retiring_at = models.DateTimeField(null=True, blank=True)
    retired_at = models.DateTimeField(null=True, blank=True)
    # The latest events of its pods as the cluster tells them, newest first, 30 at most.
    events = models.JSONField(default=list, blank=True, editable=False)
    seen_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "name"],
                condition=Q(retired_at=None),
                name="deployment_name_per_tenant",
            ),
            models.CheckConstraint(
                condition=Q(observed_generation__lte=F("generation")),
                name="deployment_observed_not_ahead",
            ),
        ]
        indexes = [
            models.Index(fields=["cluster", "namespace"], name="deployment_namespace"),
            models.Index(
                fields=["id"],
                condition=~Q(observed_generation=F("generation")),
                name="deployment_unsettled",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_retiring(self) -> bool:
        return self.retiring_at is not None


class ModelPool(TimeStamped):
    """Identical model servers of a deployment on one allocation path.

    `weight` is the percentage of the deployment's requests that it is meant to get. A retiring
    one is being taken out of the cluster; its row goes, and its quota is free, once nothing of it
    is left there.
    `charge` is what one replica takes from the quota, by class, as its pattern version had it.
    `pods` and `claims` are summaries of what was last seen in the cluster.
    """

    deployment = models.ForeignKey(Deployment, models.CASCADE, related_name="pools")
    name = models.CharField(max_length=10, validators=[pool_name], default="main")
    path = models.CharField(max_length=15, choices=AllocationPath, default=AllocationPath.DRA)
    pattern_version = models.ForeignKey(PatternVersion, models.PROTECT, related_name="pools")
    params = models.JSONField(default=dict, blank=True)
    charge = models.JSONField(default=dict)
    replicas = models.PositiveIntegerField(default=1)
    weight = models.PositiveSmallIntegerField(default=100)
    retiring_at = models.DateTimeField(null=True, blank=True)

    generation = models.PositiveIntegerField(default=1)
    observed_generation = models.PositiveIntegerField(default=0, editable=False)
    conditions = models.JSONField(default=list, blank=True, editable=False)
    surge = models.BooleanField(default=False, editable=False)
    pods = models.JSONField(default=list, blank=True, editable=False)
    claims = models.JSONField(default=list, blank=True, editable=False)

    class Meta:
        ordering = ["deployment", "name"]
        constraints = [
            models.UniqueConstraint(fields=["deployment", "name"], name="pool_name_per_deployment"),
            models.CheckConstraint(
                condition=Q(observed_generation__lte=F("generation")),
                name="pool_observed_not_ahead",
            ),
            models.CheckConstraint(condition=Q(weight__lte=100), name="pool_weight_percentage"),
        ]

    def __str__(self) -> str:
        return f"{self.deployment}/{self.name}"

    def condition(self, kind: str) -> dict[str, Any] | None:
        return next((one for one in self.conditions if one["type"] == kind), None)
