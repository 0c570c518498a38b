"""The approvers' inbox, and one review with its diff on the first screen (S9)."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.catalog import matching, selectors, services
from apps.catalog.forms import DecisionForm, plain_class, plain_pattern
from apps.catalog.models import Approval, ClassVersion
from apps.catalog.tables import APPROVALS
from apps.common import asks, refusals, tables
from apps.common.htmx import posted
from apps.tenancy.models import PlatformRole
from apps.tenancy.selectors import require_platform
from domain import deviceclasses, diffs, patterns


@require_GET
@login_required
def approval_list(request: HttpRequest) -> HttpResponseBase:
    require_platform(request.user, *PlatformRole)
    return tables.respond(
        request,
        APPROVALS,
        selectors.approvals(),
        "catalog/approvals.html",
        revision=selectors.approval_revision,
    )


@require_http_methods(["GET", "POST"])
@login_required
def approval_page(request: HttpRequest, approval_id: int) -> HttpResponse:
    """Look at a review, and decide it."""
    require_platform(request.user, *PlatformRole)
    approval = get_object_or_404(selectors.approvals(), pk=approval_id)
    form = DecisionForm(posted(request), initial={"content_hash": approval.content_hash})
    if request.method == "POST" and form.is_valid():
        try:
            _decide(request, approval, form)
            return redirect("catalog:approval", approval.pk)
        except refusals.Refusal as refusal:
            refusals.show(form, refusal)
    context = _context(request, approval) | {"form": form}
    status = 422 if form.errors else 200
    return render(request, "catalog/approval.html", context, status=status)


@require_POST
@login_required
def approval_effect(request: HttpRequest, approval_id: int) -> HttpResponse:
    """What the version would change in a cluster, for who has to decide."""
    require_platform(request.user, *PlatformRole)
    approval = get_object_or_404(selectors.approvals(), pk=approval_id)
    cluster = matching.cluster_of(request.POST.get("match_cluster", ""))
    if cluster is None:
        return render(request, "catalog/match_none.html", {"cluster": None})
    ask = matching.ask_version(request.user, cluster, approval.version)
    return render(request, "parts/ask.html", {"ask": asks.wait(ask)})


def _decide(request: HttpRequest, approval: Approval, form: DecisionForm) -> None:
    actor: Any = request.user
    text = form.cleaned_data["text"]
    if "take_back" in request.POST:
        require_platform(actor, PlatformRole.ADMIN)
        services.take_back(actor=actor, approval=approval)
        messages.success(request, "The review is taken back; the version is a draft again.")
        return
    require_platform(actor, PlatformRole.APPROVER)
    if "approve" in request.POST:
        shown = form.cleaned_data["content_hash"]
        services.approve(actor=actor, approval=approval, content_hash=shown, text=text)
        messages.success(request, f"{approval.version} is approved.")
    else:
        services.deny(actor=actor, approval=approval, text=text)
        messages.success(request, f"{approval.version} goes back to its author.")


def _context(request: HttpRequest, approval: Approval) -> dict[str, Any]:
    version = approval.version
    earlier = selectors.previous_approved(version)
    user: Any = request.user
    return {
        "approval": approval,
        "version": version,
        "is_class": isinstance(version, ClassVersion),
        "earlier": earlier,
        "diff": diffs.text(_plain(earlier) if earlier else None, _plain(version)),
        "becomes": _becomes(version),
        "shapes": _shapes(version),
        "remarks": _remarks(version),
        "clusters": selectors.clusters(),
        "history": version.approvals.exclude(pk=approval.pk).select_related("decided_by"),
        "is_pending": approval.state == Approval.State.PENDING,
        "why_not": _why_not(user, approval),
        "may_take_back": user.has_platform_role(PlatformRole.ADMIN),
    }


def _plain(version: Any) -> Any:
    """The content in a fixed order, without what is empty."""
    if isinstance(version, ClassVersion):
        return plain_class(version.content)
    return plain_pattern(version.content)


def _becomes(version: Any) -> str:
    """The object, or a claim with the pattern's defaults, that comes of it."""
    if isinstance(version, ClassVersion):
        content = deviceclasses.class_from(version.content)
        return diffs.to_yaml(
            deviceclasses.manifest(version.device_class.name, version.number, content)
        )
    pattern = patterns.pattern_from(version.content)
    return diffs.to_yaml(patterns.claim_spec(pattern, patterns.defaults(pattern)))


def _shapes(version: Any) -> list[tuple[str, str]]:
    """(request, expression) with open parameters, for a pattern."""
    if isinstance(version, ClassVersion):
        return []
    pattern = patterns.pattern_from(version.content)
    return [
        (request.name, shape)
        for request in pattern.requests
        for shape in patterns.selector_shapes(request)
    ]


def _remarks(version: Any) -> list[deviceclasses.Remark]:
    """What an approver should know of a class's selectors; those of patterns are made by us."""
    if not isinstance(version, ClassVersion):
        return []
    return deviceclasses.remarks(deviceclasses.class_from(version.content).selectors)


def _why_not(user: Any, approval: Approval) -> str:
    """Why this person cannot decide; empty when they can."""
    if approval.state != Approval.State.PENDING:
        return f"This review is {approval.get_state_display().lower()}."
    if approval.expires_at <= timezone.now():
        return "This review has expired."
    if not user.has_platform_role(PlatformRole.APPROVER):
        return "Only an approver decides."
    if user.pk in (approval.requested_by_id, approval.version.author_id):
        return "Somebody else has to approve what you wrote or submitted."
    return ""
