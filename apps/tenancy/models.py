from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Lower

from apps.common.models import TimeStamped

dns_label = RegexValidator(
    r"\A[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z",
    "Use lower-case letters, digits and hyphens, starting and ending with a letter or digit; "
    "63 characters at most.",
)


class PlatformRole(models.TextChoices):
    """What someone may do across tenants. Each role stands alone: an admin does not approve."""

    ADMIN = "admin", "Platform admin"
    APPROVER = "approver", "Approver"
    AUDITOR = "auditor", "Auditor"


class User(AbstractUser):
    platform_roles = ArrayField(
        models.CharField(max_length=10, choices=PlatformRole), default=list, blank=True
    )
    first_name = None  # type: ignore[assignment]
    last_name = None  # type: ignore[assignment]
    full_name = models.CharField(max_length=150, blank=True)

    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("username"), name="user_name_any_case"),
        ]

    def get_full_name(self) -> str:
        return self.full_name or self.username

    def has_platform_role(self, *roles: PlatformRole) -> bool:
        """True when the person holds any of `roles`."""
        return self.is_active and any(role in self.platform_roles for role in roles)

    @property
    def is_platform(self) -> bool:
        return self.is_active and bool(self.platform_roles)


class Role(models.IntegerChoices):
    VIEWER = 10
    EDITOR = 20
    OWNER = 30


class Tenant(TimeStamped):
    """A team that serves models: its members, its quota, one namespace in each cluster it has."""

    slug = models.CharField(max_length=50, unique=True, validators=[dns_label])
    name = models.CharField(max_length=100)
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug


class Member(TimeStamped):
    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.PositiveSmallIntegerField(choices=Role, default=Role.VIEWER)
    # Given by a group of the login provider, and taken back when the group is gone.
    from_login = models.BooleanField(default=False, editable=False)

    class Meta:
        ordering = ["tenant", "user"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user"], name="member_once_per_tenant"),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.tenant}"
