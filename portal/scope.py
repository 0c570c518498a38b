"""The menus by which a person narrows a page to a cluster or a tenant."""

from typing import Any
from urllib.parse import urlencode, urlsplit

from django.contrib.auth.decorators import login_required
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import Resolver404, resolve, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET

from apps.api.clusters import clusters_for
from apps.tenancy.selectors import tenants_of

SHOWN = 20


@require_GET
@login_required
def scope_menu(request: HttpRequest, kind: str) -> HttpResponse:
    """The first clusters or tenants whose name matches `find`, each as a link to `from` with it."""
    source = request.GET.get("from", "/")
    if not url_has_allowed_host_and_scheme(source, allowed_hosts=None):
        source = "/"
    rows = _rows(request.user, kind)
    search = request.GET.get("find", "").replace("\0", "").strip()[:100]
    if search:
        rows = rows.filter(Q(slug__icontains=search) | Q(name__icontains=search))
    slugs = list(rows.values_list("slug", flat=True)[: SHOWN + 1])
    context = {
        "kind": kind,
        "search": search,
        "url": request.path,
        "kept": [("from", source)],
        "links": [(slug, narrowed(source, kind, slug)) for slug in slugs[:SHOWN]],
        "more": len(slugs) > SHOWN,
        "all_url": narrowed(source, kind, ""),
    }
    return render(request, "parts/scope_menu.html", context)


def _rows(user: Any, kind: str) -> QuerySet[Any]:
    if kind == "tenant":
        return tenants_of(user).filter(retired_at=None).order_by("slug")
    if kind == "cluster":
        return clusters_for(user).filter(retired_at=None).order_by("slug")
    raise Http404


def narrowed(source: str, kind: str, slug: str) -> str:
    """The page `source` for that cluster or tenant; empty takes the narrowing away.

    A page whose path holds the tenant is exchanged for the same page of the other tenant, or for
    the room's list where the page shows one thing of the old one.
    """
    parts = urlsplit(source)
    query = QueryDict(parts.query, mutable=True)
    query.pop("page", None)
    query.pop(kind, None)
    path = parts.path
    try:
        match = resolve(path)
    except Resolver404:
        match = None
    if match and kind in match.kwargs:
        if not slug:
            return reverse("home")
        others = set(match.kwargs) - {kind}
        name = f"{match.namespace}:list" if others else match.view_name
        path = reverse(name, args=[slug])
    elif slug:
        query[kind] = slug
    text = urlencode([(name, value) for name, values in query.lists() for value in values])
    return f"{path}?{text}" if text else path
