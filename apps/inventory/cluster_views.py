"""Clusters: the list, one cluster, registering, modes, the switch that stops all writes."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.common import asks, refusals, secrets, tables
from apps.common.models import Ask
from apps.inventory import checks, selectors, services, tasks
from apps.inventory.forms import ClusterForm, CredentialsForm, ModeForm, StopForm
from apps.inventory.models import Cluster, Mode
from apps.inventory.tables import CLUSTERS
from apps.inventory.views import segments_of
from apps.inventory.words import cluster_word
from apps.tenancy.models import PlatformRole
from apps.tenancy.selectors import require_platform
from domain.inventory import Tally
from kube import rights
from kube.credentials import Credentials

ENDS_SOON = timedelta(days=14)


@require_GET
@login_required
def cluster_list(request: HttpRequest) -> HttpResponseBase:
    require_platform(request.user, *PlatformRole)
    return tables.respond(
        request,
        CLUSTERS,
        selectors.clusters(),
        "inventory/clusters.html",
        revision=selectors.clusters_revision,
        context=lambda: {"is_admin": _is_admin(request), "switch": selectors.write_switch()},
        may_make=_is_admin(request),
    )


@require_GET
@login_required
def cluster_page(request: HttpRequest, slug: str) -> HttpResponse:
    require_platform(request.user, *PlatformRole)
    return _page(request, get_object_or_404(selectors.clusters(), slug=slug))


def _page(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    missing = cluster.rights.get("missing", [])
    tally = selectors.tallies_by_cluster().get(cluster.pk, Tally())
    ends = cluster.credentials_expire_at
    context = {
        "cluster": cluster,
        "word": cluster_word(cluster),
        "fresh": selectors.freshness_of(cluster),
        "tally": tally,
        "segments": segments_of(tally),
        "features": checks.shown_features(cluster.features),
        "missing": [
            (level, checks.missing_by_feature(missing, level)) for level in checks.EVERY_LEVEL
        ],
        "lacks": checks.lacks_rights(cluster.mode, missing),
        "unreadable": selectors.watch_problems(cluster),
        "ends_soon": ends is not None and ends - timezone.now() < ENDS_SOON,
        "mode_form": ModeForm(initial={"mode": cluster.mode}),
        "modes": Mode.choices,
        "is_admin": _is_admin(request),
        **_rights_shown(cluster.mode),
    }
    return render(request, "inventory/cluster.html", context)


def _rights_shown(mode: str) -> dict[str, str]:
    return {
        "manifest": rights.as_yaml(rights.manifests(mode=mode)),
        "manage_manifest": rights.as_yaml(rights.manifests(mode="manage", metrics=True)),
        "migrate_manifest": rights.as_yaml(rights.role_and_binding("migrate")),
        "token_command": rights.token_command(),
        "ca_command": rights.ca_command(),
    }


# --- Registering
@sensitive_post_parameters("kubeconfig", "token", "ca")
@require_http_methods(["GET", "POST"])
@login_required
def cluster_new(request: HttpRequest) -> HttpResponse:
    require_platform(request.user, PlatformRole.ADMIN)
    form = ClusterForm(request.POST or None)
    context = {"form": form, **_rights_shown(Mode.OBSERVE)}
    if request.method == "POST" and form.is_valid():
        names = {"slug": form.cleaned_data["slug"], "name": form.cleaned_data["name"]}
        context["ask"] = _try_out(request, form.opened, names)
    status = 422 if form.errors else 200
    return render(request, "inventory/cluster_new.html", context, status=status)


def _try_out(request: HttpRequest, opened: Credentials, extra: dict[str, str]) -> Ask:
    ask = asks.put(tasks.TRY_OUT, tasks.question_of(opened) | extra, asked_by=request.user)
    return asks.wait(ask)


@require_POST
@login_required
def cluster_register(request: HttpRequest, key: UUID) -> HttpResponse:
    """Register what was tried out; the credentials come from the ask, not from the browser."""
    require_platform(request.user, PlatformRole.ADMIN)
    ask = _tried(request, key)
    try:
        cluster = services.register_cluster(
            actor=request.user,
            slug=ask.question["slug"],
            name=ask.question["name"],
            credentials=tasks.credentials_of(ask),
        )
    except refusals.Refusal as refusal:
        messages.error(request, refusals.sentence(refusal))
        return redirect("inventory:cluster-new")
    except secrets.Undecryptable as error:
        messages.error(request, f"Try it out again: {error}.")
        return redirect("inventory:cluster-new")
    messages.success(request, f"{cluster.name} is registered. Its first list is on the way.")
    return redirect("inventory:cluster", cluster.slug)


def _tried(request: HttpRequest, key: UUID) -> Ask:
    user: Any = request.user
    ask = get_object_or_404(Ask, key=key, kind=tasks.TRY_OUT, asked_by=user.pk)
    if ask.state != Ask.State.ANSWERED:
        raise Http404
    return ask


@sensitive_post_parameters("kubeconfig", "token", "ca")
@require_http_methods(["GET", "POST"])
@login_required
def cluster_credentials(request: HttpRequest, slug: str) -> HttpResponse:
    """Replace the credentials of a cluster, tried out first."""
    require_platform(request.user, PlatformRole.ADMIN)
    cluster = get_object_or_404(selectors.active_clusters(), slug=slug)
    form = CredentialsForm(request.POST or None)
    context = {"form": form, "cluster": cluster, **_rights_shown(cluster.mode)}
    if request.method == "POST" and form.is_valid():
        context["ask"] = _try_out(request, form.opened, {"cluster": cluster.slug})
    status = 422 if form.errors else 200
    return render(request, "inventory/cluster_new.html", context, status=status)


@require_POST
@login_required
def cluster_replace(request: HttpRequest, slug: str, key: UUID) -> HttpResponse:
    require_platform(request.user, PlatformRole.ADMIN)
    cluster = get_object_or_404(selectors.active_clusters(), slug=slug)
    ask = _tried(request, key)
    if ask.question.get("cluster") != slug:
        raise Http404
    try:
        services.rotate_credentials(
            actor=request.user, cluster=cluster, credentials=tasks.credentials_of(ask)
        )
        messages.success(request, "The new credentials are in use.")
    except refusals.Refusal as refusal:
        messages.error(request, refusals.sentence(refusal))
    return redirect("inventory:cluster", slug)


# --- Steps
@require_POST
@login_required
def cluster_mode(request: HttpRequest, slug: str) -> HttpResponse:
    require_platform(request.user, PlatformRole.ADMIN)
    cluster = get_object_or_404(selectors.active_clusters(), slug=slug)
    form = ModeForm(request.POST)
    if form.is_valid():
        mode = form.cleaned_data["mode"]
        services.set_mode(actor=request.user, cluster=cluster, mode=mode)
        messages.success(request, f"{cluster.name} is in mode {mode} now.")
    return redirect("inventory:cluster", slug)


@require_POST
@login_required
def cluster_check(request: HttpRequest, slug: str) -> HttpResponse:
    """Look again at what the cluster serves and grants."""
    require_platform(request.user, PlatformRole.ADMIN)
    cluster = get_object_or_404(selectors.active_clusters(), slug=slug)
    tasks.check_cluster.delay(cluster.pk)
    messages.info(request, "It is being looked at; what is found appears here in a moment.")
    return redirect("inventory:cluster", slug)


@require_POST
@login_required
def cluster_retire(request: HttpRequest, slug: str) -> HttpResponse:
    require_platform(request.user, PlatformRole.ADMIN)
    cluster = get_object_or_404(selectors.active_clusters(), slug=slug)
    try:
        services.retire_cluster(actor=request.user, cluster=cluster)
        messages.success(request, f"{cluster.name} is retired; its history is kept.")
    except refusals.Refusal as refusal:
        messages.error(request, refusals.sentence(refusal))
    return redirect("inventory:clusters")


@require_http_methods(["GET", "POST"])
@login_required
def writes_stop(request: HttpRequest) -> HttpResponse:
    """The switch that stops all writes to all clusters."""
    require_platform(request.user, PlatformRole.ADMIN)
    form = StopForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        services.stop_writes(actor=request.user, reason=form.cleaned_data["reason"])
        messages.warning(request, "Nothing is written to any cluster until this is taken back.")
        return redirect("inventory:clusters")
    context = {"form": form, "switch": selectors.write_switch()}
    return render(request, "inventory/writes.html", context, status=422 if form.errors else 200)


@require_POST
@login_required
def writes_allow(request: HttpRequest) -> HttpResponse:
    require_platform(request.user, PlatformRole.ADMIN)
    services.allow_writes(actor=request.user)
    messages.success(request, "Clusters in mode manage are written to again.")
    return redirect("inventory:clusters")


def _is_admin(request: HttpRequest) -> bool:
    user: Any = request.user
    return bool(user.has_platform_role(PlatformRole.ADMIN))
