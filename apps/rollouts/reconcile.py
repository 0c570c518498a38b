"""One look at a migration: its studies, samples, decision, and what follows from it."""

from datetime import datetime

import structlog
from django.utils import timezone

from apps.common import leases
from apps.rollouts import conversion, looks, sampling
from apps.rollouts.acting import carry_out
from apps.rollouts.gathering import gather, plan_of
from apps.rollouts.models import Migration
from apps.rollouts.selectors import moves_of, under_way
from domain.rollout.actions import Action, Kind
from domain.rollout.deciding import decide

LEASE_SECONDS = 60
#: Of one look; the next sweep goes on.
MOST_ACTIONS = 40
_RESTS = frozenset({Kind.WAIT, Kind.NOTHING, Kind.END})

log = structlog.get_logger(__name__)


def reconcile_migration(migration_id: int, *, now: datetime | None = None) -> Action | None:
    """Look, decide and act until something must be waited for; the last action.

    Safe to run twice, late, or never. None: somebody else looks at it, or it is over. `now` is for
    those who tell the time themselves.
    """
    rows = under_way().filter(pk=migration_id)
    token = leases.claim(rows, seconds=LEASE_SECONDS)
    if token is None:
        return None
    try:
        return _run(migration_id, now)
    finally:
        held = Migration.objects.filter(pk=migration_id)
        leases.finish(held, token, decided_at=now or timezone.now())


def _run(migration_id: int, told: datetime | None) -> Action | None:
    action = None
    for turn in range(MOST_ACTIONS):
        now = told or timezone.now()
        migration = Migration.objects.select_related("cluster", "tenant").get(pk=migration_id)
        if turn == 0:
            _look(migration, now)
        gathered = gather(migration, now, conversion=conversion.advance(migration, now))
        action = decide(gathered.plan, gathered.seen, now)
        done = carry_out(migration, gathered, action, now)
        if action.kind is not Kind.WAIT:
            log.info("migration", name=migration.name, action=action.kind, reason=action.reason)
        if not done or action.kind in _RESTS:
            break
    if action is not None and action.kind is Kind.END:
        looks.report(Migration.objects.get(pk=migration_id))
    return action


def _look(migration: Migration, now: datetime) -> None:
    """Take what is due: the stage's study, and a sample of every gate that is judged now."""
    try:
        looks.advance(migration)
    except Exception:
        # The stage waits for its study; gates and the way back do not.
        log.exception("stage not looked at", name=migration.name)
    settings = plan_of(migration, now).settings
    for move in moves_of(migration):
        if move.deployment is None:
            continue
        pools = {pool.name: pool for pool in move.deployment.pools.all()}
        for pool in pools.values():
            pool.deployment = move.deployment
        sampling.take(migration, settings, move, pools, now)
