"""What people may do with migrations. Wishes are written; the reconciler carries them out."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.audit import services as audit
from apps.deployments.models import Deployment
from apps.inventory.models import Cluster
from apps.rollouts import selectors, webhooks
from apps.rollouts.models import Decision, Delivery, Migration, Wave, Workload
from apps.tenancy.models import Tenant, User
from domain.errors import IllegalTransition, InvalidValue
from domain.rollout.deciding import PAST_RETURN
from domain.rollout.settings import settings_content, settings_from
from domain.rollout.words import Phase, Stage, State

NEW_POOL = "dra"
MOST_WORKLOADS = 500


@transaction.atomic
def create_migration(
    *,
    actor: User | None,
    name: str,
    cluster: Cluster,
    content: dict[str, Any],
    deployments: Sequence[Deployment] = (),
    scope: dict[str, Any] | None = None,
    tenant: Tenant | None = None,
    waves: Sequence[Sequence[str]] = (),
) -> Migration:
    """A draft over these deployments, or over a scope; nothing happens before it is started.

    `scope` is {"kind": "tenant" | "resource" | "node-pool", "names": [...], "convert_nodes": bool};
    its deployments are found by the Inventory. `tenant` limits it to one tenant's.

    `content` is what domain.rollout.settings reads. `waves` names deployments in the order in which
    they go, the first is the canary; without it the first deployment is the canary and the others
    follow one at a time. Raises InvalidValue naming the field.
    """
    settings = settings_from(content)
    scope = _scope(deployments, scope or {})
    if len(deployments) > MOST_WORKLOADS:
        raise InvalidValue(f"{MOST_WORKLOADS} deployments at most.", field="deployments")
    tenants = {deployment.tenant_id for deployment in deployments}
    migration = Migration(
        name=name,
        cluster=cluster,
        tenant=deployments[0].tenant if len(tenants) == 1 else tenant,
        scope=scope,
        settings=settings_content(settings),
        wanted={"approved": []},
        created_by=actor,
        hook_secret=webhooks.new_secret(),
    )
    migration.full_clean()
    migration.save()
    _make_waves(migration, deployments, waves)
    audit.record(actor=actor, verb="drew up", subject=migration, after=migration.settings)
    return migration


SCOPES = ("deployments", "tenant", "resource", "node-pool")


def _scope(deployments: Sequence[Deployment], given: dict[str, Any]) -> dict[str, Any]:
    """The scope as it is kept; raise InvalidValue for one that names nothing."""
    kind = given.get("kind", "deployments")
    if kind not in SCOPES:
        raise InvalidValue(f"One of {', '.join(SCOPES)}.", field="scope.kind")
    if kind == "deployments":
        names = [f"{one.tenant.slug}/{one.name}" for one in deployments]
        field, what = "deployments", "Choose at least one deployment."
    else:
        names = [str(name) for name in given.get("names") or ()]
        field, what = "scope.names", f"Name at least one {kind.replace('-', ' ')}."
    if not names:
        raise InvalidValue(what, field=field)
    return dict(given) | {"kind": kind, "names": names}


def _make_waves(
    migration: Migration, deployments: Sequence[Deployment], waves: Sequence[Sequence[str]]
) -> None:
    order = _ordered(deployments, waves) if waves else [deployments[:1], deployments[1:]]
    for number, wave in enumerate(one for one in order if one):
        row = Wave.objects.create(
            migration=migration, number=number, name="Canary" if not number else f"Wave {number}"
        )
        for deployment in wave:
            _make_workload(migration, row, deployment)


def _ordered(
    deployments: Sequence[Deployment], waves: Sequence[Sequence[str]]
) -> list[list[Deployment]]:
    """The deployments as `waves` names them, by name or by tenant/name."""
    left, order = list(deployments), []
    for wave in waves:
        names = set(wave)
        found = [one for one in left if {one.name, f"{one.tenant.slug}/{one.name}"} & names]
        if len(found) != len(names):
            raise InvalidValue("Waves name each chosen deployment once.", field="waves")
        order.append(found)
        left = [one for one in left if one not in found]
    if left:
        raise InvalidValue(f"No wave names {left[0]}.", field="waves")
    return order


def _make_workload(migration: Migration, wave: Wave, deployment: Deployment) -> None:
    if deployment.cluster_id != migration.cluster_id:
        raise InvalidValue(
            f"{deployment} runs in another cluster; a migration has one.", field="deployments"
        )
    if (held := selectors.open_move_of(deployment)) is not None:
        raise InvalidValue(
            f"{deployment} is moved by {held.migration} already.", field="deployments"
        )
    old = selectors.old_pool_of(deployment)
    row = Workload(
        migration=migration,
        wave=wave,
        deployment=deployment,
        namespace=deployment.namespace,
        name=deployment.name,
        new_pool=NEW_POOL,
    )
    if old is None:
        row.way, row.phase = Workload.Way.NONE, Phase.UNSUPPORTED
        row.finding = "It has no pool on the device-plugin path: there is nothing to move."
    else:
        row.old_pool, row.replicas = old.name, old.replicas
        row.pattern_version, row.params = old.pattern_version, dict(old.params)
    row.full_clean()
    row.save()


def _locked(migration: Migration) -> Migration:
    return Migration.objects.select_for_update(no_key=True).get(pk=migration.pk)


def _wish(
    actor: User | None, migration: Migration, verb: str, reason: str, **changes: Any
) -> Migration:
    """Write wishes, the record and the audit row, and wake the reconciler."""
    before = dict(migration.wanted)
    migration.wanted = before | changes
    migration.generation += 1
    migration.save(update_fields=["wanted", "generation", "updated_at"])
    _record(actor, migration, verb, reason)
    audit.record(
        actor=actor,
        verb=verb,
        subject=migration,
        before={key: before.get(key) for key in changes},
        after=changes,
        message=reason,
    )
    _send(migration)
    return migration


def _record(actor: User | None, migration: Migration, verb: str, reason: str) -> None:
    now = timezone.now()
    Decision.objects.create(
        migration=migration,
        at=now,
        last_at=now,
        actor_name=actor.get_username() if actor else "claimyard",
        action=verb[:40],
        reason=reason or verb,
        stage=migration.stage,
    )


def _send(migration: Migration) -> None:
    from apps.rollouts.tasks import reconcile_migration

    transaction.on_commit(partial(reconcile_migration.delay, migration.pk))


def _open(migration: Migration) -> Migration:
    found = _locked(migration)
    if found.started_at is None:
        raise IllegalTransition(f"{found} has not been started.")
    if found.is_over:
        raise IllegalTransition(f"{found} is over.")
    return found


@transaction.atomic
def start_migration(*, actor: User | None, migration: Migration) -> Migration:
    """Begin with the Inventory; raise what makes that impossible. Nothing is moved by this."""
    found = _locked(migration)
    if found.started_at is not None:
        raise IllegalTransition(f"{found} was started already.")
    settings_from(found.settings)
    for move in found.workloads.exclude(deployment=None).select_related("deployment"):
        assert move.deployment is not None
        held = selectors.open_move_of(move.deployment)
        if held is not None:
            raise IllegalTransition(f"{move.deployment} is moved by {held.migration} already.")
    now = timezone.now()
    found.started_at = found.stage_since = found.state_since = now
    found.state = State.RUNNING.value
    found.save(update_fields=["started_at", "stage_since", "state_since", "state", "updated_at"])
    return _wish(actor, found, "started", "Started.")


@transaction.atomic
def pause_migration(*, actor: User | None, migration: Migration, reason: str = "") -> Migration:
    """No step forward any more; gates are judged on and may still roll back."""
    found = _open(migration)
    _not_going_back(found)
    return _wish(actor, found, "paused", reason, paused=True)


@transaction.atomic
def resume_migration(*, actor: User | None, migration: Migration) -> Migration:
    """End a pause or a freeze."""
    found = _open(migration)
    _not_going_back(found)
    if found.state == State.FROZEN:
        found.state = State.RUNNING.value
        found.save(update_fields=["state", "updated_at"])
    return _wish(actor, found, "resumed", "", paused=False, frozen=False)


@transaction.atomic
def approve_migration(*, actor: User | None, migration: Migration, what: str = "") -> Migration:
    """Agree to what it waits for now, or to `what`: a stage, "step:…", or "accept:…"."""
    found = _open(migration)
    wanted = what or _asked_of(found)
    if not wanted:
        raise IllegalTransition(f"{found} asks for no approval now.")
    approved = sorted({*found.wanted.get("approved", ()), wanted})
    return _wish(actor, found, "approved", wanted, approved=approved)


#: What a wait asks a person to agree to.
_ACCEPTS = {
    "inventory-open": "accept:plan",
    "preflight-open": "accept:preflight",
    "shadow-open": "accept:shadow",
    "shadow-no-data": "accept:shadow",
    "metrics-missing": "accept:metrics",
}


def _asked_of(migration: Migration) -> str:
    if migration.waiting_for == "stage-approval":
        following = list(Stage)[list(Stage).index(Stage(migration.stage)) + 1 :]
        return following[0].value if following else ""
    if migration.waiting_for == "step-approval":
        move = migration.workloads.filter(phase=Phase.WEIGHING).order_by("pk").first()
        return f"step:{move.pk}:{move.step}" if move else ""
    return _ACCEPTS.get(migration.waiting_for, "")


@transaction.atomic
def roll_back_migration(*, actor: User | None, migration: Migration, reason: str = "") -> Migration:
    """Take everything back to the old path. Repeatable."""
    found = _open(migration)
    if found.state == State.ROLLING_BACK:
        return found
    if found.workloads.filter(phase__in=[one.value for one in PAST_RETURN]).exists():
        raise IllegalTransition("The old path is being retired: there is no way back any more.")
    why = reason.strip() or "a person wanted it"
    name = actor.get_username() if actor else "claimyard"
    return _wish(actor, found, "rolls back", why, rollback=f"{name}: {why}")


@transaction.atomic
def freeze_migration(*, actor: User | None, migration: Migration, reason: str = "") -> Migration:
    """Leave weights and pools exactly as they are until somebody decides."""
    found = _open(migration)
    _not_going_back(found)
    return _wish(actor, found, "froze", reason, frozen=True)


@transaction.atomic
def leave_migration(*, actor: User | None, migration: Migration, reason: str = "") -> Migration:
    """End it where it stands: pools and weights stay, the portal does nothing more."""
    found = _open(migration)
    _not_going_back(found)
    return _wish(actor, found, "left", reason, leave=True)


def _not_going_back(migration: Migration) -> None:
    if migration.state == State.ROLLING_BACK:
        raise IllegalTransition(f"{migration} rolls back; that is not interrupted.")


@transaction.atomic
def retire_migration(*, actor: User | None, migration: Migration) -> Migration:
    """Agree to retire the old path. After this there is no way back."""
    found = _open(migration)
    if found.waiting_for != "retire":
        raise IllegalTransition("It does not ask whether to retire the old path now.")
    return _wish(actor, found, "retires the old path of", "", retire=True)


@transaction.atomic
def retry_migration(*, actor: User | None, migration: Migration) -> Migration:
    """After a rollback: from the stage Canary anew. Else: look again at what failed."""
    found = _locked(migration)
    if found.started_at is None or found.state in (State.LEFT, State.DONE):
        raise IllegalTransition(f"{found} cannot be tried again.")
    if found.state == State.ROLLED_BACK:
        _again(found)
        return _wish(actor, found, "retried", "", rollback="", paused=False, frozen=False)
    found.studies.filter(state="failed").delete()
    found.drills.filter(state="failed").update(state="left")
    Delivery.objects.filter(migration=found, state=Delivery.State.GIVEN_UP).update(
        state=Delivery.State.WAITING, attempts=0, next_at=timezone.now(), finished_at=None
    )
    return _wish(actor, found, "retried", "")


def _again(found: Migration) -> None:
    """Back to the beginning of what moves, with every deployment free to move."""
    moves = found.workloads.filter(phase=Phase.BACK).select_related("deployment")
    for move in moves:
        held = selectors.open_move_of(move.deployment) if move.deployment else None
        if held is not None:
            raise IllegalTransition(f"{move.deployment} is moved by {held.migration} now.")
    moves.update(phase=Phase.WAITING, step=0, step_since=None, began_at=None, release="")
    Delivery.objects.filter(migration=found).delete()
    found.ended_at = found.rollback_began_at = found.rollback_ended_at = None
    found.state, found.stage = State.RUNNING.value, Stage.SHADOW.value
    found.studies.filter(kind="shadow").delete()
    found.waiting_for = found.owner = found.reason = found.cause = ""
    found.stage_since = found.state_since = timezone.now()
    found.save()
