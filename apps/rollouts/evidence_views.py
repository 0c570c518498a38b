"""Pages of what a migration rests on: plan, preflight, shadow, nodes, and the report."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import Max
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from apps.common import refusals
from apps.common.etags import etag_of, not_modified, stamp
from apps.common.htmx import render_page, wants_part
from apps.rollouts import evidence, node_services, report, selectors, signing
from apps.rollouts.models import Migration, NodeConversion, Study, Workload
from domain.rollout.settings import settings_from

Json = dict[str, Any]


def _revision(migration: Migration) -> str:
    studies = migration.studies.aggregate(Max("updated_at"))
    nodes = migration.conversions.aggregate(Max("updated_at"))
    return f"{selectors.revision_of(migration)} {studies} {nodes}"


def _page(request: HttpRequest, migration: Migration, template: str, context: Json) -> HttpResponse:
    etag = etag_of(request, _revision(migration))
    if wants_part(request) and (answer := not_modified(request, etag)):
        return answer
    shared = {
        "migration": migration,
        "etag": etag,
        "why_not": selectors.may_steer(request.user, migration),
    }
    return stamp(render_page(request, template, shared | context, part="live"), etag)


def _study(migration: Migration, kind: str) -> Study | None:
    return selectors.newest_study(migration, kind)


def _sees_all(request: HttpRequest) -> bool:
    return bool(getattr(request.user, "is_platform", False))


@require_GET
@login_required
def plan_page(request: HttpRequest, migration_id: int) -> HttpResponse:
    """What each workload becomes, why not, and its manifest before and after."""
    migration = selectors.migration_for(request.user, migration_id)
    rows = migration.workloads.select_related("deployment__tenant", "wave", "pattern_version")
    whole = _sees_all(request)
    study = _study(migration, Study.Kind.PLAN)
    context = {
        "study": study,
        "moves": [_told(row) for row in rows if row.deployment is not None],
        "foreign": [_told(row) for row in rows if row.deployment is None] if whole else [],
        "hidden": 0 if whole else sum(1 for row in rows if row.deployment is None),
        "nodes": study.body.get("nodes", []) if whole and study is not None else [],
    }
    return _page(request, migration, "rollouts/plan.html", context)


def _told(row: Workload) -> Json:
    mapped = row.mapping or {}
    way = str(mapped.get("way") or row.way)
    return {"row": row, "mapped": mapped, "way": way, "look": report.look(way)}


@require_GET
@login_required
def preflight_page(request: HttpRequest, migration_id: int) -> HttpResponse:
    """Every rule with what it found, and what the new path does worse than the old one."""
    migration = selectors.migration_for(request.user, migration_id)
    study = _study(migration, Study.Kind.PREFLIGHT)
    body = study.body if study is not None else {}
    if not _sees_all(request):
        body = report.narrowed_study("preflight", body)
    context = {
        "study": study,
        "findings": [one | {"look": report.look(one["level"])} for one in body.get("findings", ())],
        "parity": [one | {"look": report.look(one["verdict"])} for one in body.get("parity", ())],
    }
    return _page(request, migration, "rollouts/preflight.html", context)


@require_GET
@login_required
def shadow_page(request: HttpRequest, migration_id: int) -> HttpResponse:
    """Whether everything would find devices, and whether the cluster would take it."""
    migration = selectors.migration_for(request.user, migration_id)
    study = _study(migration, Study.Kind.SHADOW)
    body = study.body if study is not None else {}
    if not _sees_all(request):
        body = report.narrowed_study("shadow", body)
    lines = [one | {"look": report.look(one["state"])} for one in body.get("workloads", ())]
    context = {"study": study, "body": body, "lines": lines}
    return _page(request, migration, "rollouts/shadow.html", context)


@require_GET
@login_required
def nodes_page(request: HttpRequest, migration_id: int) -> HttpResponse:
    """How far each node is, what it waits for and who can end that; the recovery drills."""
    migration = selectors.migration_for(request.user, migration_id)
    if not _sees_all(request):
        raise PermissionDenied("Nodes are the platform team's.")
    rows = migration.conversions.select_related("wave")
    plan = _study(migration, Study.Kind.PLAN)
    known = {row.node for row in rows}
    context = {
        "rows": [{"row": row, "look": report.look(row.state)} for row in rows],
        "drills": migration.drills.all(),
        "left": [
            node for node in (plan.body.get("nodes") or () if plan else ()) if node not in known
        ],
        "direction": NodeConversion.Direction,
        "why_not": selectors.may_convert(request.user),
    }
    return _page(request, migration, "rollouts/nodes.html", context)


@require_POST
@login_required
def nodes_step(request: HttpRequest, migration_id: int, direction: str) -> HttpResponse:
    """Convert the nodes named in the form, or take them back."""
    migration = selectors.migration_for(request.user, migration_id)
    if why_not := selectors.may_convert(request.user):
        raise PermissionDenied(why_not)
    actor: Any = request.user
    try:
        node_services.convert_nodes(
            actor=actor,
            migration=migration,
            nodes=request.POST.getlist("node"),
            direction=direction,
        )
        messages.success(request, "The nodes are on their way; each step is shown here.")
    except refusals.Refusal as refusal:
        messages.error(request, refusals.sentence(refusal))
    return redirect("rollouts:nodes", migration.pk)


# --- Report
def _bundle(request: HttpRequest, migration: Migration) -> Json:
    return evidence.bundle_of(migration, whole=_sees_all(request))


@require_GET
@login_required
def report_page(request: HttpRequest, migration_id: int) -> HttpResponse:
    """For somebody who was not there; made to be printed."""
    migration = selectors.migration_for(request.user, migration_id)
    etag = etag_of(request, _revision(migration))
    if answer := not_modified(request, etag):
        return answer
    bundle = _bundle(request, migration)
    content = bundle["content"]
    context = {
        "migration": migration,
        "content": content,
        "headline": report.headline(content),
        "answers": report.answers(content),
        "comparison": [_compared(one) for one in content["comparison"]],
        "timeline": report.timeline(content)[-300:],
        "gates": [gate.name for gate in settings_from(migration.settings).gates],
        "signature": bundle["signature"],
        "digest": bundle["digest"],
    }
    return stamp(render(request, "rollouts/report.html", context), etag)


def _compared(one: Json) -> Json:
    lines = [line | {"look": report.look(line["verdict"])} for line in one["lines"]]
    return one | {"lines": lines}


@require_GET
@login_required
def evidence_file(request: HttpRequest, migration_id: int) -> HttpResponse:
    """The signed bundle, to keep."""
    migration = selectors.migration_for(request.user, migration_id)
    answer = JsonResponse(_bundle(request, migration), json_dumps_params={"indent": 1})
    name = f"evidence-{migration.name}.json"
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


@require_GET
@login_required
def public_key(request: HttpRequest) -> HttpResponse:
    """The key that evidence is checked with, and how."""
    return render(request, "rollouts/public_key.html", {"key": signing.public_key()})
