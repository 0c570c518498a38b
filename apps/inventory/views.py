"""Nodes, devices, and the overview's parts."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_GET

from apps.common import drawings, tables
from apps.common.etags import etag_of, not_modified, stamp
from apps.inventory import selectors
from apps.inventory.models import Cluster, Device, Node
from apps.inventory.slicemap import slicemap
from apps.inventory.tables import DEVICES, NODES, device_url
from apps.inventory.words import MODES, PATHS, node_word, state_of
from apps.tenancy.models import PlatformRole
from apps.tenancy.selectors import require_platform, sees_anything
from domain.inventory import Tally

TOP_PRODUCTS, TOP_FAULTS = 8, 6


@require_GET
@login_required
def node_list(request: HttpRequest) -> HttpResponseBase:
    require_platform(request.user, *PlatformRole)
    cluster = request.GET.get("cluster", "")
    return tables.respond(
        request,
        NODES,
        selectors.nodes,
        "inventory/nodes.html",
        revision=lambda: selectors.revision_of("cards", cluster=cluster),
        context=lambda: {"fresh": selectors.freshness(cluster)},
    )


@require_GET
@login_required
def device_list(request: HttpRequest) -> HttpResponseBase:
    require_platform(request.user, *PlatformRole)
    cluster = request.GET.get("cluster", "")
    return tables.respond(
        request,
        DEVICES,
        selectors.devices,
        "inventory/devices.html",
        revision=lambda: selectors.revision_of("cards", cluster=cluster),
        context=lambda: {"fresh": selectors.freshness(cluster)},
    )


def _node(cluster: str, name: str) -> Node:
    rows = Node.objects.select_related("cluster")
    return get_object_or_404(rows, cluster__slug=cluster, name=name)


@require_GET
@login_required
def node_page(request: HttpRequest, cluster: str, name: str) -> HttpResponse:
    require_platform(request.user, *PlatformRole)
    row = _node(cluster, name)
    context = {
        "node": row,
        "word": node_word(row),
        "path": PATHS.get(row.path, row.path),
        "fresh": selectors.freshness_of(row.cluster),
        "holders_url": _other("claims:on-node", cluster, name),
        "chart_url": _other("claims:allocation"),
    }
    return render(request, "inventory/node.html", context)


@require_GET
@login_required
def node_cards(request: HttpRequest, cluster: str, name: str) -> HttpResponse:
    """The picture and the table of a node's cards, as a part that keeps itself new."""
    require_platform(request.user, *PlatformRole)
    etag = etag_of(request, selectors.revision_of("cards", cluster=cluster))
    if (unchanged := not_modified(request, etag)) is not None:
        return unchanged
    row = _node(cluster, name)
    devices = selectors.devices_on(row.cluster, row.name)
    links = {device.pk: device_url(device) for device in devices}
    context = {
        "node": row,
        "segments": segments_of(_tally_of(row)),
        "picture": slicemap(devices, links),
        "devices": [(device, state_of(device), links[device.pk]) for device in devices],
        "modes": sorted({MODES.get(device.mode, device.mode) for device in devices}),
    }
    return stamp(render(request, "inventory/node_cards.html", context), etag)


@require_GET
@login_required
def device_page(request: HttpRequest, device_id: int) -> HttpResponse:
    require_platform(request.user, *PlatformRole)
    row = get_object_or_404(Device.objects.select_related("cluster"), pk=device_id)
    siblings = [
        (one, state_of(one), device_url(one))
        for one in selectors.devices_on(row.cluster, row.node_name)
        if one.card == row.card and one.pk != row.pk
    ]
    context = {
        "device": row,
        "word": state_of(row),
        "path": PATHS.get(row.path, row.path),
        "mode": MODES.get(row.mode, row.mode),
        "fresh": selectors.freshness_of(row.cluster),
        "published": _readable(selectors.published_device(row)),
        "siblings": siblings,
        "history_url": _other("claims:of-device", row.pk),
    }
    return render(request, "inventory/device.html", context)


def _readable(published: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Attributes and capacities of a slice's device as (name, value)."""
    if published is None:
        return []
    body = published.get("basic") or published
    found = []
    for part in ("attributes", "capacity"):
        for name, value in sorted((body.get(part) or {}).items()):
            plain = next(iter(value.values()), "") if isinstance(value, dict) else value
            found.append((name, str(plain)))
    return found


def _other(name: str, *args: object) -> str:
    """The address of a part that a higher room serves, "" when there is none."""
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""


# --- Parts of the overview
@require_GET
@login_required
def freshness_part(request: HttpRequest) -> HttpResponse:
    """How old the data is, as the badge of a page."""
    fresh = selectors.freshness(request.GET.get("cluster", ""))
    return render(request, "inventory/freshness.html", {"fresh": fresh})


@require_GET
@login_required
def summary_part(request: HttpRequest) -> HttpResponse:
    """Cards in use and free, by model; what needs a look (S1). For members of some tenant too."""
    if not sees_anything(request.user):
        raise Http404
    slug = request.GET.get("cluster", "")
    kinds = selectors.revision_of("cards", cluster=slug)
    fresh = selectors.freshness(slug)
    switch = selectors.write_switch()
    etag = etag_of(request, kinds, fresh.kind, fresh.known, switch.stopped, switch.reason)
    if (unchanged := not_modified(request, etag)) is not None:
        return unchanged
    tally = selectors.tally(slug)
    user: Any = request.user
    context = {
        "fresh": fresh,
        "tally": tally,
        "segments": segments_of(tally),
        "products": [
            (name, segments_of(one), one)
            for name, one in selectors.tallies_by_product(slug)[:TOP_PRODUCTS]
        ],
        "faulty": list(selectors.faulty_nodes(slug)[:TOP_FAULTS]) if user.is_platform else [],
        "is_platform": user.is_platform,
        "has_clusters": Cluster.objects.filter(retired_at=None).exists(),
        "switch": switch,
        "chart_url": _other("claims:allocation"),
    }
    return stamp(render(request, "inventory/summary.html", context), etag)


def segments_of(tally: Tally | None) -> list[drawings.Segment]:
    if tally is None:
        return []
    return drawings.allocation(
        dra=tally.dra,
        plugin=tally.plugin,
        free=tally.free,
        unhealthy=tally.unhealthy,
        unknown=tally.unknown,
    )


def _tally_of(row: Node) -> Tally | None:
    if row.physical is None:
        return None
    return Tally(
        unknown=row.unknown or 0,
        unhealthy=row.unhealthy or 0,
        dra=row.in_dra or 0,
        plugin=row.in_plugin or 0,
        free=row.free or 0,
    )
