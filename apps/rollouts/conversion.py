"""Converting nodes of a migration: one look at each that is due, and the one step it can take.

Rows are the truth; each step is repeatable, so a worker that dies between two loses nothing. Steps
evict through the Eviction API, so that budgets hold, and only pods of this migration's deployments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from django.utils import timezone

from apps.inventory import connections, writing
from apps.inventory.models import Mode, Pod
from apps.rollouts import scoping
from apps.rollouts.models import Migration, NodeConversion, Stage, State, Study, Workload
from apps.rollouts.nodes import Mine, look
from domain.rollout import conversion
from domain.rollout.conversion import NVIDIA, PLATFORM, Before, Kind, Recipe, Step, Wanted
from domain.rollout.words import Phase
from kube import client, kinds
from kube.errors import ClusterError, NotFound

LONGEST_LOG = 200
OPEN = (
    NodeConversion.State.WAITING,
    NodeConversion.State.RUNNING,
    NodeConversion.State.BLOCKED,
)
_GONE = (Phase.RETIRED, Phase.RETIRING)

log = structlog.get_logger(__name__)


def advance(migration: Migration, now: datetime | None = None) -> str:
    """Take the next step of every node that is due; the sentence that is waited for, or "".

    Nodes that only wait for the old path to be retired hold nothing up. Repeatable, never sleeps.
    """
    now = now or timezone.now()
    _draw_up(migration)
    if _goes_back(migration):
        _turn_back(migration, now)
    rows = list(migration.conversions.filter(state__in=OPEN).order_by("wave__number", "node"))
    if not rows:
        return ""
    if refused := _refusal(migration):
        for row in rows:
            _say(row, Step(Kind.WAIT, refused, PLATFORM), now)
        return refused
    waits = [text for row in _due(migration, rows, now) if (text := _step(migration, row, now))]
    return waits[0] if waits else ""


def _draw_up(migration: Migration) -> None:
    """Rows for the nodes of the plan, once Expand has begun."""
    scope = scoping.scope_of(migration)
    if not scope.converts_nodes or migration.stage != Stage.EXPAND or _goes_back(migration):
        return
    if migration.conversions.exists():
        return
    plan = migration.studies.filter(kind=Study.Kind.PLAN).first()
    wave = migration.waves.last()
    for node in (plan.body.get("nodes") or ()) if plan is not None else ():
        NodeConversion.objects.create(
            migration=migration, wave=wave, node=node, recipe={"labels": dict(NVIDIA.labels)}
        )


def _goes_back(migration: Migration) -> bool:
    return migration.state in (State.ROLLING_BACK, State.ROLLED_BACK)


def _turn_back(migration: Migration, now: datetime) -> None:
    """What has begun goes back by the same recipe; what has not is left as it is."""
    forth = migration.conversions.filter(direction=NodeConversion.Direction.FORTH)
    forth.filter(started_at=None).update(
        state=NodeConversion.State.DONE, cause="It was never begun.", finished_at=now
    )
    forth.exclude(started_at=None).update(
        direction=NodeConversion.Direction.BACK,
        state=NodeConversion.State.RUNNING,
        step="",
        finished_at=None,
    )


def _refusal(migration: Migration) -> str:
    refused = writing.refusal(migration.cluster)
    if refused is not None:
        return refused.message
    if migration.cluster.mode != Mode.MANAGE:
        return "The cluster is in mode propose: nodes are converted in mode manage only."
    return ""


def _due(
    migration: Migration, rows: Sequence[NodeConversion], now: datetime
) -> list[NodeConversion]:
    """Those under way, and as many more as may begin beside them."""
    begun = [row for row in rows if row.started_at is not None]
    fresh = {row.node: row for row in rows if row.started_at is None}
    wave = next(iter(fresh.values())).wave if fresh else None
    names = conversion.to_begin(
        list(fresh),
        under_way=len(begun),
        concurrency=wave.concurrency if wave is not None else 1,
        is_closed=conversion.is_closed(wave.blackout if wave is not None else (), now),
    )
    return [*begun, *(fresh[name] for name in names)]


# --- One node
def _step(migration: Migration, row: NodeConversion, now: datetime) -> str:
    """Look, decide, act; what is waited for after it."""
    try:
        with connections.opened(migration.cluster) as connection:
            return _with(connection, migration, row, now)
    except ClusterError as error:
        _say(row, Step(Kind.WAIT, error.message, "the cluster"), now)
        return f"{row.node}: {error.message}"


def _with(
    connection: client.Cluster, migration: Migration, row: NodeConversion, now: datetime
) -> str:
    recipe = recipe_of(row)
    mine = _mine(migration, row)
    node = look(connection, migration.cluster, row.node, recipe, mine)
    before = _before(row)
    if node is not None and before is None:
        before = _remember(row, recipe, node.is_cordoned, node.labels)
    wanted: Wanted = "converted" if row.direction == NodeConversion.Direction.FORTH else "back"
    since = _since(row) or now
    step = conversion.next_step(recipe, node, wanted, before, since=since, now=now)
    users = node.users if node is not None else ()
    text = f"{row.node}: {step.text}"
    if migration.tenant_id and any(not user.is_ours for user in users):
        text = f"{row.node}: it waits for others; the platform team sees for whom."
    if _carry_out(connection, row, step, now):
        return text
    is_fallback = step.kind == Kind.WAIT and any(not user.spare for user in users)
    return "" if step.kind == Kind.DONE or is_fallback else text


def recipe_of(row: NodeConversion) -> Recipe:
    return Recipe(labels=dict(row.recipe.get("labels") or NVIDIA.labels))


def _before(row: NodeConversion) -> Before | None:
    if row.was_cordoned is None or "before" not in row.recipe:
        return None
    return Before(row.was_cordoned, dict(row.recipe["before"]))


def _remember(
    row: NodeConversion, recipe: Recipe, was_cordoned: bool, labels: Mapping[str, str]
) -> Before:
    """How the node was, written before anything of it is changed."""
    before = {key: labels.get(key) for key in recipe.labels}
    row.was_cordoned = was_cordoned
    row.recipe = {"labels": dict(recipe.labels), "before": before}
    row.save(update_fields=["was_cordoned", "recipe", "updated_at"])
    return Before(was_cordoned, before)


@dataclass(frozen=True, slots=True)
class _Stand:
    """A deployment of the migration: how many pods of it are ready, and the accepted capacity."""

    row: Workload
    ready: int


def _mine(migration: Migration, row: NodeConversion) -> Mine:
    """Which pods belong to this migration, and which of them can be spared now."""
    stands: dict[tuple[str, str], _Stand] = {}
    for work in migration.workloads.exclude(deployment=None).select_related("deployment__tenant"):
        assert work.deployment is not None
        key = (work.deployment.tenant.slug, work.deployment.name)
        ready = Pod.objects.filter(
            cluster=migration.cluster, tenant=key[0], deployment=key[1], is_ready=True
        ).count()
        stands[key] = _Stand(work, ready)
    forth = row.direction == NodeConversion.Direction.FORTH

    def spare(tenant: str, deployment: str, pool: str) -> bool | None:
        stand = stands.get((tenant, deployment))
        if stand is None:
            return None
        if forth and pool == stand.row.old_pool and stand.row.phase not in _GONE:
            return False  # the way back needs it until the old path is retired
        return stand.ready > stand.row.replicas or stand.row.phase in _GONE

    return spare


# --- Acting
def _carry_out(connection: client.Cluster, row: NodeConversion, step: Step, now: datetime) -> bool:
    """Do it and write down that it was done; whether anything was done."""
    acts = {
        Kind.CORDON: lambda: _cordon(connection, row.node, shut=True),
        Kind.UNCORDON: lambda: _cordon(connection, row.node, shut=False),
        Kind.EVICT: lambda: _evict(connection, step),
        Kind.LABEL: lambda: _label(connection, row.node, step.labels),
    }
    act = acts.get(step.kind)
    note = act() if act is not None else ""
    _say(row, step, now, note)
    return act is not None


def _cordon(connection: client.Cluster, node: str, *, shut: bool) -> str:
    connection.patch_merge(kinds.NODES, None, node, {"spec": {"unschedulable": shut or None}})
    return ""


def _label(connection: client.Cluster, node: str, labels: Mapping[str, str | None]) -> str:
    connection.patch_merge(kinds.NODES, None, node, {"metadata": {"labels": dict(labels)}})
    return ""


def _evict(connection: client.Cluster, step: Step) -> str:
    """One pod at a time: the next look sees whether the deployment can spare another."""
    pod = step.pods[0]
    try:
        connection.evict(pod.namespace, pod.name)
    except NotFound:
        return f"{pod} is gone already."
    except ClusterError as error:
        return f"{pod}: {error.message}"
    return f"{pod} is evicted."


# --- Writing down
def _since(row: NodeConversion) -> datetime | None:
    """When the present wait began: the last line of the log that says something else."""
    last = row.log[-1] if row.log else None
    return datetime.fromisoformat(last["at"]) if last is not None else None


_STATES = {
    Kind.DONE: NodeConversion.State.DONE,
    Kind.BLOCKED: NodeConversion.State.BLOCKED,
}


def _say(row: NodeConversion, step: Step, now: datetime, note: str = "") -> None:
    text = f"{step.text} {note}".strip()
    state = _STATES.get(step.kind, NodeConversion.State.RUNNING)
    begins = row.started_at is None and step.kind not in (Kind.WAIT, Kind.BLOCKED)
    if row.started_at is None and not begins and step.kind == Kind.WAIT:
        state = NodeConversion.State.WAITING
    entry: dict[str, Any] = {"at": now.isoformat(), "step": step.kind.value, "text": text}
    last = row.log[-1] if row.log else {}
    if (last.get("step"), last.get("text")) != (entry["step"], text) or begins:
        row.log = [*row.log, entry][-LONGEST_LOG:]
        log.info("node conversion", node=row.node, step=step.kind.value, text=text)
    row.state, row.step, row.cause, row.owner = state, step.kind.value, text, step.owner
    if begins:
        row.started_at = now
    if step.kind == Kind.DONE:
        row.finished_at = now
    row.save()


def summary(migration: Migration) -> dict[str, int]:
    """How many nodes are in each state, for pages."""
    found: dict[str, int] = {}
    for state in migration.conversions.values_list("state", flat=True):
        found[state] = found.get(state, 0) + 1
    return found
