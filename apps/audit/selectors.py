from typing import Any

from django.db.models import Q, QuerySet

from apps.audit.models import Entry


def entries_for(user: Any) -> QuerySet[Entry]:
    """What `user` may read: everything for platform roles, else their tenants and themselves."""
    if user.is_platform:
        return Entry.objects.all()
    only = getattr(user, "only_tenant_id", None)  # of an API token, see apps.tenancy.selectors
    if only is not None:
        return Entry.objects.filter(tenant_id=only)
    tenants = user.memberships.values("tenant_id")
    return Entry.objects.filter(Q(tenant_id__in=tenants) | Q(actor_id=user.pk))


def newest_id() -> int:
    """Grows with every entry, so it is the revision of the whole trail."""
    return Entry.objects.order_by("-id").values_list("id", flat=True).first() or 0


def around(entry: Entry, visible: QuerySet[Entry]) -> tuple[Entry | None, Entry | None]:
    """The changes of the same object just before and just after this one."""
    same = visible.filter(subject_kind=entry.subject_kind, subject_id=entry.subject_id)
    before = same.filter(id__lt=entry.id).order_by("-id").first()
    after = same.filter(id__gt=entry.id).order_by("id").first()
    return before, after
