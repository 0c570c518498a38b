"""How the portal shows times, amounts, states, fields and small pictures: once, for all pages.

Built in to every template. Each tag says the same thing in words as in colour.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from zlib import crc32

from django import template
from django.forms import BoundField
from django.forms.widgets import (
    CheckboxInput,
    CheckboxSelectMultiple,
    FileInput,
    HiddenInput,
    RadioSelect,
    Select,
)
from django.template.loader import get_template, render_to_string
from django.urls import NoReverseMatch
from django.utils import timezone
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString

from apps.common import drawings, icons
from apps.common.amounts import amount_text, span_text
from apps.common.drawings import Segment
from apps.common.models import Ask
from apps.common.tables.columns import Column

register = template.Library()

SHORT = 32  # characters that a list keeps on one line
NOTHING = SafeString('<span class="nothing" title="Not known">—</span>')


@register.simple_tag
def icon(name: str, label: str = "", classes: str = "") -> SafeString:
    return icons.icon(name, label=label, classes=classes)


def _moment(value: datetime | str | None) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if value is None:
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def _time(value: datetime | str | None, show: str) -> SafeString:
    at = _moment(value)
    if at is None:
        return NOTHING
    utc = at.astimezone(UTC)
    text = moment_text = f"{utc:%Y-%m-%d %H:%M:%S} UTC"
    if show != "moment":
        span = span_text(int((timezone.now() - utc).total_seconds()))
        text = span if show == "age" else f"in {span[1:]}" if span[0] == "-" else f"{span} ago"
    return format_html(
        '<time datetime="{}" data-show="{}" title="{}">{}</time>',
        utc.isoformat(),
        show,
        moment_text,
        text,
    )


@register.simple_tag
def ago(value: datetime | str | None) -> SafeString:
    """ "3 min ago", kept counting by the page; the absolute time on hover."""
    return _time(value, "ago")


@register.simple_tag
def age(value: datetime | str | None) -> SafeString:
    """ "3 min": how long something has lasted."""
    return _time(value, "age")


@register.simple_tag
def moment(value: datetime | str | None) -> SafeString:
    """The date and time, in the reader's own zone on the page, UTC without a script."""
    return _time(value, "moment")


@register.simple_tag
def amount(value: float | None, unit: str = "") -> SafeString:
    """A number with its unit; missing is a dash, never zero. MiB grow to GiB and TiB."""
    if value is None:
        return NOTHING
    return format_html('<span class="amount">{}</span>', amount_text(value, unit))


@register.simple_tag
def state(word: str, text: str = "") -> SafeString:
    """A state as icon and word; `text` is shown instead of the word where it says more."""
    if not word:
        return NOTHING
    look = icons.look_of(str(word))
    said = conditional_escape(text or str(word)[:1].upper() + str(word)[1:].replace("_", " "))
    drawn = icons.icon(look.icon)
    return SafeString(f'<span class="state tone-{look.tone}">{drawn}<span>{said}</span></span>')


@register.simple_tag
def chip(text: str, tone: str = "off", title: str = "") -> SafeString:
    """A small label for a fact that is not a state: a mode, a role, a version."""
    return format_html('<span class="chip tone-{}" title="{}">{}</span>', tone, title, text)


@register.simple_tag
def freshness(
    kind: str,
    at: datetime | str | None = None,
    known: int | None = None,
    total: int | None = None,
    message: str = "",
) -> SafeString:
    """The badge that every figure carries: live, stale, partial, not-kept, not-configured,
    no-permission or error.
    """
    word = kind.replace("-", " ").replace("_", " ")
    look = icons.look_of(word)
    said: str | SafeString = word.capitalize()
    if word == "partial" and total is not None:
        said = f"Partial: {known} of {total}"
    elif word == "live" and at is not None:
        said = format_html("Live, {}", ago(at))
    elif word == "stale" and at is not None:
        said = format_html("Stale, seen {}", ago(at))
    return format_html(
        '<span class="freshness tone-{}" title="{}">{}<span>{}</span></span>',
        look.tone,
        message,
        icons.icon(look.icon),
        said,
    )


@register.simple_tag
def condition(value: Mapping[str, Any]) -> SafeString:
    """One condition of domain.conditions: type, status, reason, message, age."""
    context = {"condition": value, "word": _condition_word(value)}
    return SafeString(render_to_string("parts/condition.html", context))


def _condition_word(value: Mapping[str, Any]) -> str:
    """What does not hold yet is waited for; it is bad where something was refused or has failed."""
    if value["status"] != "False":
        return "true" if value["status"] == "True" else "waiting"
    on_its_way = value["type"] in ("Allocated", "Loaded", "Ready")
    failed = icons.look_of(str(value.get("reason", ""))).tone == "bad"
    return "pending" if on_its_way and not failed else "false"


# --- Pictures -------------------------------------------------------------------------------
def _segments(values: Iterable[Any]) -> list[Segment]:
    return [one if isinstance(one, Segment) else Segment(*one) for one in values]


@register.simple_tag
def donut(segments: Iterable[Any], center: object = "", caption: str = "") -> SafeString:
    return drawings.donut(_segments(segments), center=str(center), caption=caption)


@register.simple_tag
def bar(segments: Iterable[Any], total: float | None = None, label: str = "") -> SafeString:
    return drawings.bar(_segments(segments), total=total, label=label)


@register.simple_tag
def spark(values: Iterable[float | None], label: str = "") -> SafeString:
    return drawings.spark(list(values), label=label) or NOTHING


@register.inclusion_tag("parts/legend.html")
def legend(segments: Iterable[Any]) -> dict[str, Any]:
    """The segments in words and numbers, with the colour of each."""
    return {"segments": _segments(segments)}


@register.inclusion_tag("parts/meter.html")
def meter(
    used: float | None, limit: float | None, unit: str = "", label: str = ""
) -> dict[str, Any]:
    """ "6 of 8 devices" over a bar; amber from 90 %, red above the limit, a dash when not known."""
    known = used is not None and limit is not None
    share = (used or 0) / limit if known and limit else (1.0 if known and used else 0.0)
    kind = "over" if share > 1 else "near" if share >= 0.9 else "used"
    return {
        "known": known,
        "used": used,
        "limit": limit,
        "unit": unit,
        "label": label,
        "kind": kind,
        "segments": [Segment(kind, "used", used or 0)],
        "total": max(limit or 0, used or 0) or 1,
    }


def _key(*words: str) -> str:
    """An element id that is the same in every process."""
    return f"{crc32(chr(0).join(words).encode()):08x}"


# --- Forms and parts ------------------------------------------------------------------------
_WIDGETS: list[tuple[Any, str, str]] = [
    (CheckboxSelectMultiple, "", "choices"),
    (RadioSelect, "", "choices"),
    (CheckboxInput, "form-check-input", "check"),
    (Select, "form-select", ""),
    (FileInput, "form-control", ""),
    (object, "form-control", ""),
]


@register.inclusion_tag("parts/field.html")
def field(bound: BoundField, hint: str = "") -> dict[str, Any]:
    """A form field with its label, help and errors, tied together for screen readers."""
    widget = bound.field.widget
    classes, kind = next((css, kind) for of, css, kind in _WIDGETS if isinstance(widget, of))
    if bound.errors and classes:
        classes += " is-invalid"
    attrs: dict[str, str | bool] = {"class": f"{widget.attrs.get('class', '')} {classes}".strip()}
    # Django itself ties help text and errors to the widget by aria-describedby and aria-invalid.
    html = bound.as_widget(attrs=attrs)
    return {
        "field": bound,
        "widget": html,
        "kind": "hidden" if isinstance(widget, HiddenInput) else kind,
        "hint": hint or bound.help_text,
    }


@register.inclusion_tag("parts/empty.html")
def empty(
    kind: str, title: str = "", text: str = "", url: str = "", action: str = ""
) -> dict[str, Any]:
    """Why there is nothing to see: none-yet, filtered, not-configured, no-permission or failed."""
    defaults = {
        "none-yet": ("inbox", "Nothing here yet"),
        "filtered": ("zoom-question", "Nothing matches"),
        "not-configured": ("settings-off", "Not set up"),
        "no-permission": ("lock-access", "Not yours to see"),
        "failed": ("plug-connected-x", "Could not be loaded"),
    }
    picture, heading = defaults[kind]
    return {
        "kind": kind,
        "icon": picture,
        "title": title or heading,
        "text": text,
        "url": url,
        "action": action,
    }


@register.inclusion_tag("parts/part.html")
def part(url: str, label: str = "", lines: int = 3, classes: str = "") -> dict[str, Any]:
    """A piece of the page that another room serves; fetched at once and again on `refresh`."""
    return {"url": url, "label": label, "lines": range(lines), "classes": classes}


@register.inclusion_tag("parts/chart.html")
def chart(url: str, label: str, height: str = "md") -> dict[str, Any]:
    """A Plotly figure served by `url`; the page must include parts/chart_scripts.html."""
    return {"url": url, "label": label, "height": height}


@register.inclusion_tag("parts/action.html", takes_context=True)
def action(
    context: template.Context,
    url: str,
    label: str,
    *,
    icon: str = "",
    style: str = "",
    why_not: str = "",
    confirm: str = "",
    **hidden: Any,
) -> dict[str, Any]:
    """A button that posts to `url`. With `why_not` it is disabled and says why; with `confirm` a
    dialog asks first. Further keywords become hidden fields.
    """
    return {
        "request": context.get("request"),
        "csrf_token": context.get("csrf_token"),
        "url": url,
        "label": label,
        "icon": icon,
        "style": style,
        "why_not": why_not,
        "confirm": confirm,
        "hidden": hidden,
        "key": _key(url, label, *map(str, hidden.items())),
    }


@register.inclusion_tag("parts/code.html")
def code(text: str, label: str = "", name: str = "") -> dict[str, Any]:
    """A block of YAML or a command with a button that copies it."""
    return {"text": text, "label": label, "key": name or _key(text)}


@register.inclusion_tag("parts/diff.html")
def diff(text: str, label: str = "Changes") -> dict[str, Any]:
    """A unified diff with its lines marked as added, removed or unchanged."""
    marks = {"+": "added", "-": "removed", "@": "place"}
    lines = [
        (marks.get(line[:1], "same"), line)
        for line in text.splitlines()
        if not line.startswith(("---", "+++"))
    ]
    return {"lines": lines, "label": label}


@register.filter
def item(mapping: Mapping[str, Any], key: str) -> Any:
    """`{{ mapping|item:key }}`, None when it is not there."""
    return mapping.get(key)


@register.simple_tag
def cells(columns: Iterable[Column], row: Any) -> SafeString:
    """A list's row, cell by cell; here and not in the template, which takes twice as long."""
    return SafeString("".join(_td(column, row) for column in columns))


def _td(column: Column, row: Any) -> str:
    value = column.of(row)
    classes = "end" if column.at_end else "line"
    if isinstance(value, str) and len(value) > SHORT:
        classes = "wide"
    return f'<td class="{classes}">{conditional_escape(_shown(column, row, value))}</td>'


def _shown(column: Column, row: Any, value: Any) -> str | SafeString:
    if column.template:
        return SafeString(get_template(column.template).render({"row": row, "value": value}))
    shown = _CELLS.get(column.kind, _plain)(value, column.unit)
    try:
        target = column.link(row) if column.link else None
    except NoReverseMatch:
        target = None  # a name from a cluster that no address can hold
    if target is None:
        return shown
    # The id lets htmx give the focus back to the same link after the part was swapped.
    return format_html('<a id="{}-{}" href="{}">{}</a>', column.key, row.pk, target, shown)


def _plain(value: Any, unit: str) -> str | SafeString:
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return state("yes" if value else "no")
    return ago(value) if isinstance(value, datetime) else conditional_escape(value)


def _mono(value: Any, unit: str) -> SafeString:
    return format_html('<span class="mono">{}</span>', value) if value else NOTHING


_CELLS: dict[str, Callable[[Any, str], str | SafeString]] = {
    "state": lambda value, unit: state(value),
    "ago": lambda value, unit: ago(value),
    "age": lambda value, unit: age(value),
    "moment": lambda value, unit: moment(value),
    "amount": amount,
    "mono": _mono,
    "chip": lambda value, unit: chip(value) if value else NOTHING,
}


@register.simple_tag(takes_context=True)
def answer(context: template.Context, ask: Ask) -> SafeString:
    """The answer of an ask by the template of its kind: asks/<kind>.html, context ask, answer."""
    html = render_to_string(
        f"asks/{ask.kind}.html", {"ask": ask, "answer": ask.answer}, context.get("request")
    )
    return SafeString(html)


@register.filter
def amount_of(part_of: float, total: float) -> str:
    """ "41 / 64", for the middle of a ring."""
    return f"{amount_text(part_of)} / {amount_text(total)}"


@register.filter
def words(text: str) -> list[str]:
    return text.split()
