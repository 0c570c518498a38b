from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.tenancy.models import PlatformRole, Tenant


class Token(models.Model):
    """A key to the REST API, of one person, for one tenant or for some of their platform roles.

    Only the SHA-256 of the secret is kept: it has 240 random bits, so a slow hash would add
    nothing. The secret is shown once, when it is made; `hint` is its beginning.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    hint = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    can_write = models.BooleanField(default=False)
    tenant = models.ForeignKey(Tenant, models.CASCADE, null=True, blank=True, related_name="+")
    platform_roles = ArrayField(
        models.CharField(max_length=10, choices=PlatformRole), default=list, blank=True
    )
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(tenant=None) | Q(platform_roles=[]),
                name="token_of_tenant_or_platform",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def state(self) -> str:
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at <= timezone.now() else "active"


class Replay(models.Model):
    """The answer to a POST with an Idempotency-Key, given again when the same request comes again.

    While the first is still being answered `status` is 0. Rows go after a day.
    """

    KEPT_SECONDS = 86_400

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    headers = models.JSONField(default=dict)
    body = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "key"], name="replay_once_per_key"),
        ]

    def __str__(self) -> str:
        return self.key
