"""Failures that only one of the parts tells of: gates have to see them all the same."""

from datetime import datetime
from typing import Any

import pytest
from django.utils import timezone

from apps.rollouts import figures
from apps.telemetry.scopes import Scope
from domain.rollout.words import State
from tests.datapath.conftest import MODEL, Carried
from tests.datapath.kubelet import until
from tests.datapath.test_migrations import ended, started, swept, told, weight

pytestmark = [pytest.mark.cluster, pytest.mark.django_db(transaction=True)]
BAD = 'envoy_cluster_upstream_rq_xx{part="pool",envoy_response_code_class="5"}'


def failed(path: Carried, pool: str, since: datetime) -> Any:
    scope = Scope.of_pool(path.pool(pool))
    window = (path.deployment.cluster, "errors", scope, since, timezone.now())
    return figures.measure(*window, statistic="ratio")


def test_streams_that_break_are_failures_though_the_gateway_counts_them_as_fine(
    path: Carried,
) -> None:
    path.weights(main=50, dra=50)
    path.rig.kubelet.fault("dra", cut_rate=0.5)
    path.sent(100)
    began = timezone.now()
    path.sent(300)
    mine = f'{BAD[:-1]},namespace="{path.namespace}"}}'
    by_gateway = path.rig.query(f"sum by (pool) ({mine})")
    assert by_gateway.get(f"{MODEL}-dra", 0.0) == 0.0
    found = until(
        lambda: (one := failed(path, "dra", began)).usable and (one.value or 0) > 0 and one,
        why=lambda: failed(path, "dra", began),
    )
    assert found and found.value is not None and 0.3 < found.value < 0.7, found
    assert (failed(path, "main", began).value or 0) == 0


def test_a_pool_whose_picker_dies_is_taken_back_by_the_gateways_attempts(
    single: Carried, admin: Any
) -> None:
    """Nobody but the gateway has heard of the requests that it could not place."""
    single.sent(40)
    migration = started(single, admin)
    with single.rig.trickle(single.host, MODEL, 40):
        until(
            lambda: swept(single, migration) and weight(single, "dra") >= 30,
            240,
            lambda: told(migration),
        )
        single.rig.kubelet.kill_picker("dra")
        found = ended(single, migration)
    assert found.state == State.ROLLED_BACK
    assert weight(single, "main") == 100 and weight(single, "dra") == 0
    judged = found.samples.filter(verdict="fail").order_by("-id")[0]
    assert "no server had one" in judged.candidate["detail"]
