"""Rows that belong to no room: time stamps, leases, and asks."""

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone


class TimeStamped(models.Model):
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True


class Leased(models.Model):
    """A row that one worker at a time acts on; see apps.common.leases."""

    lease_token = models.UUIDField(null=True, blank=True, editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True


class Ask(Leased):
    """A question that cannot be answered from rows, and its answer.

    Whoever may see the answer is `asked_by`; the URL carries the random `key`. An ask that nobody
    answered by `expires_at` fails then; answered ones are deleted an hour later.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        ANSWERED = "answered"
        FAILED = "failed"

    LIFETIME_SECONDS: ClassVar = 60
    KEPT_SECONDS: ClassVar = 3600

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    kind = models.CharField(max_length=60)
    cluster_id = models.BigIntegerField(null=True, blank=True)
    tenant_id = models.BigIntegerField(null=True, blank=True)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+"
    )
    question = models.JSONField(default=dict)
    answer = models.JSONField(null=True, blank=True)
    problem = models.TextField(blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    created_at = models.DateTimeField(default=timezone.now)
    answered_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField()

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["state", "kind", "created_at"], name="ask_waiting"),
            models.Index(fields=["expires_at"], name="ask_expiry"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"

    @property
    def is_settled(self) -> bool:
        return self.state != self.State.WAITING
