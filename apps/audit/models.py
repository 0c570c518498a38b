from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models.functions import Upper


class Entry(models.Model):
    """One line of the audit trail, written once, in the transaction of the change it records.

    It has no foreign keys: it must outlive the people and things it speaks of. The app's database
    role may insert and read these rows only, and a trigger refuses changes by anyone else.
    """

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor_id = models.BigIntegerField(null=True, blank=True)
    actor_name = models.CharField(max_length=150)
    verb = models.CharField(max_length=40)
    subject_kind = models.CharField(max_length=60)
    subject_id = models.BigIntegerField()
    subject_name = models.CharField(max_length=253)
    tenant_id = models.BigIntegerField(null=True, blank=True)
    before = models.JSONField(null=True, blank=True)
    after = models.JSONField(null=True, blank=True)
    message = models.CharField(max_length=400, blank=True)
    request_id = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "entries"
        indexes = [
            models.Index(fields=["subject_kind", "subject_id", "-id"], name="audit_subject"),
            models.Index(fields=["tenant_id", "-id"], name="audit_tenant"),
            models.Index(fields=["actor_id", "-id"], name="audit_actor"),
            models.Index(fields=["request_id"], name="audit_request"),
            models.Index(fields=["actor_name", "-id"], name="audit_actor_name"),
            models.Index(fields=["verb", "-id"], name="audit_verb"),
            # What the list page searches, as `icontains` asks for it.
            GinIndex(OpClass(Upper("subject_name"), "gin_trgm_ops"), name="audit_find_subject"),
            GinIndex(OpClass(Upper("actor_name"), "gin_trgm_ops"), name="audit_find_actor"),
            GinIndex(OpClass(Upper("message"), "gin_trgm_ops"), name="audit_find_message"),
        ]

    def __str__(self) -> str:
        return f"{self.actor_name} {self.verb} {self.subject_kind} {self.subject_name}"
