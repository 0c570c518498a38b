from datetime import datetime
from typing import Any

from django.db.models import Count
from django.urls import reverse

from apps.catalog.filters import ApprovalFilters, ClassFilters, PatternFilters
from apps.catalog.models import Approval, ClaimPattern, ClassVersion, DeviceClass, VersionState
from apps.common.tables import Column, Table


def newest(row: DeviceClass | ClaimPattern) -> Any:
    """The newest version, from the rows that were prefetched."""
    return max(row.versions.all(), key=lambda version: version.number, default=None)


def approved(row: DeviceClass | ClaimPattern) -> Any:
    found = [one for one in row.versions.all() if one.state == VersionState.APPROVED]
    return max(found, key=lambda version: version.number, default=None)


def state_word(row: DeviceClass | ClaimPattern) -> str:
    """The state of the newest version, as the lists show it."""
    version = newest(row)
    return VersionState(version.state).label.lower() if version else ""


def _version_text(row: DeviceClass | ClaimPattern) -> str:
    version = approved(row)
    return f"v{version.number}" if version else ""


def _clusters(row: DeviceClass) -> str:
    return ", ".join(placement.cluster.slug for placement in row.placements.all())


def _applied_word(row: DeviceClass) -> str:
    """The worst word over the clusters of a class."""
    words = set()
    for placement in row.placements.all():
        condition = placement.condition("Applied")
        if placement.drift:
            words.add("drifted")
        elif condition is None:
            words.add("waiting")
        else:
            words.add({"True": "applied", "False": "failed"}.get(condition["status"], "unknown"))
    order = ("failed", "drifted", "unknown", "waiting", "applied")
    return next((word for word in order if word in words), "")


CLASSES = Table(
    name="device-classes",
    noun=("device class", "device classes"),
    default_sort="name",
    search=("name", "description"),
    search_hint="Find by name",
    filters=ClassFilters,
    columns=(
        Column(
            key="name",
            title="Class",
            sort="name",
            fixed=True,
            link=lambda row: reverse("catalog:class", args=[row.name]),
        ),
        Column(key="description", title="Description"),
        Column(key="state", title="Newest version", kind="state", value=state_word),
        Column(key="approved", title="Approved", value=_version_text),
        Column(key="clusters", title="Clusters", value=_clusters),
        Column(key="applied", title="In clusters", kind="state", value=_applied_word),
        Column(key="updated_at", title="Changed", kind="ago", shown=False),
    ),
    none_yet=(
        "A device class names the devices that tenants may ask for. It is proposed, approved by "
        "somebody else, and then applied to clusters.",
        "catalog:class-new",
        "Propose a class",
    ),
)


def _tenants(row: ClaimPattern) -> str:
    return ", ".join(tenant.slug for tenant in row.tenants.all()) or "all"


PATTERNS = Table(
    name="claim-patterns",
    noun=("claim pattern", "claim patterns"),
    default_sort="name",
    search=("name", "slug", "description"),
    search_hint="Find by name",
    filters=PatternFilters,
    columns=(
        Column(
            key="name",
            title="Pattern",
            sort="name",
            fixed=True,
            link=lambda row: reverse("catalog:pattern", args=[row.slug]),
        ),
        Column(key="description", title="Description"),
        Column(key="state", title="Newest version", kind="state", value=state_word),
        Column(key="approved", title="Approved", value=_version_text),
        Column(key="tenants", title="Tenants", value=_tenants),
        Column(
            key="used",
            title="Used by pools",
            kind="amount",
            value="used_count",
            annotate={"used_count": Count("versions__pools", distinct=True)},
        ),
        Column(key="slug", title="Short name", kind="mono", shown=False),
        Column(key="updated_at", title="Changed", kind="ago", shown=False),
    ),
    none_yet=(
        "A claim pattern is a request for devices with a few typed parameters. Tenants deploy on "
        "approved patterns only.",
        "catalog:pattern-new",
        "Propose a pattern",
    ),
)


def _object(approval: Approval) -> str:
    version = approval.version
    return str(version)


def _kind(approval: Approval) -> str:
    return "class" if isinstance(approval.version, ClassVersion) else "pattern"


def _open_until(row: Approval) -> datetime | None:
    """None for a review that has ended: it does not expire any more."""
    return row.expires_at if row.state == Approval.State.PENDING else None


APPROVALS = Table(
    name="approvals",
    noun=("approval", "approvals"),
    default_sort="-created_at",
    filters=ApprovalFilters,
    status="state",
    statuses=Approval.State.choices,
    columns=(
        Column(
            key="object",
            title="What",
            value=_object,
            fixed=True,
            link=lambda row: reverse("catalog:approval", args=[row.pk]),
        ),
        Column(key="kind", title="Kind", value=_kind),
        Column(
            key="state",
            title="State",
            kind="state",
            value=lambda row: row.get_state_display().lower(),
        ),
        Column(key="requested_by", title="Asked by", value="requested_by__username"),
        Column(key="created_at", title="Asked", sort="created_at", kind="ago"),
        Column(key="expires_at", title="Expires", kind="ago", value=_open_until),
        Column(key="decided_by", title="Decided by", value="decided_by__username"),
        Column(key="text", title="Text", shown=False),
    ),
    none_yet=("Versions of classes and patterns wait here for an approver.", "", ""),
)
