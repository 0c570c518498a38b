"""Writing the catalog: versions are proposed by one person and approved by another."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.audit import services as audit
from apps.catalog import selectors, tasks
from apps.catalog.models import (
    Approval,
    ClaimPattern,
    ClassInCluster,
    ClassVersion,
    DeviceClass,
    PatternVersion,
    VersionState,
)
from apps.inventory.models import Cluster
from apps.tenancy.models import Tenant, User
from domain import canonical, deviceclasses, patterns
from domain.errors import DomainError, IllegalTransition, InvalidValue

AnyVersion = ClassVersion | PatternVersion


class NotTheApprover(DomainError):
    """Nobody approves their own work."""

    code = "own_work"


class StaleReview(DomainError):
    """The content is not what the reviewer was shown, or the question has ended."""

    code = "stale_review"


@transaction.atomic
def create_class(
    *,
    actor: User,
    name: str,
    content: dict[str, Any],
    description: str = "",
    note: str = "",
    clusters: Iterable[Cluster] = (),
) -> ClassVersion:
    """A new class with version 1 as a draft, placed in `clusters` once it is approved."""
    content = _class_content(content)
    device_class = DeviceClass(name=name, description=description)
    device_class.full_clean()
    device_class.save()
    audit.record(actor=actor, verb="created", subject=device_class, after={"name": name})
    for cluster in clusters:
        place_class(actor=actor, device_class=device_class, cluster=cluster)
    version = ClassVersion(device_class=device_class, number=1)
    return _save_draft(actor, version, content, note)


@transaction.atomic
def draft_class(
    *, actor: User, device_class: DeviceClass, content: dict[str, Any], note: str = ""
) -> ClassVersion:
    """Change the open draft, or begin the next version."""
    content = _class_content(content)
    DeviceClass.objects.select_for_update(no_key=True).get(pk=device_class.pk)
    newest = device_class.versions.order_by("-number").first()
    if newest is not None and newest.is_open:
        return _save_draft(actor, newest, content, note)
    number = newest.number + 1 if newest else 1
    return _save_draft(actor, ClassVersion(device_class=device_class, number=number), content, note)


@transaction.atomic
def create_pattern(
    *,
    actor: User,
    slug: str,
    name: str,
    content: dict[str, Any],
    description: str = "",
    note: str = "",
    tenants: Iterable[Tenant] = (),
) -> PatternVersion:
    """A new pattern with version 1 as a draft, usable by `tenants` (all, if none is named)."""
    content = _pattern_content(content)
    pattern = ClaimPattern(slug=slug, name=name, description=description)
    pattern.full_clean()
    pattern.save()
    pattern.tenants.set(tenants)
    audit.record(actor=actor, verb="created", subject=pattern, after={"name": name})
    return _save_draft(actor, PatternVersion(pattern=pattern, number=1), content, note)


@transaction.atomic
def draft_pattern(
    *, actor: User, pattern: ClaimPattern, content: dict[str, Any], note: str = ""
) -> PatternVersion:
    """Change the open draft, or begin the next version."""
    content = _pattern_content(content)
    ClaimPattern.objects.select_for_update(no_key=True).get(pk=pattern.pk)
    newest = pattern.versions.order_by("-number").first()
    if newest is not None and newest.is_open:
        return _save_draft(actor, newest, content, note)
    number = newest.number + 1 if newest else 1
    return _save_draft(actor, PatternVersion(pattern=pattern, number=number), content, note)


@transaction.atomic
def set_pattern_tenants(
    *, actor: User, pattern: ClaimPattern, tenants: Sequence[Tenant]
) -> ClaimPattern:
    before = [tenant.slug for tenant in pattern.tenants.all()]
    pattern.tenants.set(tenants)
    audit.record(
        actor=actor,
        verb="changed",
        subject=pattern,
        before={"tenants": before},
        after={"tenants": [tenant.slug for tenant in tenants]},
    )
    return pattern


def _class_content(content: dict[str, Any]) -> dict[str, Any]:
    found = deviceclasses.class_from(content)
    deviceclasses.refuse_errors(found)
    return deviceclasses.content_of(found)


def _pattern_content(content: dict[str, Any]) -> dict[str, Any]:
    pattern = patterns.pattern_from(content)
    known = set(DeviceClass.objects.filter(name__in=pattern.classes).values_list("name", flat=True))
    for index, request in enumerate(pattern.requests):
        if request.device_class not in known:
            raise InvalidValue(
                f"The catalog has no class {request.device_class!r}.",
                field=f"requests[{index}].device_class",
            )
    return patterns.content_of(pattern)


def _save_draft[V: (ClassVersion, PatternVersion)](
    actor: User, version: V, content: dict[str, Any], note: str
) -> V:
    if version.pk and version.state != VersionState.DRAFT:
        raise IllegalTransition(f"{version} is in review; take it back before changing it.")
    before = version.content if version.pk else None
    version.content = content
    version.content_hash = canonical.digest(content)
    version.note = note
    version.author = actor
    version.full_clean()
    version.save()
    audit.record(actor=actor, verb="drafted", subject=version, before=before, after=version.content)
    return version


@transaction.atomic
def submit(*, actor: User, version: AnyVersion) -> Approval:
    """Put a draft before the approvers; its content stands still from now on."""
    version = _locked(version)
    if version.state != VersionState.DRAFT:
        raise IllegalTransition(f"{version} is {version.get_state_display().lower()}, not a draft.")
    version.state = VersionState.IN_REVIEW
    version.save(update_fields=["state", "updated_at"])
    approval = Approval(
        class_version=version if isinstance(version, ClassVersion) else None,
        pattern_version=version if isinstance(version, PatternVersion) else None,
        content_hash=version.content_hash,
        requested_by=actor,
        expires_at=timezone.now() + timedelta(days=Approval.LIFETIME_DAYS),
    )
    approval.full_clean()
    approval.save()
    audit.record(actor=actor, verb="submitted", subject=version, message=version.note)
    return approval


def _locked[V: (ClassVersion | PatternVersion)](version: V) -> V:
    rows: Any = type(version).objects
    found: V = rows.select_for_update(no_key=True, of=("self",)).get(pk=version.pk)
    return found


def _pending(approval: Approval) -> Approval:
    """The approval, locked; raise StaleReview when it has ended."""
    approval = Approval.objects.select_for_update(no_key=True, of=("self",)).get(pk=approval.pk)
    if approval.state != Approval.State.PENDING:
        raise StaleReview(f"This review is {approval.get_state_display().lower()} already.")
    if approval.expires_at <= timezone.now():
        raise StaleReview("This review has expired; submit the version again.")
    return approval


@transaction.atomic
def approve(*, actor: User, approval: Approval, content_hash: str, text: str = "") -> Approval:
    """Approve exactly the content whose hash the approver was shown.

    The newest approved version of a class is the one that clusters get; the one before ends.
    """
    approval = _pending(approval)
    version = _locked(approval.version)
    if actor.pk in (approval.requested_by_id, version.author_id):
        raise NotTheApprover("Somebody else has to approve what you wrote or submitted.")
    held = {content_hash, approval.content_hash, version.content_hash}
    if held != {canonical.digest(version.content)} or version.state != VersionState.IN_REVIEW:
        raise StaleReview("The content has changed since this page was made; look at it again.")
    if isinstance(version, PatternVersion):
        _require_approved_classes(version)
    else:
        _end_earlier(version)
    version.state = VersionState.APPROVED
    version.approved_at = timezone.now()
    version.save(update_fields=["state", "approved_at", "updated_at"])
    _decide(actor, approval, Approval.State.APPROVED, text)
    audit.record(actor=actor, verb="approved", subject=version, message=text)
    if isinstance(version, ClassVersion):
        _reapply(version.device_class)
    return approval


def _require_approved_classes(version: PatternVersion) -> None:
    names = list(selectors.pattern_of(version).classes)
    approved = selectors.class_selectors(names)
    if missing := [name for name in names if name not in approved]:
        raise IllegalTransition(
            f"Approve the class {missing[0]} first: it has no approved version."
        )


def _end_earlier(version: ClassVersion) -> None:
    ClassVersion.objects.filter(
        device_class_id=version.device_class_id, state=VersionState.APPROVED
    ).update(state=VersionState.WITHDRAWN, withdrawn_at=timezone.now())


def _decide(actor: User, approval: Approval, state: Approval.State, text: str) -> None:
    approval.state = state
    approval.decided_by = actor
    approval.decided_at = timezone.now()
    approval.text = text
    approval.full_clean()
    approval.save()


@transaction.atomic
def deny(*, actor: User, approval: Approval, text: str) -> Approval:
    """Send the version back to its author with the reason; it is a draft again."""
    approval = _pending(approval)
    if not text.strip():
        raise InvalidValue("Say why, so that the author can change it.", field="text")
    version = _back_to_draft(approval)
    _decide(actor, approval, Approval.State.DENIED, text.strip())
    audit.record(actor=actor, verb="denied", subject=version, message=text)
    return approval


@transaction.atomic
def take_back(*, actor: User, approval: Approval) -> Approval:
    """End a review that is no longer wanted; the version is a draft again."""
    approval = _pending(approval)
    version = _back_to_draft(approval)
    _decide(actor, approval, Approval.State.CANCELED, "")
    audit.record(actor=actor, verb="took back", subject=version)
    return approval


def _back_to_draft(approval: Approval) -> AnyVersion:
    version = _locked(approval.version)
    version.state = VersionState.DRAFT
    version.save(update_fields=["state", "updated_at"])
    return version


@transaction.atomic
def withdraw(*, actor: User, version: AnyVersion, text: str) -> AnyVersion:
    """End an approved version. A class leaves its clusters; pools pinned to a pattern run on."""
    version = _locked(version)
    if version.state != VersionState.APPROVED:
        raise IllegalTransition(f"{version} is not approved.")
    if not text.strip():
        raise InvalidValue("Say why it is withdrawn.", field="text")
    version.state = VersionState.WITHDRAWN
    version.withdrawn_at = timezone.now()
    version.save(update_fields=["state", "withdrawn_at", "updated_at"])
    audit.record(actor=actor, verb="withdrew", subject=version, message=text)
    if isinstance(version, ClassVersion):
        _reapply(version.device_class)
    return version


@transaction.atomic
def place_class(
    *, actor: User, device_class: DeviceClass, cluster: Cluster, adopt: bool = False
) -> ClassInCluster:
    """Offer a class in a cluster. `adopt` takes over an object of that name which is there."""
    placement, created = ClassInCluster.objects.get_or_create(
        device_class=device_class, cluster=cluster, defaults={"adopted": adopt}
    )
    if created or (adopt and not placement.adopted):
        placement.adopted = placement.adopted or adopt
        placement.save(update_fields=["adopted", "updated_at"])
        audit.record(
            actor=actor,
            verb="adopted" if adopt else "placed",
            subject=placement,
            after={"adopt": adopt},
        )
        _reapply(device_class)
    return placement


@transaction.atomic
def put_back_class(*, actor: User, placement: ClassInCluster) -> ClassInCluster:
    """Overwrite what somebody changed in the cluster with the approved content."""
    placement = ClassInCluster.objects.select_for_update(no_key=True, of=("self",)).get(
        pk=placement.pk
    )
    placement.generation += 1
    placement.forced_generation = placement.generation
    placement.save(update_fields=["generation", "forced_generation", "updated_at"])
    audit.record(actor=actor, verb="put back", subject=placement, before={"drift": placement.drift})
    transaction.on_commit(partial(tasks.reconcile_class.delay, placement.pk))
    return placement


def _reapply(device_class: DeviceClass) -> None:
    rows = device_class.placements.all()
    rows.update(generation=F("generation") + 1, updated_at=timezone.now())
    for pk in rows.values_list("pk", flat=True):
        transaction.on_commit(partial(tasks.reconcile_class.delay, pk))
