"""Rows and figures to what domain.rollout decides on."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from apps.catalog import selectors as catalog
from apps.catalog.models import VersionState
from apps.deployments import routing as deployed
from apps.deployments.models import Deployment, ModelPool
from apps.inventory import selectors as inventory
from apps.inventory import writing
from apps.inventory.models import Mode
from apps.rollouts import asking, figures, selectors, shares
from apps.rollouts.models import Delivery, Drill, Migration, Study, Workload
from apps.rollouts.sampling import gates_at
from apps.telemetry import measure as telemetry
from apps.telemetry.scopes import Scope
from domain import canonical
from domain.figures import State as FigureState
from domain.gates import METRICS, PROMQL, Standing, Verdict, standing, tally
from domain.rollout.seen import (
    DrillSeen,
    MoveSeen,
    Plan,
    PoolSeen,
    Seen,
    StudySeen,
    Wave,
    Wishes,
)
from domain.rollout.settings import Settings, in_blackout, settings_from
from domain.rollout.words import BACKWARD, Phase, Stage, State

#: A share is measured over this long at most: what happened an hour ago says nothing about now.
SHARE_SECONDS = 120
#: After a change of weights, requests under way still end in the pool that took them.
SETTLE_SECONDS = 5
#: Requests in flight are those of the newest page within this long.
DRAIN_SECONDS = 30
_MISSING = (FigureState.NOT_EXPORTED, FigureState.NOT_CONFIGURED, FigureState.NO_PERMISSION)


@dataclass(frozen=True, slots=True)
class Gathered:
    plan: Plan
    seen: Seen
    moves: dict[str, Workload]


def plan_of(migration: Migration, now: datetime) -> Plan:
    """The plan as its rows have it; raise InvalidValue if the settings are no settings."""
    waves = tuple(
        Wave(one.number, one.concurrency, in_blackout(one.blackout, now))
        for one in migration.waves.all()
    )
    return Plan(settings_from(migration.settings), waves or (Wave(0),))


def gather(migration: Migration, now: datetime, *, conversion: str = "") -> Gathered:
    """What is to be decided on; `conversion` is what the nodes wait for."""
    plan = plan_of(migration, now)
    rows = selectors.moves_of(migration)
    moves = tuple(_move(migration, plan.settings, row, now) for row in rows)
    refused = writing.refusal(migration.cluster)
    held = refused.message if refused else ""
    if not held and migration.cluster.mode == Mode.PROPOSE:
        held = (
            f"{migration.cluster.name} is in mode propose: patches are shown, nothing is applied."
        )
    fresh = inventory.freshness_of(migration.cluster, now)
    seen = Seen(
        stage=Stage(migration.stage),
        state=State(migration.state),
        moves=moves,
        wishes=wishes_of(migration),
        held=held,
        away="" if fresh.is_live else fresh.message or "The cluster was not heard yet.",
        studies=_studies(migration),
        conversion=conversion,
        hooks=_hooks(migration),
        drill=_drill(migration),
        reason=migration.cause,
    )
    return Gathered(plan, seen, {str(row.pk): row for row in rows})


def wishes_of(migration: Migration) -> Wishes:
    held: dict[str, Any] = migration.wanted
    return Wishes(
        approved=frozenset(held.get("approved", ())),
        paused=bool(held.get("paused")),
        frozen=bool(held.get("frozen")),
        rollback=str(held.get("rollback", "")),
        leave=bool(held.get("leave")),
        retire=bool(held.get("retire")),
        skip_drill=bool(held.get("skip_drill")),
    )


def _studies(migration: Migration) -> dict[str, StudySeen]:
    found: dict[str, StudySeen] = {}
    for study in Study.objects.filter(migration=migration).order_by("id"):
        body = study.body
        found[study.kind] = StudySeen(
            state=study.state,
            open=int(body.get("blockers") or 0),
            unknown=int(body.get("unknown") or 0),
            summary=study.problem or str(body.get("summary", "")),
        )
    return found


def _hooks(migration: Migration) -> dict[str, str]:
    return dict(Delivery.objects.filter(migration=migration).values_list("key", "state"))


def _drill(migration: Migration) -> DrillSeen:
    row = Drill.objects.filter(migration=migration).first()
    return DrillSeen(row.state, row.step, row.started_at) if row else DrillSeen()


def release_of(deployment: Deployment) -> str:
    """What it serves, as a digest: pools and weights, which a migration changes, are left out."""
    return canonical.digest(
        [
            deployment.image,
            deployment.model,
            list(deployment.args),
            deployment.env,
            deployment.cpu,
            deployment.memory,
            deployment.own,
            str(deployment.restarted_at),
        ]
    )


def _move(migration: Migration, settings: Settings, row: Workload, now: datetime) -> MoveSeen:
    deployment = row.deployment
    if deployment is None or row.way != Workload.Way.CLAIMS:
        return MoveSeen(str(row.pk), row.name, Phase.UNSUPPORTED, 0, PoolSeen(), PoolSeen())
    pools = {pool.name: pool for pool in deployment.pools.all()}
    old, new = pools.get(row.old_pool), pools.get(row.new_pool)
    phase = Phase(row.phase)
    share, wished = _share(deployment, new, row, now)
    return MoveSeen(
        key=str(row.pk),
        name=deployment.name,
        phase=phase,
        replicas=row.replicas,
        old=_pool(deployment, old),
        new=replace(_pool(deployment, new), running=_running(migration, phase, new, now)),
        wave=row.wave.number if row.wave else 0,
        owner=f"tenant {deployment.tenant.slug}",
        phase_since=row.phase_since,
        step=row.step,
        step_since=row.step_since,
        approved=_is_approved(migration, row),
        unresolved=_unresolved(migration, settings, old, now),
        share=share.figure if share else None,
        wished=wished,
        requests=share.requests if share else 0.0,
        standings=_standings(settings, row, new, now),
        released=bool(row.release) and row.release != release_of(deployment),
        edited=_edited(deployment) if phase in (Phase.WEIGHING, *BACKWARD) else "",
    )


def _pool(deployment: Deployment, pool: ModelPool | None) -> PoolSeen:
    if pool is None:
        return PoolSeen()
    applied = deployment.condition("Applied") or {}
    routed = deployed.routed_condition(deployment) or {}
    taken = routed.get("status", "True") == "True" or routed.get("reason") == "RouteChanged"
    settled = deployment.is_settled and applied.get("status") == "True" and taken
    failing = next(
        (one for one in pool.conditions if one["status"] == "False" and one.get("message")), None
    )
    problem = failing["message"] if failing else ""
    if not settled and applied.get("status") == "False":
        problem = applied.get("message", "")
    elif not taken:
        problem = problem or routed.get("message", "")
    return PoolSeen(
        exists=True,
        wanted=pool.replicas,
        ready=sum(1 for pod in pool.pods if pod["state"] == "Ready"),
        weight=pool.weight,
        settled=settled,
        problem=problem,
        going=pool.retiring_at is not None,
    )


def _running(
    migration: Migration, phase: Phase, new: ModelPool | None, now: datetime
) -> float | None:
    """Requests that the new pool still works on, asked while it drains; None when nobody tells."""
    if phase is not Phase.DRAINING or new is None:
        return None
    start, scope = now - timedelta(seconds=DRAIN_SECONDS), Scope.of_pool(new)
    window = (migration.cluster, "running", scope, start, now)
    figure = asking.figure(lambda: telemetry.measure(*window, statistic="last"))
    return figure.value if figure.usable else None


def _share(
    deployment: Deployment, new: ModelPool | None, row: Workload, now: datetime
) -> tuple[shares.Share | None, float | None]:
    """The measured share of the new pool since its weight changed, and what it should be."""
    if new is None or row.step_since is None or row.phase in (Phase.WAITING, Phase.CAPACITY):
        return None, None
    start = max(
        row.step_since + timedelta(seconds=SETTLE_SECONDS),
        now - timedelta(seconds=SHARE_SECONDS),
    )
    found = shares.share_of(deployment, new, start, now)
    return found, shares.wished_of(deployment, new)


def _standings(
    settings: Settings, row: Workload, new: ModelPool | None, now: datetime
) -> tuple[Standing, ...]:
    """Where each gate stands, of all samples since this attempt began."""
    if row.phase not in (Phase.WEIGHING, Phase.MOVED) or new is None or row.began_at is None:
        return ()
    samples: dict[str, list[tuple[Verdict, str, datetime]]] = {}
    rows = row.samples.filter(at__gte=row.began_at).order_by("at", "id")
    for name, verdict, reason, at in rows.values_list("gate", "verdict", "reason", "at"):
        samples.setdefault(name, []).append((Verdict(verdict), reason, at))
    return tuple(
        standing(gate, tally(gate, samples.get(gate.name, ()), row.step_since), now)
        for gate in gates_at(settings, new.weight)
    )


def _is_approved(migration: Migration, row: Workload) -> bool:
    version = row.pattern_version
    if version is None or version.state != VersionState.APPROVED:
        return False
    if migration.stage not in (Stage.INVENTORY, Stage.CLASSES):
        return True
    offered = set(catalog.classes_in(migration.cluster).values_list("name", flat=True))
    return set(catalog.pattern_of(version).classes) <= offered


def _unresolved(
    migration: Migration, settings: Settings, old: ModelPool | None, now: datetime
) -> tuple[str, ...]:
    """Gates whose metrics the current pool does not tell; asked only before anything moves."""
    if migration.stage != Stage.CLASSES or old is None:
        return ()
    start, missing = now - timedelta(seconds=SHARE_SECONDS), []
    for gate in settings.gates:
        if gate.metric == PROMQL or gate.dry_run or not METRICS[gate.metric].of_pool:
            continue
        asked: dict[str, Any] = {"statistic": gate.chosen_statistic}
        window = (migration.cluster, gate.metric, Scope.of_pool(old), start, now)
        figure = asking.figure(partial(figures.measure, *window, **asked))
        if figure.state in _MISSING:
            missing.append(f"{gate.name} ({figure.state.words})")
    return tuple(missing)


def _edited(deployment: Deployment) -> str:
    """What somebody changed in the cluster that shares the requests; "" when nothing."""
    routed = deployed.routed_condition(deployment) or {}
    if routed.get("reason") == "RouteChanged":
        return str(routed.get("message") or "somebody changed its HTTPRoute").rstrip(".")
    return ""
