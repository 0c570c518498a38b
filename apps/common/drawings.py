"""Small pictures as SVG, drawn here so that no page needs inline style or a script for them.

A segment is (kind, amount): kind picks the colour `.fill-<kind>` of static/css/app.css and names
the thing in words. Amounts must be known numbers; what is not known is not drawn.
"""

from collections.abc import Iterable, Sequence
from math import pi
from typing import NamedTuple

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString


class Segment(NamedTuple):
    kind: str  # dra, plugin, free, unhealthy, unknown, used, over …
    label: str
    amount: float


def allocation(
    *, dra: float, plugin: float, free: float, unhealthy: float, unknown: float
) -> list[Segment]:
    """The five ways in which a card is counted, in the order in which every page shows them."""
    return [
        Segment("dra", "in use by DRA", dra),
        Segment("plugin", "in use by device plugin", plugin),
        Segment("free", "free", free),
        Segment("unhealthy", "unhealthy", unhealthy),
        Segment("unknown", "unknown", unknown),
    ]


def in_words(segments: Iterable[Segment]) -> str:
    return ", ".join(f"{one.amount:g} {one.label}" for one in segments if one.amount) or "none"


RADIUS = 42
_AROUND = 2 * pi * RADIUS


def donut(segments: Sequence[Segment], *, center: str, caption: str) -> SafeString:
    """A ring of the segments with `center` in its middle; an empty ring when they sum to zero."""
    total = sum(one.amount for one in segments)
    arcs, turned = [], 0.0
    for one in segments:
        if total and one.amount:
            length = one.amount / total * _AROUND
            # A hairline between neighbours, which a sliver of a segment is too short for.
            drawn = max(length - 1.2, length * 0.6) if one.amount < total else length
            arcs.append((RADIUS, one.kind, f"{drawn:.3f} {_AROUND - drawn:.3f}", f"{-turned:.3f}"))
            turned += length
    rings = format_html_join(
        "",
        '<circle class="donut-arc stroke-{1}" cx="50" cy="50" r="{0}" fill="none"'
        ' stroke-width="11" stroke-dasharray="{2}" stroke-dashoffset="{3}"'
        ' transform="rotate(-90 50 50)"></circle>',
        arcs,
    )
    return format_html(
        '<svg class="donut" viewBox="0 0 100 100" role="img" aria-label="{}: {}">'
        '<circle class="donut-track" cx="50" cy="50" r="{}" fill="none" stroke-width="11"></circle>'
        '{}<text class="donut-center" x="50" y="{}" text-anchor="middle">{}</text>'
        '<text class="donut-caption" x="50" y="64" text-anchor="middle">{}</text></svg>',
        caption,
        in_words(segments),
        RADIUS,
        rings,
        "52" if caption else "55",
        center,
        caption,
    )


def bar(segments: Sequence[Segment], *, total: float | None = None, label: str = "") -> SafeString:
    """One horizontal bar of the segments side by side, over `total` (their sum if not given)."""
    whole = total if total is not None else sum(one.amount for one in segments)
    parts, at = [], 0.0
    for one in segments:
        share = one.amount / whole * 100 if whole else 0.0
        share = min(share, 100 - at)
        if share > 0:
            parts.append((one.kind, f"{at:.3f}", f"{share:.3f}", f"{one.amount:g} {one.label}"))
            at += share
    drawn = format_html_join(
        "",
        '<rect class="fill-{}" x="{}%" width="{}%" height="100%"><title>{}</title></rect>',
        parts,
    )
    return format_html(
        '<svg class="bar" role="img" aria-label="{}"><rect class="bar-track" width="100%"'
        ' height="100%"></rect>{}</svg>',
        f"{label}: {in_words(segments)}" if label else in_words(segments),
        drawn,
    )


def spark(values: Sequence[float | None], *, label: str) -> SafeString:
    """A line of recent values in a 100 x 24 box; a gap where there was no value."""
    known = [value for value in values if value is not None]
    if not known:
        return SafeString("")
    low, high = min(known), max(known)
    reach = (high - low) or 1
    step = 100 / max(len(values) - 1, 1)
    runs: list[list[str]] = [[]]
    for place, value in enumerate(values):
        if value is None:
            runs.append([])
        else:
            runs[-1].append(f"{place * step:.1f},{22 - (value - low) / reach * 20:.1f}")
    lines = format_html_join(
        "", '<polyline points="{}"></polyline>', ((" ".join(run),) for run in runs if run)
    )
    return format_html(
        '<svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" role="img"'
        ' aria-label="{}">{}</svg>',
        f"{label}: from {low:g} to {high:g}, now {known[-1]:g}",
        lines,
    )
