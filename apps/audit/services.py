from typing import Any

from django.db import models, transaction

from apps.audit.models import Entry
from apps.common.requests import current_request_id


def record(
    *,
    actor: Any,
    verb: str,
    subject: models.Model,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    message: str = "",
    tenant_id: int | None = None,
) -> Entry:
    """Add an entry, inside the caller's transaction, so the two commit or fail together.

    `actor` is a user, or None for the portal itself. `before` and `after` hold the fields that
    changed, never a secret. The tenant is taken from the subject when it has or is one.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("audit.record needs the transaction of the change it records")
    if tenant_id is None:
        is_tenant = subject._meta.label_lower == "tenancy.tenant"
        tenant_id = subject.pk if is_tenant else getattr(subject, "tenant_id", None)
    return Entry.objects.create(
        actor_id=actor.pk if actor else None,
        actor_name=actor.get_username() if actor else "claimyard",
        verb=verb,
        subject_kind=subject._meta.label_lower,
        subject_id=subject.pk,
        subject_name=str(subject)[:253],
        tenant_id=tenant_id,
        before=before,
        after=after,
        message=message[:400],
        request_id=current_request_id(),
    )
