"""Reading what is known of clusters and their cards."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.fields.json import KT
from django.utils import timezone

from apps.inventory.models import Cluster, Device, Event, Mirrored, Node, Revision, WriteSwitch
from domain.inventory import Tally


def clusters() -> QuerySet[Cluster]:
    """Every cluster, retired ones too."""
    return Cluster.objects.defer("credentials")


def active_clusters(slug: str = "") -> QuerySet[Cluster]:
    """Those that are not retired; only `slug` if it names one."""
    found = clusters().filter(retired_at=None)
    return found.filter(slug=slug) if slug else found


def active_ids() -> list[int]:
    """Their ids: a list of numbers lets an index on (cluster, state) count without the rows."""
    return list(Cluster.objects.filter(retired_at=None).values_list("pk", flat=True))


def nodes() -> QuerySet[Node]:
    return Node.objects.filter(cluster__in=active_ids()).select_related("cluster")


def devices() -> QuerySet[Device]:
    return Device.objects.filter(cluster__in=active_ids()).select_related("cluster")


# --- What an ETag stands for
def revision_of(*kinds: str, cluster: str = "") -> str:
    """A text that changes when rows of these kinds, or what is said of a cluster, change."""
    asked = Revision.objects.filter(kind__in=kinds, cluster__retired_at=None)
    if cluster:
        asked = asked.filter(cluster__slug=cluster)
    rows = asked.order_by("cluster_id", "kind").values_list("cluster_id", "kind", "value")
    return ";".join(f"{pk}:{kind}:{value}" for pk, kind, value in rows)


def clusters_revision() -> str:
    """Of the list of clusters: their rows and how fresh each is."""
    found = [
        (
            row.pk,
            row.updated_at,
            freshness_of(row).kind,
            _quarter_minute(row.heard_at),
            row.problem,
            row.checked_at,
            row.version,
        )
        for row in clusters().order_by("pk")
    ]
    return f"{found}:{revision_of('cards')}"


def _quarter_minute(moment: datetime | None) -> int:
    return int(moment.timestamp() // 15) if moment else 0


# --- How old it is
@dataclass(frozen=True, slots=True)
class Freshness:
    """How far what is known of a cluster can be trusted: live, stale (since `at`), waiting for
    its first list, partial, retired."""

    kind: str
    at: datetime | None = None
    message: str = ""
    known: int | None = None
    total: int | None = None

    @property
    def is_live(self) -> bool:
        return self.kind == "live"


def freshness_of(cluster: Cluster, now: datetime | None = None) -> Freshness:
    now = now or timezone.now()
    if cluster.retired_at is not None:
        return Freshness("not-kept", cluster.retired_at, "Retired; shown as it was last seen.")
    if cluster.heard_at is None:
        return Freshness("error" if cluster.problem else "waiting", None, cluster.problem)
    if now - cluster.heard_at > timedelta(seconds=settings.STALE_AFTER_SECONDS):
        return Freshness("stale", cluster.heard_at, cluster.problem or "The cluster is not heard.")
    return Freshness("live", cluster.heard_at, cluster.problem)


def freshness(slug: str = "") -> Freshness:
    """Of all clusters together: live only when each one is."""
    rows = list(active_clusters(slug))
    if not rows:
        return Freshness("not-configured", message="No cluster is registered.")
    found = [freshness_of(row) for row in rows]
    live = [one for one in found if one.is_live]
    if len(live) == len(found):
        return Freshness("live", min(one.at for one in live if one.at))
    if len(found) == 1:
        return found[0]
    silent = ", ".join(row.slug for row, one in zip(rows, found, strict=True) if not one.is_live)
    return Freshness("partial", None, f"Not live: {silent}", len(live), len(found))


# --- Counts
_SUMS = {
    f"all_{name}": Sum(name)
    for name in ("unknown", "unhealthy", "in_dra", "in_plugin", "free", "physical")
}


def tally(slug: str = "") -> Tally:
    """The cards of all active clusters, or of one."""
    return _tally(_nodes_of(slug).aggregate(**_SUMS, untold=_UNTOLD))


_UNTOLD = Count("pk", filter=Q(has_cards=True, physical=None))


def tallies_by_product(slug: str = "") -> list[tuple[str, Tally]]:
    """By model, the largest first; a node with several models counts under their names."""
    rows = (
        _nodes_of(slug)
        .filter(has_cards=True)
        .values("product")
        .annotate(**_SUMS, untold=_UNTOLD)
        .order_by(F("all_physical").desc(nulls_last=True), "product")
    )
    return [(row["product"], _tally(row)) for row in rows]


def tallies_by_cluster() -> dict[int, Tally]:
    rows = Node.objects.values("cluster").order_by().annotate(**_SUMS, untold=_UNTOLD)
    return {row["cluster"]: _tally(row) for row in rows}


def _nodes_of(slug: str) -> QuerySet[Node]:
    found = Node.objects.filter(cluster__retired_at=None)
    return found.filter(cluster__slug=slug) if slug else found


def _tally(row: Mapping[str, Any]) -> Tally:
    return Tally(
        unknown=row["all_unknown"] or 0,
        unhealthy=row["all_unhealthy"] or 0,
        dra=row["all_in_dra"] or 0,
        plugin=row["all_in_plugin"] or 0,
        free=row["all_free"] or 0,
        untold=row["untold"],
    )


def faulty_nodes(slug: str = "") -> QuerySet[Node]:
    """Nodes with something to look at, the worst first."""
    found = _nodes_of(slug).select_related("cluster").filter(fault_count__gt=0)
    return found.order_by("-fault_count", "name")


# --- Details
def devices_on(cluster: Cluster, node_name: str) -> list[Device]:
    """A node's devices, card by card, each card's main device first."""
    found = Device.objects.filter(cluster=cluster, node_name=node_name)
    return sorted(found, key=lambda row: (natural(row.card), not row.is_card, natural(row.name)))


def natural(text: str) -> tuple[tuple[int, str], ...]:
    """Sorts gpu-2 before gpu-10."""
    parts: list[tuple[int, str]] = []
    digits = ""
    for mark in text:
        if mark.isascii() and mark.isdigit():
            digits += mark
            continue
        if digits:
            parts.append((int(digits), ""))
            digits = ""
        parts.append((-1, mark))
    if digits:
        parts.append((int(digits), ""))
    return tuple(parts)


def published_device(device: Device) -> dict[str, Any] | None:
    """The device as its slice has it; None for a card behind a device plugin."""
    if not device.driver:
        return None
    slices = Mirrored.objects.annotate(slice_pool=KT("body__spec__pool__name")).filter(
        cluster_id=device.cluster_id, kind="resourceslices", slice_pool=device.pool
    )
    for body in slices.values_list("body", flat=True):
        for one in body["spec"].get("devices") or ():
            if body["spec"]["driver"] == device.driver and one.get("name") == device.name:
                found: dict[str, Any] = one
                return found
    return None


def is_listed(cluster: Cluster, kind: str) -> bool:
    """Objects of this kind were listed in full once, so that what has no row is not there."""
    rows = Revision.objects.filter(cluster=cluster, kind=kind)
    return rows.exclude(listed_at=None).exists()


def bodies_in(
    cluster: Cluster, namespaces: Iterable[str], kinds: Iterable[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(kind, object) of everything mirrored in these namespaces, by name."""
    rows = Mirrored.objects.filter(
        cluster=cluster, kind__in=list(kinds), namespace__in=list(namespaces)
    )
    yield from rows.order_by("name").values_list("kind", "body").iterator(chunk_size=1000)


def events_about(cluster_id: int, uids: Iterable[str]) -> QuerySet[Event]:
    """What the cluster said of these objects, newest first."""
    asked = Event.objects.filter(cluster_id=cluster_id, about_uid__in=list(uids))
    return asked.order_by("-last_at")


def watch_problems(cluster: Cluster) -> list[Revision]:
    """Kinds of which some objects could not be read."""
    return list(cluster.revisions.exclude(malformed=[]).order_by("kind"))


def write_switch() -> WriteSwitch:
    return WriteSwitch.objects.filter(pk=1).first() or WriteSwitch(pk=1)
