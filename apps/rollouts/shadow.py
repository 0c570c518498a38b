"""Shadow: would everything of the scope find devices, and would the cluster take it?

Nothing is made. The placement worker puts running and recent workloads onto what is free; claim and
pod are tried by dry run; where it is wanted, probe pods measure how long a real allocation takes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.catalog import selectors as catalog
from apps.claims.models import Use as PastUse
from apps.common import asks
from apps.common.models import Ask
from apps.deployments.rendering import asked_of, pool_spec, serving_of
from apps.rollouts import dryrun, landscape, planning, probes, scoping
from apps.rollouts.models import Migration, Study, Workload
from domain import patterns
from domain.errors import DomainError
from domain.manifests import Pool, Serving, claim_template, workload
from domain.rollout.mapping import Use, Way, map_use

Json = dict[str, Any]
KIND = "placement.rehearse"
RECENT = timedelta(hours=24)
MOST_RECENT = 200
#: How long an answer may take before it counts as none; a placement worker may be starting.
PATIENCE = timedelta(seconds=60)
MOST_DRY_RUNS = 50


def advance(migration: Migration) -> Study:
    """Begin, or collect what has come in. Repeatable, and never waits."""
    study = migration.studies.filter(kind=Study.Kind.SHADOW).first()
    if study is None or study.state != Study.State.RUNNING:
        return _begin(migration)
    return _collect(migration, study)


def _begin(migration: Migration) -> Study:
    rows = _moving(migration)
    question = {"workloads": [*(_question(row) for row in rows), *_recent(migration)]}
    ask = asks.put(
        KIND,
        question,
        cluster_id=migration.cluster_id,
        lifetime_seconds=int(PATIENCE.total_seconds()) * 10,
    )
    body = {
        "ask": ask.pk,
        "begun_at": timezone.now().isoformat(),
        "dry_runs": {str(row): _dry_run(row) for row in rows[:MOST_DRY_RUNS]},
        "summary": "The placement worker was asked.",
    }
    if migration.scope.get("probe"):
        body["probes"] = probes.begin(migration, rows)
    return planning.record(migration, Study.Kind.SHADOW, body, Study.State.RUNNING)


def _moving(migration: Migration) -> list[Workload]:
    rows = migration.workloads.filter(way=Workload.Way.CLAIMS).select_related(
        "deployment__tenant", "deployment__cluster", "pattern_version__pattern"
    )
    return [row for row in rows if row.deployment is not None and row.pattern_version is not None]


def _question(row: Workload) -> Json:
    assert row.pattern_version is not None
    pattern = catalog.pattern_of(row.pattern_version)
    values = patterns.accept(pattern, row.params)
    return _asked(str(row), row.namespace, pattern, values, row.replicas)


def _asked(
    key: str, namespace: str, pattern: patterns.Pattern, values: patterns.Values, replicas: int
) -> Json:
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"namespace": namespace, "name": "shadow"},
        "spec": patterns.claim_spec(pattern, values),
    }
    return {"key": key, "claims": [claim], "replicas": replicas}


# --- What ran not long ago and may come again
def _recent(migration: Migration) -> list[Json]:
    """Pods of others that held what the scope is about within a day, by what they asked for."""
    scope = scoping.scope_of(migration)
    if scope.kind not in ("resource", "node-pool"):
        return []
    ground = planning.ground_of(migration)
    nodes = [n for n, home in ground.homes.items() if home.row.node_pool in scope.names]
    rows = PastUse.objects.filter(
        cluster=migration.cluster, kind="pod", ended_at__gt=timezone.now() - RECENT
    )
    rows = (
        rows.filter(device_class__in=scope.names)
        if scope.kind == "resource"
        else rows.filter(node_name__in=nodes)
    )
    ours = landscape.known_deployments(migration.cluster)
    found = []
    for use in rows.order_by("-ended_at")[:MOST_RECENT]:
        if (use.tenant, use.deployment) in ours:
            continue
        asked = Use({use.device_class: use.amount}, nodes=(use.node_name,))
        mapped = map_use(asked, ground.offers, ground.entries, [])
        entry = next((e for e in ground.entries if e.slug == mapped.pattern), None)
        if mapped.way == Way.CLAIMS and entry is not None:
            key = f"recent: {use.namespace}/{use.name}"
            found.append(_asked(key, use.namespace, entry.pattern, mapped.values, 1))
    return found


# --- Dry run
def _dry_run(row: Workload) -> Json:
    """Claim and pod of the new pool, as the tenant's account."""
    assert row.deployment is not None
    try:
        serving, pool = _new_pool(row)
    except DomainError as error:
        refused = dryrun.Answer("refused", str(error), "claimyard").as_dict()
        return {"claim": refused, "pod": refused}
    template, made = claim_template(serving, pool), workload(serving, pool)
    assert template is not None  # the new pool is on the path dra
    name = f"{row.deployment.name}-{pool.name}-shadow"
    labels = made["metadata"]["labels"]
    metadata = {"name": name, "namespace": row.namespace, "labels": labels}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": template["spec"]["spec"],
    }
    inner = made["spec"]["template"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata | {"annotations": inner["metadata"].get("annotations") or {}},
        "spec": inner["spec"],
    }
    cluster = row.deployment.cluster
    return {
        "claim": dryrun.try_claim(cluster, row.namespace, claim).as_dict(),
        "pod": dryrun.try_pod(cluster, row.namespace, pod, made).as_dict(),
    }


def _new_pool(row: Workload) -> tuple[Serving, Pool]:
    """The deployment and its new pool as they would be rendered; raises DomainError."""
    assert row.deployment is not None and row.pattern_version is not None
    asked = asked_of(row.deployment)
    old = next((one for one in asked.pools if one.name == row.old_pool), asked.pools[0])
    pattern = catalog.pattern_of(row.pattern_version)
    wanted = replace(old, name=row.new_pool, path="dra", replicas=row.replicas)
    pool = pool_spec(asked, wanted, pattern, patterns.accept(pattern, row.params))
    return serving_of(row.deployment), pool


# --- Answers
def _collect(migration: Migration, study: Study) -> Study:
    ask = Ask.objects.filter(pk=study.body.get("ask")).first()
    if _is_awaited(ask):
        return study
    probed = study.body.get("probes")
    if probed is not None:
        probed = probes.advance(migration, probed)
        if not probes.is_over(probed):
            body = study.body | {"probes": probed, "summary": "Probe pods are being measured."}
            return planning.record(migration, Study.Kind.SHADOW, body, Study.State.RUNNING)
    answer = ask.answer if ask is not None and ask.state == Ask.State.ANSWERED else None
    problem = (ask.problem if ask is not None else "") or "No placement worker answered in time."
    body = study.body | {"probes": probed} | _found(study.body, answer, problem)
    _tell_rows(migration, body)
    return planning.record(migration, Study.Kind.SHADOW, body)


def _is_awaited(ask: Ask | None) -> bool:
    """Whether an answer may still come."""
    if ask is None or ask.is_settled:
        return False
    return timezone.now() - ask.created_at <= PATIENCE


def _found(begun: Json, answer: Mapping[str, Any] | None, problem: str) -> Json:
    placed = list(answer.get("workloads") or ()) if answer is not None else []
    runs: Mapping[str, Json] = begun["dry_runs"]
    lines = _lines(placed, runs) if answer is not None else _unplaced(runs, problem)
    counts = {
        state: sum(1 for one in lines if one["state"] == state)
        for state in ("fits", "partly", "not", "refused", "unknown")
    }
    stops = counts["not"] + counts["refused"]
    return {
        "workloads": lines,
        "counts": counts,
        "blockers": stops,
        "unknown": counts["unknown"],
        "summary": _summary(lines, counts, problem if answer is None else ""),
        "partial": bool(answer and answer.get("partial")),
        "checked_at": timezone.now().isoformat(),
        "considered_not": ["taints, cpu and memory of nodes", "links that a pattern does not ask"],
    }


def _lines(placed: Sequence[Json], runs: Mapping[str, Json]) -> list[Json]:
    return [
        one | {"dry_run": (run := runs.get(one["key"])), "state": _state(one, run)}
        for one in placed
    ]


def _unplaced(runs: Mapping[str, Json], problem: str) -> list[Json]:
    """No answer is not "does not fit"."""
    return [
        {"key": key, "dry_run": run, "state": _refused(run) or "unknown", "reason": problem}
        for key, run in runs.items()
    ]


def _state(one: Json, run: Json | None) -> str:
    if refused := _refused(run):
        return refused
    if one["looked_at"] < one["replicas"]:
        return "unknown"
    if one["fits"] >= one["replicas"]:
        return "fits"
    # What ran once and is gone stops nobody; a running workload without one device does.
    if one["key"].startswith("recent: "):
        return "partly"
    return "partly" if one["fits"] else "not"


def _refused(run: Json | None) -> str:
    outcomes = {one["outcome"] for one in (run or {}).values()}
    return "refused" if "refused" in outcomes else ""


def _summary(lines: Sequence[Json], counts: Mapping[str, int], problem: str) -> str:
    if problem:
        return problem
    if not lines:
        return "Nothing in the scope moves by claims."
    text = f"{counts['fits']} of {planning.counted(len(lines), 'workload')} fit with all replicas"
    more = {
        "partly": "{} with some",
        "not": "{} not at all",
        "refused": "{} would be refused by the cluster",
        "unknown": "of {} it is not known",
    }
    parts = [words.format(counts[state]) for state, words in more.items() if counts[state]]
    first = next((one for one in lines if one["state"] in ("not", "refused")), None)
    reason = f" {first['key']}: {_why(first)}" if first else ""
    return ", ".join([text, *parts]) + "." + reason


def _why(line: Json) -> str:
    for one in (line.get("dry_run") or {}).values():
        if one["outcome"] == "refused":
            return str(one["text"])
    funnels = line.get("funnels") or ()
    empty = next((one["first_empty"] for one in funnels if one.get("first_empty")), "")
    return f"nothing is left after the filter {empty}." if empty else str(line.get("reason") or "")


def _tell_rows(migration: Migration, body: Json) -> None:
    """Each workload's own line, for its row on the page."""
    by_key = {one["key"]: one for one in body["workloads"]}
    for row in migration.workloads.exclude(deployment=None):
        if (found := by_key.get(str(row))) is not None:
            Workload.objects.filter(pk=row.pk).update(shadow=found)
