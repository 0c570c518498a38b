from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.common import leases
from apps.deployments.models import Deployment, ModelPool
from apps.inventory.models import Cluster, WriteSwitch
from apps.rollouts import acting, services
from apps.rollouts.models import Migration
from apps.rollouts.reconcile import reconcile_migration
from apps.tenancy.models import User
from domain.rollout.actions import Action, Kind
from domain.rollout.words import State
from tests.apps.rollouts.conftest import hear, leave_cluster, serve


def look(migration: Migration, after: int = 0) -> Action:
    """One sweep, so many seconds later."""
    action = reconcile_migration(migration.pk, now=timezone.now() + timedelta(seconds=after))
    assert action is not None
    migration.refresh_from_db()
    return action


def weight_of(deployment: Deployment, pool: str) -> int:
    return ModelPool.objects.get(deployment=deployment, name=pool).weight


def test_capacity_comes_before_any_weight(migration: Migration, chat: Deployment) -> None:
    action = look(migration)
    assert action.waiting_for == "new-capacity"
    assert migration.stage == "canary"
    pool = chat.pools.get(name="dra")
    assert (pool.path, pool.replicas, pool.weight) == ("dra", 2, 0)
    serve(chat, "dra", ready=1)
    assert look(migration).waiting_for == "new-capacity"
    assert weight_of(chat, "dra") == 0


def test_a_ready_pool_warms_up_and_then_gets_the_first_step(
    migration: Migration, chat: Deployment
) -> None:
    look(migration)
    serve(chat, "dra")
    action = look(migration)
    assert (action.waiting_for, weight_of(chat, "dra")) == ("route-applied", 1)
    serve(chat, "dra")
    assert look(migration, after=1).kind is Kind.WAIT
    assert weight_of(chat, "dra") == 50
    assert weight_of(chat, "main") == 50


def test_no_step_is_taken_while_nobody_can_tell_the_share(
    migration: Migration, chat: Deployment
) -> None:
    """No model server is read here: that is a state with a cause, not a share of zero."""
    look(migration)
    for after in (0, 1, 2, 20):
        serve(chat, "dra")
        action = look(migration, after=after)
    assert (migration.state, action.waiting_for) == ("waiting", "measured-share")
    assert "not configured" in action.reason
    assert weight_of(chat, "dra") == 50


def _to_the_first_step(migration: Migration, chat: Deployment) -> None:
    look(migration)
    for after in (0, 1, 2):
        serve(chat, "dra")
        look(migration, after=after)
    assert weight_of(chat, "dra") == 50


def test_one_call_takes_everything_back(
    migration: Migration, chat: Deployment, admin: User
) -> None:
    _to_the_first_step(migration, chat)
    services.roll_back_migration(actor=admin, migration=migration, reason="it is late")
    action = look(migration, after=3)
    assert weight_of(chat, "dra") == 0
    assert (migration.state, action.waiting_for) == ("rolling-back", "route-applied")
    serve(chat, "main")
    assert look(migration, after=20).waiting_for == "measured-share"
    assert chat.pools.filter(name="dra", retiring_at=None).exists()


def test_the_weight_stays_until_the_old_pool_can_take_it(
    migration: Migration, chat: Deployment, admin: User
) -> None:
    _to_the_first_step(migration, chat)
    serve(chat, "main", ready=1)
    services.roll_back_migration(actor=admin, migration=migration)
    assert look(migration, after=3).waiting_for == "old-capacity"
    assert weight_of(chat, "dra") == 50
    serve(chat, "main")
    look(migration, after=4)
    assert weight_of(chat, "dra") == 0


def test_stopped_writes_hold_a_rollback_and_say_so_loudly(
    migration: Migration, chat: Deployment, admin: User
) -> None:
    _to_the_first_step(migration, chat)
    WriteSwitch.objects.update_or_create(pk=1, defaults={"stopped": True, "reason": "an audit"})
    services.roll_back_migration(actor=admin, migration=migration)
    action = look(migration, after=3)
    assert (migration.state, action.waiting_for) == ("rolling-back", "writes-stopped")
    assert "THE ROLLBACK IS HELD" in migration.reason
    assert migration.owner == "platform admin"
    assert weight_of(chat, "dra") == 50


def test_a_cluster_that_is_away_is_waited_for_by_name(
    migration: Migration, chat: Deployment, cluster: Cluster
) -> None:
    _to_the_first_step(migration, chat)
    Cluster.objects.filter(pk=cluster.pk).update(heard_at=timezone.now() - timedelta(hours=1))
    assert look(migration, after=3).waiting_for == "cluster-away"
    hear(chat)
    assert look(migration, after=4).waiting_for != "cluster-away"


def test_only_one_worker_looks_at_a_time(migration: Migration) -> None:
    rows = Migration.objects.filter(pk=migration.pk)
    token = leases.claim(rows, seconds=60)
    assert token is not None
    assert reconcile_migration(migration.pk) is None
    leases.finish(rows, token)
    assert reconcile_migration(migration.pk) is not None


class Killed(BaseException):
    pass


def _die_in(kind: Kind, migration: Migration, monkeypatch: pytest.MonkeyPatch, after: int) -> bool:
    """Look with a worker that is killed at the end of such an action; whether it came to one."""
    held = acting._HANDLERS[kind]

    def act_and_die(*args: Any) -> None:
        held(*args)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setitem(acting._HANDLERS, kind, act_and_die)
        try:
            look(migration, after=after)
        except Killed:
            return True
    return False


@pytest.mark.parametrize(
    "kind", [Kind.ENTER, Kind.ADD_POOL, Kind.ADVANCE, Kind.WEIGH, Kind.ROLL_BACK, Kind.REMOVE_POOL]
)
def test_a_worker_that_dies_is_followed_to_the_same_end(
    migration: Migration,
    chat: Deployment,
    admin: User,
    monkeypatch: pytest.MonkeyPatch,
    kind: Kind,
) -> None:
    """Nothing is half done: an action and the row that says so are one transaction."""
    deaths = 0

    def sweep(after: int) -> None:
        nonlocal deaths
        if _die_in(kind, migration, monkeypatch, after):
            deaths += 1
            look(migration, after=after)

    sweep(0)
    serve(chat, "dra")
    if kind is Kind.WEIGH:
        sweep(1)
        assert weight_of(chat, "dra") == 1
        assert deaths == 1
        return
    services.roll_back_migration(actor=admin, migration=migration)
    sweep(1)
    leave_cluster(chat, "dra")
    sweep(2)
    assert deaths > 0
    assert migration.state == State.ROLLED_BACK
    assert [(pool.name, pool.weight) for pool in chat.pools.all()] == [("main", 100)]


def test_what_a_service_refuses_is_waited_for_with_its_words(
    migration: Migration, chat: Deployment, admin: User
) -> None:
    from apps.quotas import services as quotas

    quotas.set_quotas(actor=admin, tenant=chat.tenant, cluster=chat.cluster, limits={"h100": 3})
    look(migration)
    assert (migration.state, migration.waiting_for) == ("waiting", "refused")
    assert "h100" in migration.reason
    newest = migration.decisions.order_by("-id")[0]
    assert newest.problem
    assert not chat.pools.filter(name="dra").exists()


def test_the_same_wait_is_one_row_that_counts(migration: Migration) -> None:
    look(migration)
    rows = migration.decisions.count()
    look(migration)
    look(migration)
    assert migration.decisions.count() == rows
    assert migration.decisions.order_by("-id")[0].times == 3


def test_a_second_release_judges_the_step_anew(
    migration: Migration, chat: Deployment, admin: User
) -> None:
    _to_the_first_step(migration, chat)
    began = migration.workloads.get().step_since
    Deployment.objects.filter(pk=chat.pk).update(image="docker.io/vllm/vllm-openai:v0.34.0")
    look(migration, after=20)
    since = migration.workloads.get().step_since
    assert isinstance(since, datetime)
    assert began is not None
    assert since > began
    kinds = list(migration.decisions.values_list("action", flat=True))
    assert kinds.count("restart-step") == 1


def test_leaving_ends_it_where_it_stands(
    migration: Migration, chat: Deployment, admin: User
) -> None:
    _to_the_first_step(migration, chat)
    services.leave_migration(actor=admin, migration=migration, reason="by hand from here")
    look(migration, after=3)
    assert migration.state == State.LEFT
    assert migration.ended_at is not None
    assert weight_of(chat, "dra") == 50


def test_after_the_way_back_the_deployment_is_as_it_was(
    migration: Migration, chat: Deployment, admin: User
) -> None:
    """Before any weight was given nothing needs to be confirmed."""
    look(migration)
    services.roll_back_migration(actor=admin, migration=migration)
    serve(chat, "dra", ready=0)
    look(migration, after=1)
    leave_cluster(chat, "dra")
    look(migration, after=2)
    assert migration.state == State.ROLLED_BACK
    assert [pool.name for pool in chat.pools.all()] == ["main"]
    assert weight_of(chat, "main") == 100
