"""Reading the catalog: what is offered, to whom, and what waits for an approver."""

from typing import Any

from django.db.models import Count, Max, Q, QuerySet
from django.db.models.functions import Now

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
from apps.tenancy.models import Tenant
from domain import deviceclasses, patterns


def classes() -> QuerySet[DeviceClass]:
    return DeviceClass.objects.prefetch_related("versions", "placements__cluster")


def approved_class_version(device_class: DeviceClass) -> ClassVersion | None:
    return device_class.versions.filter(state=VersionState.APPROVED).first()


def latest_class_version(device_class: DeviceClass) -> ClassVersion | None:
    return device_class.versions.order_by("-number").first()


def class_selectors(names: list[str]) -> dict[str, list[str]]:
    """CEL selectors of the approved versions, by class; classes without one are left out."""
    found = ClassVersion.objects.filter(
        device_class__name__in=names, state=VersionState.APPROVED
    ).select_related("device_class")
    return {
        version.device_class.name: list(deviceclasses.class_from(version.content).selectors)
        for version in found
    }


def classes_in(cluster: Cluster) -> QuerySet[DeviceClass]:
    """Classes that this portal offers in a cluster."""
    return DeviceClass.objects.filter(
        placements__cluster=cluster, versions__state=VersionState.APPROVED
    ).distinct()


def pattern_list() -> QuerySet[ClaimPattern]:
    return ClaimPattern.objects.prefetch_related("versions", "tenants")


def approved_pattern_version(slug: str, number: int = 0) -> PatternVersion | None:
    """The approved version of that number, or the newest approved one."""
    found = PatternVersion.objects.filter(
        pattern__slug=slug, state=VersionState.APPROVED
    ).select_related("pattern")
    if number:
        found = found.filter(number=number)
    return found.order_by("-number").first()


def usable_patterns(tenant: Tenant | None, cluster: Cluster | None = None) -> list[PatternVersion]:
    """The newest approved version of each pattern that `tenant` may use, in `cluster` if named.

    Without a tenant: of every pattern.
    """
    allowed = Q() if tenant is None else Q(pattern__tenants=None) | Q(pattern__tenants=tenant)
    found = (
        PatternVersion.objects.filter(allowed, state=VersionState.APPROVED)
        .select_related("pattern")
        .order_by("pattern__name", "pattern_id", "-number")
        .distinct()
    )
    newest: dict[int, PatternVersion] = {}
    for version in found:
        newest.setdefault(version.pattern_id, version)
    if cluster is None:
        return list(newest.values())
    offered = set(classes_in(cluster).values_list("name", flat=True))
    return [one for one in newest.values() if set(pattern_of(one).classes) <= offered]


def may_use(tenant: Tenant, version: PatternVersion) -> bool:
    tenants = version.pattern.tenants.all()
    return not tenants or tenant in tenants


def pattern_of(version: PatternVersion) -> patterns.Pattern:
    return patterns.pattern_from(version.content)


def resources_by_class() -> dict[str, list[str]]:
    """Extended resources through which classes are handed out, from approved content."""
    found: dict[str, set[str]] = {}
    for version in ClassVersion.objects.filter(state=VersionState.APPROVED).select_related(
        "device_class"
    ):
        content = deviceclasses.class_from(version.content)
        if content.extended_resource_name:
            found.setdefault(version.device_class.name, set()).add(content.extended_resource_name)
    for pattern_version in PatternVersion.objects.filter(state=VersionState.APPROVED):
        pattern = pattern_of(pattern_version)
        form = pattern.device_plugin
        if form is not None:
            resources = {form.resource, *dict(form.resource_by_choice or {}).values()} - {""}
            found.setdefault(pattern.requests[0].device_class, set()).update(resources)
    return {name: sorted(resources) for name, resources in found.items()}


def approvals() -> QuerySet[Approval]:
    return Approval.objects.select_related(
        "class_version__device_class",
        "pattern_version__pattern",
        "requested_by",
        "decided_by",
    )


def pending_approvals() -> QuerySet[Approval]:
    return approvals().filter(state=Approval.State.PENDING, expires_at__gt=Now())


def previous_approved(
    version: ClassVersion | PatternVersion,
) -> ClassVersion | PatternVersion | None:
    """What was last approved before this version: the other side of an approver's diff."""
    siblings: Any
    if isinstance(version, ClassVersion):
        siblings = ClassVersion.objects.filter(device_class_id=version.device_class_id)
    else:
        siblings = PatternVersion.objects.filter(pattern_id=version.pattern_id)
    found: ClassVersion | PatternVersion | None = (
        siblings.filter(number__lt=version.number)
        .exclude(approved_at=None)
        .order_by("-number")
        .first()
    )
    return found


def class_revision() -> str:
    """A text that changes when anything that the list of classes shows does."""
    found = [
        rows.aggregate(newest=Max("updated_at"), count=Count("pk"))
        for rows in (DeviceClass.objects, ClassVersion.objects)
    ]
    seen = ClassInCluster.objects.aggregate(checked=Max("checked_at"), count=Count("pk"))
    return f"{found} {seen}"


def pattern_revision() -> str:
    found = [
        rows.aggregate(newest=Max("updated_at"), count=Count("pk"))
        for rows in (ClaimPattern.objects, PatternVersion.objects)
    ]
    return str(found)


def clusters() -> list[Cluster]:
    return list(Cluster.objects.filter(retired_at=None))


def pending_approval(version: ClassVersion | PatternVersion) -> Approval | None:
    return version.approvals.filter(state=Approval.State.PENDING).first()


def approval_revision() -> str:
    return str(Approval.objects.aggregate(newest=Max("updated_at"), count=Count("pk")))
