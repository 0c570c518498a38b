"""The evidence of a migration: everything that was planned, seen, judged and decided, as one signed
bundle."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from apps.rollouts import comparing, planning, probes, report, scattered, signing
from apps.rollouts.models import Decision, GateSample, Migration, Study, Workload

Json = dict[str, Any]
MOST_SAMPLES = 20_000
MOST_DECISIONS = 5_000


def build(migration: Migration) -> Study:
    """Sign what an ended migration leaves behind, once. Repeatable: it stays as it was signed."""
    held = migration.studies.filter(kind=Study.Kind.REPORT, state=Study.State.DONE).first()
    if held is not None and held.body.get("ended_at") == _moment(migration.ended_at):
        return held
    shadow = migration.studies.filter(kind=Study.Kind.SHADOW).first()
    if shadow is not None and shadow.body.get("probes"):
        probes.clear(migration, shadow.body["probes"])
    bundle = signing.sign(content_of(migration))
    body = {
        "bundle": bundle,
        "ended_at": _moment(migration.ended_at),
        "blockers": 0,
        "unknown": 0,
        "summary": f"Signed with key {bundle['signature']['key_id']}.",
    }
    return planning.record(migration, Study.Kind.REPORT, body)


def unsigned(now: datetime) -> list[int]:
    """Migrations that ended within a day and whose evidence is not signed; figures older than that
    are not kept."""
    signed = Study.objects.filter(kind=Study.Kind.REPORT, state=Study.State.DONE)
    rows = Migration.objects.filter(ended_at__gt=now - timedelta(days=1))
    rows = rows.exclude(pk__in=signed.values("migration_id"))
    return list(rows.values_list("pk", flat=True)[:50])


def bundle_of(migration: Migration, *, whole: bool = True) -> Json:
    """What was signed at the end; of one under way, what there is now, signed as that.

    Not `whole`: only what is the tenant's own of it, signed anew.
    """
    bundle = _bundle_of(migration)
    return bundle if whole else signing.sign(report.narrowed(bundle["content"]))


def _bundle_of(migration: Migration) -> Json:
    held = migration.studies.filter(kind=Study.Kind.REPORT, state=Study.State.DONE).first()
    if migration.is_over and held is not None and "bundle" in held.body:
        bundle: Json = held.body["bundle"]
        return bundle
    return signing.sign(content_of(migration))


def content_of(migration: Migration) -> Json:
    rows = list(migration.workloads.select_related("deployment__tenant", "wave", "pattern_version"))
    seconds, says = comparing.rollback_seconds(migration)
    moved = [row for row in rows if row.deployment is not None and row.way == Workload.Way.CLAIMS]
    return {
        "made_at": timezone.now().isoformat(),
        "is_final": migration.is_over,
        "migration": _migration(migration),
        "workloads": [_workload(row) for row in rows],
        "studies": {
            kind: _study(migration, kind)
            for kind in (Study.Kind.PLAN, Study.Kind.PREFLIGHT, Study.Kind.SHADOW)
        },
        "gates": _gates(migration),
        "comparison": [comparing.compare(migration, row) for row in moved],
        "fragmentation": scattered.before_and_after(migration),
        "rollback": {"seconds": seconds, "says": says},
        "decisions": [_decision(one) for one in _newest(migration)],
        "drills": [_drill(one) for one in migration.drills.all()],
        "nodes": [_node(one) for one in migration.conversions.all()],
        "webhooks": [_delivery(one) for one in migration.deliveries.all()],
    }


def _moment(at: datetime | None) -> str | None:
    return at.isoformat() if at is not None else None


def _migration(migration: Migration) -> Json:
    return {
        "name": migration.name,
        "cluster": migration.cluster.slug,
        "server_version": migration.cluster.version,
        "tenant": migration.tenant.slug if migration.tenant else None,
        "scope": migration.scope,
        "settings": migration.settings,
        "drawn_up_by": str(migration.created_by) if migration.created_by else "claimyard",
        "stage": migration.stage,
        "state": migration.state,
        "reason": migration.cause or migration.reason,
        "created_at": _moment(migration.created_at),
        "started_at": _moment(migration.started_at),
        "ended_at": _moment(migration.ended_at),
        "rollback_began_at": _moment(migration.rollback_began_at),
        "rollback_ended_at": _moment(migration.rollback_ended_at),
    }


def _workload(row: Workload) -> Json:
    return {
        "name": str(row),
        "kind": row.kind,
        "is_managed": row.deployment is not None,
        "tenant": row.deployment.tenant.slug if row.deployment else None,
        "wave": row.wave.number if row.wave else None,
        "way": row.way,
        "finding": row.finding,
        "mapping": row.mapping,
        "pattern": str(row.pattern_version) if row.pattern_version else None,
        "parameters": row.params,
        "manifest_diff": row.diff,
        "nodes": row.nodes,
        "old_pool": row.old_pool,
        "new_pool": row.new_pool,
        "replicas": row.replicas,
        "phase": row.phase,
    }


def _study(migration: Migration, kind: str) -> Json | None:
    study = migration.studies.filter(kind=kind).first()
    if study is None:
        return None
    body = {key: value for key, value in study.body.items() if key != "ask"}
    return {"state": study.state, "problem": study.problem, **body}


def _gates(migration: Migration) -> list[Json]:
    """Every gate with every sample, as it was judged."""
    by_gate: dict[tuple[str, str], list[Json]] = {}
    rows = migration.samples.select_related("workload").order_by("at", "id")[:MOST_SAMPLES]
    for sample in rows:
        key = (str(sample.workload or ""), sample.gate)
        by_gate.setdefault(key, []).append(_sample(sample))
    return [
        {"workload": workload, "gate": gate, "verdicts": _verdicts(samples), "samples": samples}
        for (workload, gate), samples in sorted(by_gate.items())
    ]


def _verdicts(samples: Iterable[Json]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in samples:
        found[one["verdict"]] = found.get(one["verdict"], 0) + 1
    return found


def _sample(sample: GateSample) -> Json:
    return {
        "at": _moment(sample.at),
        "start": _moment(sample.start),
        "end": _moment(sample.end),
        "stage": sample.stage,
        "step": sample.step,
        "weight": sample.weight,
        "verdict": sample.verdict,
        "reason": sample.reason,
        "dry_run": sample.dry_run,
        "candidate": sample.candidate,
        "current": sample.current,
        "query": sample.query,
    }


def _newest(migration: Migration) -> list[Decision]:
    """In the order in which they were made; the newest where there are too many."""
    rows = migration.decisions.select_related("workload").order_by("-id")[:MOST_DECISIONS]
    return list(rows)[::-1]


def _decision(one: Decision) -> Json:
    return {
        "at": _moment(one.at),
        "last_at": _moment(one.last_at),
        "times": one.times,
        "by": one.actor_name,
        "workload": str(one.workload) if one.workload else None,
        "stage": one.stage,
        "action": one.action,
        "argument": one.argument,
        "reason": one.reason,
        "problem": one.problem,
        "seen": one.seen,
    }


def _drill(one: Any) -> Json:
    return {
        "state": one.state,
        "started_at": _moment(one.started_at),
        "finished_at": _moment(one.finished_at),
        "seconds": one.seconds,
        "text": one.cause,
        "log": one.log,
    }


def _node(one: Any) -> Json:
    return {
        "node": one.node,
        "direction": one.direction,
        "state": one.state,
        "step": one.step,
        "text": one.cause,
        "started_at": _moment(one.started_at),
        "finished_at": _moment(one.finished_at),
        "log": one.log,
    }


def _delivery(one: Any) -> Json:
    return {
        "hook": one.hook,
        "point": one.point,
        "state": one.state,
        "attempts": one.attempts,
        "status": one.status,
        "at": _moment(one.created_at),
    }
