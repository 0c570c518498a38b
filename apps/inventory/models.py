from django.core.validators import MinLengthValidator
from django.db import models

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
    server = models.URLField(max_length=300)
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
