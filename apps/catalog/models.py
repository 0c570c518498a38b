"""Device classes and claim patterns, each a line of versions that one person writes and another
approves."""

from typing import Any, ClassVar

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Q

from apps.common.models import Leased, TimeStamped
from apps.inventory.models import Cluster
from apps.tenancy.models import Tenant, dns_label

dns_subdomain = RegexValidator(
    r"\A[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*\Z",
    "Use lower-case letters, digits, hyphens and dots, such as h100.gpu.example.org.",
)


class VersionState(models.TextChoices):
    DRAFT = "draft", "Draft"
    IN_REVIEW = "in-review", "In review"
    APPROVED = "approved", "Approved"
    WITHDRAWN = "withdrawn", "Withdrawn"


OPEN_STATES = (VersionState.DRAFT, VersionState.IN_REVIEW)


class DeviceClass(TimeStamped):
    """A DeviceClass as this portal offers it, under one name in every cluster it is placed in."""

    name = models.CharField(max_length=200, unique=True, validators=[dns_subdomain])
    description = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["name"]
        verbose_name_plural = "device classes"

    def __str__(self) -> str:
        return self.name


class ClaimPattern(TimeStamped):
    """A parameterised request for devices. `tenants` may use it; none named means all may."""

    slug = models.CharField(max_length=50, unique=True, validators=[dns_label])
    name = models.CharField(max_length=100)
    description = models.CharField(max_length=300, blank=True)
    tenants = models.ManyToManyField(Tenant, blank=True, related_name="patterns")

    class Meta:
        ordering = ["name", "slug"]

    def __str__(self) -> str:
        return self.slug


class Version(TimeStamped):
    """One version of some content. Content changes only while it is a draft."""

    number = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=VersionState, default=VersionState.DRAFT)
    content = models.JSONField()
    content_hash = models.CharField(max_length=64)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    note = models.CharField(max_length=400, blank=True)
    approved_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES


class ClassVersion(Version):
    device_class = models.ForeignKey(DeviceClass, models.PROTECT, related_name="versions")

    class Meta:
        ordering = ["device_class", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["device_class", "number"], name="class_version_number"),
            models.UniqueConstraint(
                fields=["device_class"],
                condition=Q(state__in=OPEN_STATES),
                name="class_has_one_open_version",
            ),
            models.UniqueConstraint(
                fields=["device_class"],
                condition=Q(state=VersionState.APPROVED),
                name="class_has_one_approved_version",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.device_class} v{self.number}"


class PatternVersion(Version):
    """An approved version stays approved beside newer ones: pools are pinned to theirs."""

    pattern = models.ForeignKey(ClaimPattern, models.PROTECT, related_name="versions")

    class Meta:
        ordering = ["pattern", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["pattern", "number"], name="pattern_version_number"),
            models.UniqueConstraint(
                fields=["pattern"],
                condition=Q(state__in=OPEN_STATES),
                name="pattern_has_one_open_version",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pattern} v{self.number}"


class Approval(TimeStamped):
    """A question to an approver about one version, bound to the hash of what they were shown."""

    class State(models.TextChoices):
        PENDING = "pending", "Pending"
        APPROVED = "approved", "Approved"
        DENIED = "denied", "Denied"
        CANCELED = "canceled", "Canceled"
        EXPIRED = "expired", "Expired"

    LIFETIME_DAYS: ClassVar = 14

    class_version = models.ForeignKey(
        ClassVersion, models.PROTECT, null=True, blank=True, related_name="approvals"
    )
    pattern_version = models.ForeignKey(
        PatternVersion, models.PROTECT, null=True, blank=True, related_name="approvals"
    )
    content_hash = models.CharField(max_length=64)
    state = models.CharField(max_length=10, choices=State, default=State.PENDING)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    expires_at = models.DateTimeField()
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    text = models.TextField(max_length=2000, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(class_version=None) ^ Q(pattern_version=None),
                name="approval_of_one_version",
            ),
            models.CheckConstraint(
                condition=~Q(state="denied") | ~Q(text=""), name="denial_has_a_text"
            ),
            models.CheckConstraint(
                condition=~Q(state="approved") | ~Q(decided_by=F("requested_by")),
                name="approver_is_not_the_author",
            ),
            models.UniqueConstraint(
                fields=["class_version"],
                condition=Q(state="pending"),
                name="one_pending_approval_per_class_version",
            ),
            models.UniqueConstraint(
                fields=["pattern_version"],
                condition=Q(state="pending"),
                name="one_pending_approval_per_pattern_version",
            ),
        ]
        indexes = [models.Index(fields=["state", "-created_at"], name="approval_inbox")]

    def __str__(self) -> str:
        return f"approval of {self.version}"

    @property
    def version(self) -> ClassVersion | PatternVersion:
        found = self.class_version or self.pattern_version
        assert found is not None  # a constraint of the table
        return found


class Applied(TimeStamped, Leased):
    """Something that the portal keeps so in a cluster.

    Services raise `generation`; the reconciler writes what follows it. `proposal` is the patch to
    take away where the portal may not write; `drift` lists fields that someone else has changed.
    """

    generation = models.PositiveIntegerField(default=1)
    observed_generation = models.PositiveIntegerField(default=0, editable=False)
    # The generation that may take fields back from whoever else has written them.
    forced_generation = models.PositiveIntegerField(default=0, editable=False)
    conditions = models.JSONField(default=list, blank=True, editable=False)
    proposal = models.TextField(blank=True, editable=False)
    drift = models.JSONField(default=list, blank=True, editable=False)
    checked_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True

    @property
    def is_settled(self) -> bool:
        return self.observed_generation == self.generation

    @property
    def is_forced(self) -> bool:
        return self.forced_generation == self.generation

    def condition(self, kind: str) -> dict[str, Any] | None:
        return next((one for one in self.conditions if one["type"] == kind), None)


class ClassInCluster(Applied):
    """A class in one cluster: its approved version is there, or nothing of it when withdrawn.

    A class of that name which the portal did not make is left alone unless it was `adopted`.
    """

    device_class = models.ForeignKey(DeviceClass, models.PROTECT, related_name="placements")
    cluster = models.ForeignKey(Cluster, models.PROTECT, related_name="classes")
    adopted = models.BooleanField(default=False)
    applied_version = models.ForeignKey(
        ClassVersion, models.PROTECT, null=True, blank=True, related_name="+", editable=False
    )

    class Meta:
        ordering = ["device_class", "cluster"]
        constraints = [
            models.UniqueConstraint(
                fields=["device_class", "cluster"], name="class_once_per_cluster"
            ),
            models.CheckConstraint(
                condition=Q(observed_generation__lte=F("generation")),
                name="class_observed_not_ahead",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.device_class} in {self.cluster}"
