"""Would it fit, how scattered is what is free, what if the plugin's pods asked by claims."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_http_methods

from apps.catalog import selectors as catalog
from apps.claims import selectors
from apps.common import asks
from apps.common.models import Ask
from apps.inventory.models import Cluster, Mirrored, Pod
from apps.placement import asking
from apps.placement.alternatives import claim_of_pattern
from apps.placement.forms import FragmentsForm, PatternChoice, ShadowForm, WhatIf
from apps.tenancy.models import PlatformRole
from apps.tenancy.selectors import require_platform, tenants_of
from domain.errors import InvalidValue

EXAMPLE = """\
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: {class_name}
        count: 1
"""


@require_http_methods(["GET", "POST"])
@login_required
def what_if(request: HttpRequest) -> HttpResponse:
    """GET may name a pattern with its parameters, or a claim: the text to begin with."""
    user: Any = request.user
    clusters = asking.clusters_for(user)
    if request.method == "POST":
        return _answer_what_if(request, WhatIf(request.POST, clusters=clusters))
    choice = PatternChoice(request.GET or None, versions=_versions(user))
    text, problem = _claim_text(choice)
    if choice.pattern is None and (known := _known_claim(request)):
        text = known
    form = WhatIf(
        initial={"claim": text, "cluster": request.GET.get("cluster", "")}, clusters=clusters
    )
    return render(
        request,
        "placement/what_if.html",
        {"form": form, "choice": choice, "problem": problem, "clusters": clusters},
    )


def _answer_what_if(request: HttpRequest, form: WhatIf) -> HttpResponse:
    if not form.is_valid():
        return render(request, "placement/what_if_refused.html", {"form": form})
    cluster = form.clusters[form.cleaned_data["cluster"]]
    ask = asking.check(request.user, cluster, [form.cleaned_data["claim"]])
    return render(request, "parts/ask.html", {"ask": asks.wait(ask)})


@require_GET
@login_required
def fixes(request: HttpRequest, key: str) -> HttpResponse:
    """What would fit instead of what a check of one's own found no room for."""
    first = get_object_or_404(Ask, key=key, asked_by=request.user.pk, kind="placement.check")
    return render(request, "parts/ask.html", {"ask": asks.wait(asking.fixes_for(first))})


def _versions(user: Any) -> list[Any]:
    """The newest approved version of every pattern that some tenant of the person may use."""
    found = {
        version.pattern_id: version
        for tenant in tenants_of(user)[:50]
        for version in catalog.usable_patterns(tenant)
    }
    return sorted(found.values(), key=lambda one: one.pattern.name)


def _claim_text(choice: PatternChoice) -> tuple[str, str]:
    """The claim to begin with, and what is wrong with the parameters."""
    if choice.pattern is not None:
        try:
            return asking.as_yaml(claim_of_pattern(choice.pattern, choice.values())), ""
        except InvalidValue as error:
            return "", str(error)
    names = catalog.classes().values_list("name", flat=True)
    return EXAMPLE.format(class_name=next(iter(names), "gpu.nvidia.com")), ""


def _known_claim(request: HttpRequest) -> str:
    """The claim that the address names, if there is one that the person may see."""
    named = {name: request.GET.get(name, "") for name in ("cluster", "namespace", "claim")}
    if not all(named.values()):
        return ""
    rows = selectors.claims_for(request.user).filter(
        cluster__slug=named["cluster"], namespace=named["namespace"], name=named["claim"]
    )
    claim = rows.first()
    body = selectors.whole_claim(claim) if claim is not None else None
    return asking.as_yaml(body) if body else ""


# --- Shadow
@require_http_methods(["GET", "POST"])
@login_required
def shadow(request: HttpRequest) -> HttpResponse:
    require_platform(request.user, *PlatformRole)
    form = ShadowForm(request.POST or None, **_choices(request))
    if request.method == "GET":
        return render(request, "placement/shadow.html", {"form": form})
    if not form.is_valid():
        return render(request, "placement/what_if_refused.html", {"form": form})
    return render(request, "parts/ask.html", {"ask": asks.wait(_ask_shadow(request, form))})


def _ask_shadow(request: HttpRequest, form: ShadowForm) -> Ask:
    given = form.cleaned_data
    cluster = form.clusters.get(given["cluster"])
    if cluster is None:
        raise Http404
    return asking.shadow(
        request.user,
        cluster,
        class_name=given["device_class"],
        resource=given["resource"],
        tenant=given["tenant"],
        node_labels=form.labels(),
        as_published=given["as_published"],
    )


def _choices(request: HttpRequest) -> dict[str, Any]:
    clusters = asking.clusters_for(request.user)
    ids = [one.pk for one in clusters]
    held = Pod.objects.filter(cluster__in=ids).exclude(requests={})
    resources = {name for requests in held.values_list("requests", flat=True) for name in requests}
    return {
        "clusters": clusters,
        "classes": _class_names(clusters),
        "resources": sorted(name for name in resources if "/" in name),
        "tenants": list(tenants_of(request.user).values_list("slug", "name")),
    }


def _class_names(clusters: list[Cluster]) -> list[str]:
    """Device classes that are in these clusters now."""
    mirrored = Mirrored.objects.filter(cluster__in=clusters, kind="deviceclasses")
    return sorted(set(mirrored.values_list("name", flat=True)))


# --- Fragmentation
@require_GET
@login_required
def fragments(request: HttpRequest) -> HttpResponse:
    """How scattered what is free is; the address names the cluster and maybe a class."""
    require_platform(request.user, *PlatformRole)
    clusters = asking.clusters_for(request.user)
    given = request.GET.dict()
    if clusters:
        given.setdefault("cluster", clusters[0].slug)
    form = FragmentsForm(given, clusters=clusters, classes=_class_names(clusters))
    ask = None
    if form.is_valid():
        cluster = form.clusters[form.cleaned_data["cluster"]]
        class_name = form.cleaned_data["device_class"]
        ask = asks.wait(asking.fragments(request.user, cluster, class_name))
    context = {"form": form, "ask": ask, "clusters": clusters}
    return render(request, "placement/fragments.html", context)
