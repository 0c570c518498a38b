"""Device classes: the list, one class with its versions and clusters, and their changes."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.catalog import matching, selectors, services, steps
from apps.catalog.forms import (
    ClassContentForm,
    ClassForm,
    PlaceForm,
    WithdrawForm,
    class_initial,
)
from apps.catalog.models import ClassInCluster, ClassVersion, DeviceClass
from apps.catalog.tables import CLASSES, state_word
from apps.common import asks, refusals, tables
from apps.common.htmx import posted
from apps.tenancy.models import PlatformRole
from apps.tenancy.selectors import require_platform
from domain import deviceclasses, diffs


def is_admin(request: HttpRequest) -> bool:
    user: Any = request.user
    return bool(user.has_platform_role(PlatformRole.ADMIN))


@require_GET
@login_required
def class_list(request: HttpRequest) -> HttpResponseBase:
    return tables.respond(
        request,
        CLASSES,
        selectors.classes(),
        "catalog/classes.html",
        revision=selectors.class_revision,
        context={"is_admin": is_admin(request)},
        may_make=is_admin(request),
    )


@require_GET
@login_required
def class_page(request: HttpRequest, name: str) -> HttpResponse:
    device_class = get_object_or_404(selectors.classes(), name=name)
    versions = list(device_class.versions.select_related("author"))
    newest = versions[0] if versions else None
    context = {
        "device_class": device_class,
        "word": state_word(device_class),
        "versions": versions,
        "newest": newest,
        "shown": _shown(newest),
        "approval": selectors.pending_approval(newest) if newest else None,
        "approved": selectors.approved_class_version(device_class),
        "placements": list(device_class.placements.select_related("cluster", "applied_version")),
        "clusters": selectors.clusters(),
        "place_form": PlaceForm(),
        "withdraw_form": WithdrawForm(),
        "is_admin": is_admin(request),
    }
    return render(request, "catalog/class.html", context)


def _shown(version: ClassVersion | None) -> dict[str, str]:
    """A version as the object it becomes, and what it changes."""
    if version is None:
        return {}
    earlier = selectors.previous_approved(version)
    after = _manifest(version)
    before = _manifest(earlier) if isinstance(earlier, ClassVersion) else None
    return {"yaml": diffs.to_yaml(after), "diff": diffs.text(before, after)}


def _manifest(version: ClassVersion) -> dict[str, Any]:
    content = deviceclasses.class_from(version.content)
    return deviceclasses.manifest(version.device_class.name, version.number, content)


@require_http_methods(["GET", "POST"])
@login_required
def class_new(request: HttpRequest) -> HttpResponse:
    require_platform(request.user, PlatformRole.ADMIN)
    form = ClassForm(posted(request))
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            version = services.create_class(
                actor=request.user,  # type: ignore[arg-type]
                name=data["name"],
                description=data["description"],
                content=form.content(),
                note=data["note"],
                clusters=data["clusters"],
            )
            return _saved(request, version)
        except refusals.Refusal as refusal:
            refusals.show(form, refusal)
    return _editor(request, form, None)


@require_http_methods(["GET", "POST"])
@login_required
def class_edit(request: HttpRequest, name: str) -> HttpResponse:
    """The next version, or the open draft."""
    require_platform(request.user, PlatformRole.ADMIN)
    device_class = get_object_or_404(DeviceClass, name=name)
    newest = selectors.latest_class_version(device_class)
    form = ClassContentForm(
        posted(request), initial=class_initial(newest.content if newest else {})
    )
    if request.method == "POST" and form.is_valid():
        try:
            version = services.draft_class(
                actor=request.user,  # type: ignore[arg-type]
                device_class=device_class,
                content=form.content(),
                note=form.cleaned_data["note"],
            )
            return _saved(request, version)
        except refusals.Refusal as refusal:
            refusals.show(form, refusal)
    return _editor(request, form, device_class)


def _editor(
    request: HttpRequest, form: ClassContentForm, device_class: DeviceClass | None
) -> HttpResponse:
    context = {"form": form, "device_class": device_class, "clusters": selectors.clusters()}
    status = 422 if form.errors else 200
    return render(request, "catalog/class_form.html", context, status=status)


def _saved(request: HttpRequest, version: ClassVersion) -> HttpResponse:
    steps.saved(request, version)
    return redirect("catalog:class", version.device_class.name)


@require_POST
@login_required
def class_match(request: HttpRequest) -> HttpResponse:
    """While typing: how many devices the selectors match now, in the chosen cluster.

    With ?class= of a class that has an approved version: what the new selectors would change.
    """
    require_platform(request.user, PlatformRole.ADMIN, PlatformRole.APPROVER)
    cluster = matching.cluster_of(request.POST.get("match_cluster", ""))
    text = request.POST.get("selectors", "").replace("\r\n", "\n")[:40_000]
    expressions = [part.strip() for part in text.split("\n---\n") if part.strip()]
    remarks = deviceclasses.remarks(expressions[: deviceclasses.MOST_SELECTORS])
    if cluster is None or not expressions or any(one.is_error for one in remarks):
        context = {"cluster": cluster, "remarks": remarks}
        return render(request, "catalog/match_none.html", context)
    before = matching.approved_class(request.GET.get("class", ""))
    ask = asks.wait(matching.ask_class(request.user, cluster, expressions, before))
    return render(request, "catalog/match.html", {"ask": ask, "remarks": remarks})


@require_POST
@login_required
def class_step(request: HttpRequest, name: str, step: str) -> HttpResponse:
    """Submit the draft, or withdraw the approved version."""
    require_platform(request.user, PlatformRole.ADMIN)
    device_class = get_object_or_404(DeviceClass, name=name)
    steps.take(
        request,
        step,
        draft=selectors.latest_class_version(device_class),
        approved=selectors.approved_class_version(device_class),
        consequence="leaves its clusters",
    )
    return redirect("catalog:class", name)


@require_POST
@login_required
def class_place(request: HttpRequest, name: str) -> HttpResponse:
    require_platform(request.user, PlatformRole.ADMIN)
    device_class = get_object_or_404(DeviceClass, name=name)
    form = PlaceForm(request.POST)
    if form.is_valid():
        placement = services.place_class(
            actor=request.user,  # type: ignore[arg-type]
            device_class=device_class,
            **form.cleaned_data,
        )
        messages.success(request, f"{placement}: it follows the approved version from now on.")
    else:
        messages.error(request, "Choose a cluster.")
    return redirect("catalog:class", name)


@require_POST
@login_required
def class_put_back(request: HttpRequest, name: str, cluster: str) -> HttpResponse:
    require_platform(request.user, PlatformRole.ADMIN)
    placement = get_object_or_404(ClassInCluster, device_class__name=name, cluster__slug=cluster)
    services.put_back_class(actor=request.user, placement=placement)  # type: ignore[arg-type]
    messages.success(request, f"{placement} is being put back.")
    return redirect("catalog:class", name)
