"""Claim patterns: the list, one pattern with its versions, and the editor as form and YAML."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.catalog import matching, selectors, services, steps
from apps.catalog.forms import (
    PatternForm,
    PatternMetaForm,
    PatternTenantsForm,
    PatternYamlForm,
    WithdrawForm,
    pattern_yaml,
)
from apps.catalog.models import ClaimPattern, PatternVersion
from apps.catalog.tables import PATTERNS, state_word
from apps.catalog.views import is_admin
from apps.common import asks, refusals, tables
from apps.common.htmx import posted
from apps.tenancy.models import PlatformRole
from apps.tenancy.selectors import require_platform
from domain import diffs, patterns
from domain.errors import DomainError

EXAMPLE = """\
parameters:
- {name: count, kind: count, label: Cards, default: 1, most: 8}
- {name: memory, kind: memory, label: "Memory of each card, at least", default: 40Gi, most: 80Gi}
requests:
- name: gpus
  device_class: h100
  count_parameter: count
  terms:
  - {op: at-least, key: gpu.nvidia.com/memory, parameter: memory}
"""


@require_GET
@login_required
def pattern_list(request: HttpRequest) -> HttpResponseBase:
    return tables.respond(
        request,
        PATTERNS,
        selectors.pattern_list(),
        "catalog/patterns.html",
        revision=selectors.pattern_revision,
        context={"is_admin": is_admin(request)},
        may_make=is_admin(request),
    )


@require_GET
@login_required
def pattern_page(request: HttpRequest, slug: str) -> HttpResponse:
    pattern = get_object_or_404(selectors.pattern_list(), slug=slug)
    versions = list(pattern.versions.select_related("author"))
    newest = versions[0]
    parsed = selectors.pattern_of(newest)
    context = {
        "pattern": pattern,
        "word": state_word(pattern),
        "versions": versions,
        "newest": newest,
        "approved": selectors.approved_pattern_version(slug),
        "approval": selectors.pending_approval(newest),
        "parsed": parsed,
        "shapes": [(one, patterns.selector_shapes(one)) for one in parsed.requests],
        "yaml": pattern_yaml(newest.content),
        "example": diffs.to_yaml(patterns.claim_spec(parsed, patterns.defaults(parsed))),
        "clusters": selectors.clusters(),
        "tenants": list(pattern.tenants.all()),
        "tenants_form": PatternTenantsForm(
            initial={"tenants": [one.slug for one in pattern.tenants.all()]}
        ),
        "withdraw_form": WithdrawForm(),
        "is_admin": is_admin(request),
    }
    return render(request, "catalog/pattern.html", context)


@require_http_methods(["GET", "POST"])
@login_required
def pattern_new(request: HttpRequest) -> HttpResponse:
    require_platform(request.user, PlatformRole.ADMIN)
    as_yaml = request.GET.get("as") == "yaml"
    meta = PatternMetaForm(posted(request))
    form = _content_form(request, as_yaml, {"content": EXAMPLE})
    if request.method == "POST" and meta.is_valid() and form.is_valid():
        data = meta.cleaned_data
        try:
            version = services.create_pattern(
                actor=request.user,  # type: ignore[arg-type]
                content=form.pattern_content(),
                note=form.cleaned_data["note"],
                **data,
            )
            return _saved(request, version)
        except refusals.Refusal as refusal:
            refusals.show(meta if _is_meta(refusal, meta) else form, refusal)
    return _editor(request, form, meta, None, as_yaml)


def _is_meta(refusal: Exception, meta: PatternMetaForm) -> bool:
    return any(name in meta.fields for name in getattr(refusal, "error_dict", ()))


def _content_form(
    request: HttpRequest, as_yaml: bool, initial: dict[str, Any]
) -> PatternForm | PatternYamlForm:
    kind = PatternYamlForm if as_yaml else PatternForm
    return kind(posted(request), initial=initial if as_yaml else None)


@require_http_methods(["GET", "POST"])
@login_required
def pattern_edit(request: HttpRequest, slug: str) -> HttpResponse:
    """The next version, or the open draft, as YAML: it holds whatever a pattern can say."""
    require_platform(request.user, PlatformRole.ADMIN)
    pattern = get_object_or_404(selectors.pattern_list(), slug=slug)
    newest = pattern.versions.first()
    held = pattern_yaml(newest.content) if newest else EXAMPLE
    form = PatternYamlForm(posted(request), initial={"content": held})
    if request.method == "POST" and form.is_valid():
        try:
            version = services.draft_pattern(
                actor=request.user,  # type: ignore[arg-type]
                pattern=pattern,
                content=form.pattern_content(),
                note=form.cleaned_data["note"],
            )
            return _saved(request, version)
        except refusals.Refusal as refusal:
            refusals.show(form, refusal)
    return _editor(request, form, None, pattern, True)


def _editor(
    request: HttpRequest,
    form: PatternForm | PatternYamlForm,
    meta: PatternMetaForm | None,
    pattern: ClaimPattern | None,
    as_yaml: bool,
) -> HttpResponse:
    context = {
        "form": form,
        "meta": meta,
        "pattern": pattern,
        "as_yaml": as_yaml,
        "clusters": selectors.clusters(),
    }
    failed = form.errors or (meta is not None and meta.errors)
    status = 422 if failed else 200
    return render(request, "catalog/pattern_form.html", context, status=status)


def _saved(request: HttpRequest, version: PatternVersion) -> HttpResponse:
    steps.saved(request, version)
    return redirect("catalog:pattern", version.pattern.slug)


@require_POST
@login_required
def pattern_match(request: HttpRequest) -> HttpResponse:
    """While typing: how many devices the pattern's defaults match now.

    With ?pattern= of one that has an approved version: what the new one would change.
    """
    require_platform(request.user, PlatformRole.ADMIN, PlatformRole.APPROVER)
    cluster = matching.cluster_of(request.POST.get("match_cluster", ""))
    form = PatternYamlForm(request.POST) if "content" in request.POST else PatternForm(request.POST)
    if cluster is None or not form.is_valid():
        return render(request, "catalog/match_none.html", {"cluster": cluster})
    try:
        pattern = patterns.pattern_from(form.pattern_content())
        before = selectors.approved_pattern_version(request.GET.get("pattern", ""))
        ask = matching.ask_pattern(request.user, cluster, pattern, before)
    except DomainError as refusal:
        context = {"cluster": cluster, "problem": refusals.sentence(refusal)}
        return render(request, "catalog/match_none.html", context)
    return render(request, "parts/ask.html", {"ask": asks.wait(ask)})


@require_POST
@login_required
def pattern_step(request: HttpRequest, slug: str, step: str) -> HttpResponse:
    """Submit the draft, or withdraw the newest approved version."""
    require_platform(request.user, PlatformRole.ADMIN)
    pattern = get_object_or_404(ClaimPattern, slug=slug)
    steps.take(
        request,
        step,
        draft=pattern.versions.first(),
        approved=selectors.approved_pattern_version(slug),
        consequence="what runs on it runs on",
    )
    return redirect("catalog:pattern", slug)


@require_POST
@login_required
def pattern_tenants(request: HttpRequest, slug: str) -> HttpResponse:
    require_platform(request.user, PlatformRole.ADMIN)
    pattern = get_object_or_404(ClaimPattern, slug=slug)
    form = PatternTenantsForm(request.POST)
    if form.is_valid():
        services.set_pattern_tenants(
            actor=request.user,  # type: ignore[arg-type]
            pattern=pattern,
            tenants=list(form.cleaned_data["tenants"]),
        )
        messages.success(request, "Saved who may use it.")
    else:
        messages.error(request, "Choose tenants from the list.")
    return redirect("catalog:pattern", slug)
