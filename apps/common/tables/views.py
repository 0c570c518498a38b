from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

from apps.common.etags import etag_of, not_modified, stamp
from apps.common.htmx import wants_part
from apps.common.tables.columns import Table
from apps.common.tables.export import export_response
from apps.common.tables.listing import Listing, Unavailable

PART = "parts/list_body.html"


def respond(
    request: HttpRequest,
    table: Table,
    rows: QuerySet[Any] | Callable[[], QuerySet[Any]],
    template: str,
    *,
    revision: Callable[[], str] | None = None,
    context: dict[str, Any] | Callable[[], dict[str, Any]] | None = None,
    unavailable: Unavailable | None = None,
    may_make: bool = True,
) -> HttpResponseBase:
    """The list as a page, as its part for htmx, or as a file with `?export=csv` or `json`.

    `rows` are those the person may see. `revision` tells cheaply (one query) what the rows depend
    on, as a text that changes with them; while it stands, the part answers 304 and no other query
    runs: what asks the database to make `rows` or `context` is given as a function. A list without
    a revision is sent anew each time. `context` is for the page around the list, not for the part.
    `may_make` is false for people who could not use the link of an empty list's `none_yet`.
    """
    etag = etag_of(request, revision()) if revision else ""
    is_part = wants_part(request)
    if is_part and (answer := not_modified(request, etag)):
        return answer
    found = rows() if callable(rows) else rows
    listing = Listing(request, table, found, unavailable=unavailable, may_make=may_make)
    if (form := request.GET.get("export")) in ("csv", "json") and not unavailable:
        return export_response(listing, form)
    listing.etag = etag
    if is_part:
        response = render(request, PART, {"listing": listing})
    else:
        around = context() if callable(context) else context or {}
        response = render(request, template, {"listing": listing, **around})
    patch_vary_headers(response, ["HX-Request"])
    if is_part and request.get_full_path() != listing.here:
        # A live search sends every field of its form; the address bar keeps what says something.
        response["HX-Replace-Url"] = listing.here
    return stamp(response, etag)
