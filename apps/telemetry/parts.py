"""Noting which part of a card each partition, share and plugin's unit is, before it goes away."""

from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from apps.claims.models import Claim
from apps.common import bulk
from apps.inventory.models import Cluster, Mirrored, Node
from apps.telemetry.models import Part
from domain import usage
from domain.usage import DeviceKey

_COLUMNS = ("cluster_id", "driver", "pool", "device", "share_id", "part")
_KEY = _COLUMNS[:-1]
Row = tuple[int, str, str, str, str, float]


def note(cluster: Cluster) -> int:
    """Repeatable; returns how many parts are known now. What went away keeps its row."""
    rows: dict[tuple[str, str, str, str], Row] = {}
    partitions: dict[DeviceKey, float] = {}
    capacities: dict[DeviceKey, dict[str, str]] = {}
    slices = Mirrored.objects.filter(cluster=cluster, kind="resourceslices")
    for spec in slices.values_list("body__spec", flat=True).iterator(chunk_size=500):
        partitions |= dict(usage.parts_of_slice(spec or {}))
        capacities |= dict(usage.capacities_of_slice(spec or {}))
    for (driver, pool, device), part in partitions.items():
        rows[driver, pool, device, ""] = (cluster.pk, driver, pool, device, "", part)
    for results in _shared(cluster).values_list("results", flat=True):
        for one in results:
            key = (one["driver"], one["pool"], one["device"])
            if one.get("share_id"):
                part = usage.part_of_share(one.get("consumed") or {}, capacities.get(key, {}))
                part *= partitions.get(key, usage.WHOLE)
                rows[*key, one["share_id"]] = (cluster.pk, *key, one["share_id"], part)
    for name, units, cards in Node.objects.filter(cluster=cluster).values_list(
        "name", "units", "physical"
    ):
        for unit in units:
            part = usage.part_of_resource(unit["name"], unit.get("total"), cards)
            if part < usage.WHOLE and "/" in unit["name"]:
                rows["", name, unit["name"], ""] = (cluster.pk, "", name, unit["name"], "", part)
    bulk.upsert(Part, _COLUMNS, list(rows.values()), key=_KEY)
    return len(rows)


def _shared(cluster: Cluster) -> QuerySet[Claim]:
    """Claims that were given a share of a device."""
    has_share = RawSQL("jsonb_path_exists(results, '$[*] ? (@.share_id != \"\")')", [])
    return (
        Claim.objects.filter(cluster=cluster).annotate(has_share=has_share).filter(has_share=True)
    )
