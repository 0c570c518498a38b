import json
from typing import Any

from django.apps import apps
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from apps.audit import selectors
from apps.audit.filters import EntryFilters
from apps.audit.models import Entry
from apps.common import tables
from apps.common.tables import Column, Table


def entry_url(entry: Entry) -> str:
    return reverse("audit:entry", args=[entry.pk])


ENTRIES = Table(
    name="audit",
    noun=("entry", "entries"),
    default_sort="-at",
    search=("subject_name", "actor_name", "message"),
    search_hint="Find by object, person or message",
    filters=EntryFilters,
    columns=(
        Column(key="at", title="When", sort="id", kind="ago", fixed=True, link=entry_url),
        Column(key="actor", title="Who", value="actor_name"),
        Column(key="verb", title="Action", kind="chip"),
        Column(key="kind", title="Kind", value=lambda entry: kind_of(entry)),
        Column(key="subject", title="Object", value="subject_name", link=entry_url),
        Column(key="message", title="Message"),
        Column(key="request_id", title="Request", kind="mono", shown=False),
        Column(key="before", title="Before", shown=False),
        Column(key="after", title="After", shown=False),
    ),
    none_yet=("Every change that anyone makes will be listed here.", "", ""),
)


def kind_of(entry: Entry) -> str:
    """What people call it, such as "device class"; a kind that is no more keeps its old name."""
    try:
        return str(apps.get_model(entry.subject_kind)._meta.verbose_name)
    except (LookupError, ValueError):
        return entry.subject_kind.rpartition(".")[2]


@require_GET
@login_required
def entry_list(request: HttpRequest) -> HttpResponseBase:
    rows = selectors.entries_for(request.user)
    return tables.respond(
        request, ENTRIES, rows, "audit/list.html", revision=lambda: str(selectors.newest_id())
    )


@require_GET
@login_required
def entry_page(request: HttpRequest, entry_id: int) -> HttpResponse:
    visible = selectors.entries_for(request.user)
    entry = get_object_or_404(visible, pk=entry_id)
    earlier, later = selectors.around(entry, visible)
    context = {
        "entry": entry,
        "kind": kind_of(entry),
        "changes": changes_of(entry),
        "earlier": earlier,
        "later": later,
        "same_request": visible.filter(request_id=entry.request_id).exclude(pk=entry.pk)[:20]
        if entry.request_id
        else [],
    }
    return render(request, "audit/entry.html", context)


def changes_of(entry: Entry) -> list[tuple[str, str | None, str | None, bool]]:
    """(field, before, after, changed) by field; None where that side says nothing of the field."""
    before, after = entry.before or {}, entry.after or {}
    names = [*before, *(name for name in after if name not in before)]
    return [
        (name, _said(before, name), _said(after, name), before.get(name) != after.get(name))
        for name in names
    ]


def _said(side: dict[str, Any], name: str) -> str | None:
    if name not in side:
        return None
    value = side[name]
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
