"""A move from the device plugin to claims under real requests: it passes, or takes itself back."""

from typing import Any

import pytest
from django.utils import timezone

from apps.deployments.observe import observe_cluster
from apps.deployments.reconcile import reconcile_deployment
from apps.inventory.models import Cluster
from apps.rollouts import services
from apps.rollouts.models import Migration
from apps.rollouts.reconcile import reconcile_migration
from domain.rollout.words import State
from tests.datapath.conftest import MODEL, Carried
from tests.datapath.kubelet import until

pytestmark = [pytest.mark.cluster, pytest.mark.django_db(transaction=True)]
ERRORS = {
    "name": "errors",
    "metric": "errors",
    "at_most": 0.05,
    "window_seconds": 10,
    "min_requests": 20,
    "passes": 1,
    "failures": 0,
    "failures_in_row": 0,
    "worst_pod": False,
}
SETTINGS: dict[str, Any] = {
    "steps": [{"weight": 30, "hold_seconds": 0}, {"weight": 100, "hold_seconds": 0}],
    "interval_seconds": 5,
    "warm_seconds": 0,
    "drain_seconds": 0,
    "approvals": [],
    "drill": False,
    "gates": [ERRORS],
}
ENDS = (State.DONE, State.ROLLED_BACK, State.FAILED, State.LEFT)


def started(path: Carried, admin: Any, **gate: Any) -> Migration:
    """What comes before the canary has been looked at."""
    cluster = Cluster.objects.get(pk=path.deployment.cluster_id)
    content = SETTINGS | {"gates": [ERRORS | gate]}
    found = services.create_migration(
        actor=admin, name="to-claims", cluster=cluster, deployments=[path.row()], content=content
    )
    found.wanted = {"approved": ["accept:metrics"]}
    found.save(update_fields=["wanted"])
    for kind in ("plan", "preflight", "shadow"):
        found.studies.create(kind=kind, state="done", body={"blockers": 0, "summary": "fine"})
    return services.start_migration(actor=admin, migration=found)


def swept(path: Carried, migration: Migration) -> Migration:
    """What worker and sweeps do, once."""
    path.rig.check()
    reconcile_migration(migration.pk)
    reconcile_deployment(path.deployment.pk)
    observe_cluster(path.deployment.cluster)
    return Migration.objects.get(pk=migration.pk)


def told(migration: Migration) -> object:
    row = Migration.objects.get(pk=migration.pk)
    last = [(one.action, one.reason) for one in row.decisions.order_by("-id")[:5]]
    samples = [(one.verdict, one.reason) for one in row.samples.order_by("-id")[:3]]
    return row.state, row.waiting_for, row.reason, last, samples


def weight(path: Carried, pool: str) -> int:
    found = path.row().pools.filter(name=pool).first()
    return found.weight if found else 0


def ended(path: Carried, migration: Migration, seconds: float = 240) -> Migration:
    def at_an_end() -> Migration | None:
        found = swept(path, migration)
        return found if found.state in ENDS else None

    found = until(at_an_end, seconds, lambda: told(migration))
    assert found
    return found


def test_a_pool_as_good_as_the_old_one_gets_everything(single: Carried, admin: Any) -> None:
    single.sent(40)
    migration = started(single, admin)
    with single.rig.trickle(single.host, MODEL, 40):
        until(
            lambda: swept(single, migration) and weight(single, "dra") == 100,
            240,
            lambda: told(migration),
        )
        until(lambda: (single.counts().get("dra") or 0) > 100)
    assert weight(single, "main") == 0


def test_a_pool_that_fails_requests_is_taken_back_by_itself(single: Carried, admin: Any) -> None:
    single.sent(40)
    migration = started(single, admin)
    with single.rig.trickle(single.host, MODEL, 40):
        until(
            lambda: swept(single, migration) and weight(single, "dra") >= 30,
            240,
            lambda: told(migration),
        )
        single.rig.kubelet.fault("dra", error_rate=0.4)
        found = ended(single, migration)
    assert found.state == State.ROLLED_BACK
    assert weight(single, "main") == 100 and weight(single, "dra") == 0
    assert found.samples.filter(verdict="fail").exists()


def test_silence_of_the_new_pool_never_passes_and_ends_in_rollback(
    single: Carried, admin: Any
) -> None:
    single.sent(40)
    single.rig.kubelet.defaults = {"no_metrics": True}
    migration = started(single, admin, no_data_seconds=15)
    with single.rig.trickle(single.host, MODEL, 40):
        began = timezone.now()
        found = ended(single, migration)
    assert found.state == State.ROLLED_BACK, (found.state, began)
    assert not found.samples.filter(verdict="pass").exists()
    assert weight(single, "main") == 100
