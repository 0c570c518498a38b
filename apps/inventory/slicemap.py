"""A node's cards, their partitions and who holds them, as one SVG picture.

Everything in it is also in the table below it; the picture is for seeing at a glance where there
is room. A card that is cut up is drawn as its memory slices: they decide what still fits.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from apps.inventory.models import Device
from apps.inventory.words import device_word
from domain.accelerators import MIG_NAME, compute_slices, memory_slices

WIDTH, HEIGHT, GAP, PER_ROW = 212, 96, 12, 4
PLOT_TOP, PLOT_HEIGHT, PLOT_LEFT, PLOT_WIDTH = 30, 44, 8, 196
SLICES = 8
# Compute slices of a profile -> memory slices that it takes; on cards of four it takes as many.
_TAKES = {1: 1, 2: 2, 3: 4, 4: 4, 7: 8}
_START = re.compile(r"-([0-9]+)\Z")
# The colours of static/css/app.css.
FILLS = {
    "dra": "dra",
    "device-plugin": "plugin",
    "free": "free",
    "blocked": "blocked",
    "unhealthy": "unhealthy",
    "unknown": "unknown",
}


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a card: where it begins and how much it takes, in eighths of the card."""

    start: float
    size: float
    kind: str
    label: str
    title: str
    url: str = ""
    short: str = ""  # of the label, where there is no room for all of it


def slicemap(devices: Sequence[Device], links: dict[int, str] | None = None) -> SafeString:
    """Draw the cards of these rows, which are sorted card by card. `links` leads from a row's id
    to the page of the device."""
    cards = [list(rows) for _, rows in groupby(devices, key=lambda row: row.card)]
    if not cards:
        return SafeString("")
    drawn = [
        _card(rows, place % PER_ROW, place // PER_ROW, links or {})
        for place, rows in enumerate(cards)
    ]
    columns = min(len(cards), PER_ROW)
    lines = -(-len(cards) // PER_ROW)
    return format_html(
        '<svg class="slicemap" viewBox="0 0 {} {}" role="group" aria-label="{}">{}</svg>',
        columns * (WIDTH + GAP) - GAP,
        lines * (HEIGHT + GAP) - GAP,
        in_words(devices),
        format_html_join("", "{}", ((one,) for one in drawn)),
    )


def in_words(devices: Iterable[Device]) -> str:
    """Such as "8 cards: gpu-0 in use by team-a/claim, gpu-1 free"."""
    cards = [row for row in devices if row.is_card]
    said = [
        f"{card_name(row)} {device_word(row.card_state)}{f' by {row.holder}' if row.holder else ''}"
        for row in cards
    ]
    return f"{len(cards)} card{'' if len(cards) == 1 else 's'}: {', '.join(said)}"


def card_name(row: Device) -> str:
    """The card's own name, also where only partitions of it are published."""
    found = MIG_NAME.fullmatch(row.name)
    return found[1] if found else row.name


def _card(rows: list[Device], column: int, line: int, links: dict[int, str]) -> SafeString:
    main = next((row for row in rows if row.is_card), rows[0])
    left, top = column * (WIDTH + GAP), line * (HEIGHT + GAP)
    blocks = _blocks(rows, main, links)
    return format_html(
        '<g transform="translate({} {})"><rect class="slicemap-card" width="{}" height="{}" rx="6">'
        '</rect><text class="slicemap-name" x="8" y="19">{}</text>'
        '<text class="slicemap-note" x="{}" y="19" text-anchor="end">{}</text>{}{}'
        '<text class="slicemap-note" x="8" y="{}">{}</text></g>',
        left,
        top,
        WIDTH,
        HEIGHT,
        _cut(card_name(main), 16),
        WIDTH - 8,
        device_word(main.card_state),
        _ruler(memory_slices(main.product)) if _is_cut(rows) else "",
        format_html_join("", "{}", ((_block(block),) for block in blocks)),
        HEIGHT - 9,
        _cut(_foot(rows, main), 34),
    )


def _foot(rows: list[Device], main: Device) -> str:
    held = sorted({row.holder for row in rows if row.holder})
    if held:
        return held[0] if len(held) == 1 else f"{len(held)} holders"
    return main.product


def _is_cut(rows: list[Device]) -> bool:
    return any(row.profile or MIG_NAME.fullmatch(row.name) for row in rows)


def _blocks(rows: list[Device], main: Device, links: dict[int, str]) -> list[Block]:
    """What to draw of a card: its partitions where it has any, else all of it."""
    parts = [row for row in rows if row.profile or MIG_NAME.fullmatch(row.name)]
    held_whole = main.holder and main not in parts
    if not parts or held_whole:
        return [_whole(main, links)]
    # Placements that overlap are choices, of which only those taken are there.
    overlapping = any(row.is_blocked for row in parts) or len(parts) > SLICES
    shown = parts
    if overlapping:
        shown = [row for row in parts if row.holder or row.state == "unhealthy"]
    if not shown:
        return [Block(0, SLICES, main.card_state, "", _title(main), links.get(main.pk, ""))]
    return _placed(shown, parts, links)


def _whole(main: Device, links: dict[int, str]) -> Block:
    label = main.holder.rpartition("/")[2] or device_word(main.card_state)
    state = main.card_state if main.card_state != "dra" else main.state
    return Block(0, SLICES, state, label, _title(main), links.get(main.pk, ""))


def _placed(shown: list[Device], parts: list[Device], links: dict[int, str]) -> list[Block]:
    smallest = min((row.memory_mib for row in parts if row.memory_mib), default=0)
    slices = memory_slices(shown[0].product)
    found, at = [], 0.0
    for row in sorted(shown, key=lambda one: (_start(one, slices), one.name)):
        size = _size(row, smallest, slices) * SLICES / slices
        told = _start(row, slices)
        start = told * SLICES / slices if told >= 0 else at
        at = start + size
        url = links.get(row.pk, "")
        short = row.profile.partition(".")[0]
        found.append(Block(start, size, row.state, row.profile, _title(row), url, short))
    return found


def _start(row: Device, slices: int) -> int:
    """The memory slice at which a MIG device begins, by its name; -1 where it does not say."""
    found = _START.search(row.name) if MIG_NAME.fullmatch(row.name) else None
    start = int(found[1]) if found else -1
    return start if start < slices else -1


def _size(row: Device, smallest: int, slices: int) -> float:
    compute = compute_slices(row.profile) or 1
    size = _TAKES.get(compute, compute) if slices == SLICES else compute
    is_double = compute == 1 and smallest and row.memory_mib and row.memory_mib > 1.6 * smallest
    return 2 if is_double else size


def _title(row: Device) -> str:
    held = ", ".join(f"{one['namespace']}/{one['name']}" for one in row.holders)
    parts = [row.name, row.profile, device_word(row.state), f"held by {held}" if held else ""]
    return ", ".join(part for part in (*parts, row.reason) if part)


def _block(block: Block) -> SafeString:
    unit = PLOT_WIDTH / SLICES
    width = max(block.size * unit - 2, 2)
    x = PLOT_LEFT + block.start * unit + 1
    drawn = format_html(
        '<g><title>{}</title><rect class="slicemap-block fill-{}" x="{}" y="{}" width="{}"'
        ' height="{}" rx="3"></rect><text class="slicemap-label" x="{}" y="{}"'
        ' text-anchor="middle">{}</text></g>',
        block.title,
        FILLS.get(block.kind, "unknown"),
        f"{x:.1f}",
        PLOT_TOP,
        f"{width:.1f}",
        PLOT_HEIGHT,
        f"{x + width / 2:.1f}",
        PLOT_TOP + PLOT_HEIGHT / 2 + 4,
        _fitting(block, int(width // 6)),
    )
    if not block.url:
        return drawn
    return format_html('<a href="{}" aria-label="{}">{}</a>', block.url, block.title, drawn)


def _ruler(slices: int) -> SafeString:
    """The card's memory slices, as a grid behind the partitions."""
    unit = PLOT_WIDTH / slices
    return format_html_join(
        "",
        '<rect class="slicemap-slot" x="{}" y="{}" width="{}" height="{}"></rect>',
        (
            (f"{PLOT_LEFT + place * unit:.1f}", PLOT_TOP, f"{unit:.1f}", PLOT_HEIGHT)
            for place in range(slices)
        ),
    )


def _fitting(block: Block, length: int) -> str:
    """The label, or its short form: half a profile says less than its size alone."""
    if block.short and len(block.label) > length:
        return _cut(block.short, length)
    return _cut(block.label, length)


def _cut(text: str, length: int) -> str:
    if length < 2:
        return ""
    return text if len(text) <= length else f"{text[: length - 1]}…"
