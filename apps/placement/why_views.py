"""Why a claim or a pod waits: every layer that it has to pass, and what would fit now."""

from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from apps.claims import selectors
from apps.claims.models import Claim
from apps.claims.tables import claim_word
from apps.common import asks
from apps.common.models import Ask
from apps.inventory.models import Cluster, Pod
from apps.inventory.selectors import active_ids, events_about, freshness_of
from apps.placement import asking, waiting
from apps.tenancy.selectors import tenants_of


@require_GET
@login_required
def why_claim(request: HttpRequest, claim_id: int) -> HttpResponse:
    """Why a claim waits: its pod decides, where one is known."""
    claim = get_object_or_404(selectors.claims_for(request.user), pk=claim_id)
    pods = [pod for pod in selectors.pods_of(claim) if not pod.node_name]
    if pods:
        return _why_pod(request, pods[0])
    ask = asking.why_claim(request.user, claim)
    own = {"claim": claim, "word": claim_word(claim), "since": claim.created_at}
    return _page(request, claim, own, ask, claim.name)


@require_GET
@login_required
def why_pod(request: HttpRequest, cluster: str, namespace: str, name: str) -> HttpResponse:
    found = Pod.objects.filter(cluster__in=active_ids(), cluster__slug=cluster)
    user: Any = request.user
    if not user.is_platform:
        found = found.filter(tenant__in=tenants_of(user).values_list("slug", flat=True))
    found = found.select_related("cluster")
    return _why_pod(request, get_object_or_404(found, namespace=namespace, name=name))


def _why_pod(request: HttpRequest, pod: Pod) -> HttpResponse:
    ask = asking.why_pod(request.user, pod)
    own = {
        "pod": pod,
        "word": pod.phase,
        "since": pod.created_at,
        "waiting": pod.waiting,
        "line": waiting.place_in_line(pod, request.user) if not pod.node_name else None,
    }
    return _page(request, pod, own, ask, next(iter(pod.claims), ""))


def _page(
    request: HttpRequest, row: Pod | Claim, own: dict[str, Any], ask: Ask, claim: str
) -> HttpResponse:
    context = {
        "name": row.name,
        "namespace": row.namespace,
        "cluster": row.cluster,
        "ask": asks.wait(ask),
        "fresh": freshness_of(row.cluster),
        "events": events_about(row.cluster_id, [row.uid])[:10],
        "try_url": _try_url(row.cluster, row.namespace, claim),
    }
    return render(request, "placement/why.html", context | own)


def _try_url(cluster: Cluster, namespace: str, claim: str) -> str:
    known = {"cluster": cluster.slug}
    if claim:
        known |= {"namespace": namespace, "claim": claim}
    return f"{reverse('placement:what-if')}?{urlencode(known)}"
