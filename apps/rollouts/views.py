from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.common import refusals, secrets, tables
from apps.common.etags import etag_of, not_modified, stamp
from apps.common.htmx import posted, render_page, wants_part
from apps.rollouts import access, charts, selectors, services, showing, webhooks
from apps.rollouts.forms import MigrationForm, ReasonForm
from apps.rollouts.models import Migration, Workload
from apps.rollouts.tables import MIGRATIONS
from apps.tenancy.models import PlatformRole, Role
from domain import diffs
from domain.gates import Gate
from domain.rollout.settings import settings_from


@require_GET
@login_required
def migration_list(request: HttpRequest) -> HttpResponseBase:
    return tables.respond(
        request,
        MIGRATIONS,
        lambda: selectors.migrations_of(request.user).prefetch_related("workloads"),
        "rollouts/list.html",
        revision=lambda: selectors.list_revision(request.user),
    )


def _may_draw_up(user: Any) -> bool:
    own = user.memberships.filter(role__gte=Role.EDITOR)
    return bool(user.has_platform_role(PlatformRole.ADMIN) or own.exists())


@require_http_methods(["GET", "POST"])
@login_required
def migration_new(request: HttpRequest) -> HttpResponse:
    """Choose what moves and how it is judged; the draft that comes of it moves nothing yet."""
    if not _may_draw_up(request.user):
        raise PermissionDenied("This needs the role platform admin, or editor of a tenant.")
    form = MigrationForm(posted(request), user=request.user)
    if request.method == "POST" and form.is_valid():
        made = _create(request, form)
        if made is not None:
            return redirect("rollouts:detail", made.pk)
    status = 422 if form.errors else 200
    return render(request, "rollouts/new.html", {"form": form}, status=status)


def _create(request: HttpRequest, form: MigrationForm) -> Migration | None:
    actor: Any = request.user
    scope = form.chosen()
    by_name = scope["kind"] == "deployments"
    chosen = list(form.cleaned_data["deployments"]) if by_name else []
    try:
        content = form.content()
        access.require_own(actor, chosen, content)
        made = services.create_migration(
            actor=actor,
            name=form.cleaned_data["name"],
            cluster=form.cleaned_data["cluster"],
            deployments=chosen,
            content=content,
            scope=None if by_name else scope,
            tenant=access.scope_tenant(actor, scope),
        )
    except refusals.Refusal as refusal:
        refusals.show(form, refusal)
        return None
    messages.success(request, f"{made} is drawn up. Read it, then start it.")
    return made


@require_GET
@login_required
def migration_page(request: HttpRequest, migration_id: int) -> HttpResponse:
    """Where it stands and why; what can be done; what was decided."""
    migration = selectors.migration_for(request.user, migration_id)
    etag = etag_of(request, selectors.revision_of(migration))
    if wants_part(request) and (answer := not_modified(request, etag)):
        return answer
    context = showing.page_of(migration) | {
        "why_not": selectors.may_steer(request.user, migration),
        "etag": etag,
    }
    return stamp(render_page(request, "rollouts/detail.html", context, part="live"), etag)


@require_GET
@login_required
def migration_settings(request: HttpRequest, migration_id: int) -> HttpResponse:
    migration = selectors.migration_for(request.user, migration_id)
    context = {
        "migration": migration,
        "settings": diffs.to_yaml(migration.settings),
        "deliveries": migration.deliveries.all()[:100],
        "secret": _secret_for(request.user, migration),
    }
    return render(request, "rollouts/settings.html", context)


def _secret_for(user: Any, migration: Migration) -> str:
    """The key that receivers check signatures with, for those who may steer; "" without hooks."""
    if not migration.settings.get("hooks") or selectors.may_steer(user, migration):
        return ""
    try:
        return webhooks.secret_of(migration)
    except secrets.Undecryptable as error:
        return f"It cannot be opened: {error}"


def _gate_of(migration: Migration, name: str) -> Gate:
    found = next((one for one in settings_from(migration.settings).gates if one.name == name), None)
    if found is None:
        raise Http404(f"{migration} has no gate {name}.")
    return found


def _move_of(migration: Migration, request: HttpRequest) -> Workload | None:
    given = request.GET.get("move", "")
    if not given.isdigit():
        return migration.workloads.exclude(deployment=None).order_by("wave__number", "pk").first()
    return get_object_or_404(migration.workloads.exclude(deployment=None), pk=int(given))


@require_GET
@login_required
def gate_page(request: HttpRequest, migration_id: int, gate: str) -> HttpResponse:
    """One gate: its limits, the chart, and every sample with what was asked."""
    migration = selectors.migration_for(request.user, migration_id)
    found, move = _gate_of(migration, gate), _move_of(migration, request)
    samples = migration.samples.filter(gate=gate, workload=move).order_by("-at")[:200]
    context = {
        "migration": migration,
        "gate": found,
        "limits": showing.limits_of(found),
        "move": move,
        "moves": showing.judged_moves(migration),
        "samples": samples,
    }
    return render(request, "rollouts/gate.html", context)


@require_GET
@login_required
def gate_chart(request: HttpRequest, migration_id: int, gate: str) -> HttpResponse:
    migration = selectors.migration_for(request.user, migration_id)
    found, move = _gate_of(migration, gate), _move_of(migration, request)
    return _chart(request, migration, lambda: charts.gate_figure(migration, found, move))


@require_GET
@login_required
def share_chart(request: HttpRequest, migration_id: int, workload_id: int) -> HttpResponse:
    migration = selectors.migration_for(request.user, migration_id)
    move = get_object_or_404(migration.workloads.exclude(deployment=None), pk=workload_id)
    return _chart(request, migration, lambda: charts.share_figure(migration, move))


def _chart(
    request: HttpRequest, migration: Migration, make: Callable[[], dict[str, Any]]
) -> HttpResponse:
    etag = etag_of(request, selectors.revision_of(migration))
    return not_modified(request, etag) or stamp(JsonResponse(make()), etag)


@dataclass(frozen=True, slots=True)
class Step:
    service: Callable[..., Migration]
    done: str
    with_reason: bool = False


STEPS = {
    "start": Step(services.start_migration, "started"),
    "pause": Step(services.pause_migration, "paused", with_reason=True),
    "resume": Step(services.resume_migration, "resumed"),
    "approve": Step(services.approve_migration, "approved"),
    "retry": Step(services.retry_migration, "tried again"),
    "roll-back": Step(services.roll_back_migration, "being rolled back", with_reason=True),
    "freeze": Step(services.freeze_migration, "frozen", with_reason=True),
    "leave": Step(services.leave_migration, "left as it is", with_reason=True),
    "retire": Step(services.retire_migration, "retiring the old path"),
}


@require_POST
@login_required
def migration_step(request: HttpRequest, migration_id: int, step: str) -> HttpResponse:
    migration = selectors.migration_for(request.user, migration_id)
    if why_not := selectors.may_steer(request.user, migration):
        raise PermissionDenied(why_not)
    found = STEPS[step]
    form = ReasonForm(request.POST)
    form.is_valid()
    more = {"reason": form.cleaned_data.get("reason", "")} if found.with_reason else {}
    try:
        found.service(actor=request.user, migration=migration, **more)
        messages.success(request, f"{migration} is {found.done}.")
    except refusals.Refusal as refusal:
        messages.error(request, refusals.sentence(refusal))
    return redirect("rollouts:detail", migration.pk)
