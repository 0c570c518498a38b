"""Would it fit, why does it wait, and what if the device plugin's workloads asked by claims."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET, require_http_methods

from apps.catalog import selectors as catalog
from apps.claims import selectors
from apps.claims.tables import claim_word
from apps.common import asks
from apps.common.models import Ask
from apps.inventory.models import Mirrored, Pod
from apps.inventory.selectors import active_ids, events_about, freshness_of
from apps.placement import asking
from apps.placement.forms import PatternChoice, ShadowForm, WhatIf
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
    """GET may name a pattern and its parameters: the claim is written from them."""
    user: Any = request.user
    clusters = asking.clusters_for(user)
    if request.method == "POST":
        return _answer_what_if(request, WhatIf(request.POST, clusters=clusters))
    choice = PatternChoice(request.GET or None, versions=_versions(user))
    text, problem = _claim_text(choice)
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
            return asking.as_yaml(asking.claim_of_pattern(choice.pattern, choice.values())), ""
        except InvalidValue as error:
            return "", str(error)
    names = catalog.classes().values_list("name", flat=True)
    return EXAMPLE.format(class_name=next(iter(names), "gpu.nvidia.com")), ""


# --- Why
@require_GET
@login_required
def why_claim(request: HttpRequest, claim_id: int) -> HttpResponse:
    """Why a claim waits: its pod decides, where one is known."""
    claim = get_object_or_404(selectors.claims_for(request.user), pk=claim_id)
    pods = [pod for pod in selectors.pods_of(claim) if not pod.node_name]
    if pods:
        return _why(request, pods[0])
    ask = asking.why(request.user, claim.cluster, claim.namespace, claim.tenant, claim=claim.name)
    context = {
        "name": claim.name,
        "namespace": claim.namespace,
        "cluster": claim.cluster,
        "claim": claim,
        "word": claim_word(claim),
        "since": claim.created_at,
        "ask": asks.wait(ask),
        "fresh": freshness_of(claim.cluster),
        "events": events_about(claim.cluster_id, [claim.uid])[:10],
    }
    return render(request, "placement/why.html", context)


@require_GET
@login_required
def why_pod(request: HttpRequest, cluster: str, namespace: str, name: str) -> HttpResponse:
    found = Pod.objects.filter(cluster__in=active_ids(), cluster__slug=cluster)
    user: Any = request.user
    if not user.is_platform:
        found = found.filter(tenant__in=tenants_of(user).values_list("slug", flat=True))
    return _why(
        request,
        get_object_or_404(found.select_related("cluster"), namespace=namespace, name=name),
    )


def _why(request: HttpRequest, pod: Pod) -> HttpResponse:
    ask = asking.why(request.user, pod.cluster, pod.namespace, pod.tenant, pod=pod.name)
    context = {
        "name": pod.name,
        "namespace": pod.namespace,
        "cluster": pod.cluster,
        "pod": pod,
        "word": pod.phase,
        "since": pod.created_at,
        "waiting": pod.waiting,
        "ask": asks.wait(ask),
        "fresh": freshness_of(pod.cluster),
        "events": events_about(pod.cluster_id, [pod.uid])[:10],
    }
    return render(request, "placement/why.html", context)


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
    mirrored = Mirrored.objects.filter(cluster__in=ids, kind="deviceclasses")
    held = Pod.objects.filter(cluster__in=ids).exclude(requests={})
    resources = {name for requests in held.values_list("requests", flat=True) for name in requests}
    return {
        "clusters": clusters,
        "classes": sorted(set(mirrored.values_list("name", flat=True))),
        "resources": sorted(name for name in resources if "/" in name),
        "tenants": list(tenants_of(request.user).values_list("slug", "name")),
    }
