"""What gates judge, from pages of model servers as they were kept."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.deployments.models import Deployment, ModelPool
from apps.deployments.routing import BY_GATEWAY, BY_SERVERS
from apps.inventory.models import Cluster
from apps.rollouts import figures, sampling, shares
from apps.rollouts.models import GateSample, Migration
from apps.rollouts.reconcile import reconcile_migration
from apps.telemetry.scopes import Scope
from domain import metrics
from domain.figures import Figure, State
from domain.gates import METRICS
from domain.metrics import CATALOGUE, Kind
from domain.rollout.settings import settings_from
from tests.apps.telemetry.conftest import fill, make_track

PAGE = """
http_requests_total{{handler="/v1/completions",method="POST",status="200"}} {answered}
http_requests_total{{handler="/v1/completions",method="POST",status="500"}} {refused}
vllm:request_success_total{{finished_reason="stop"}} {whole}
vllm:request_success_total{{finished_reason="error"}} {broken}
vllm:num_requests_running {running}
"""


def served(
    cluster: Cluster,
    *,
    answered: float = 0,
    refused: float = 0,
    broken: float = 0,
    running: float = 0,
    now: datetime,
) -> None:
    """A server of the pool dra that does so much in each of twenty steps of fifteen seconds."""
    track = make_track(cluster, "dra-0", first=now, deployment="chat", pool="dra")

    def page(step: int) -> metrics.Reading:
        return metrics.read(
            PAGE.format(
                answered=answered * step,
                refused=refused * step,
                whole=(answered - broken) * step,
                broken=broken * step,
                running=running,
            )
        )

    fill(track, now, make=page)


@pytest.mark.parametrize(
    ("did", "share"),
    [
        ({"answered": 98, "refused": 2}, 0.02),
        ({"answered": 0.98, "refused": 0.02}, 0.02),  # however many there are
        ({"answered": 100, "broken": 20}, 0.2),  # cut streams were answered 200
        ({"answered": 100}, 0.0),
    ],
)
def test_errors_are_a_share_of_the_requests(
    did: dict[str, float], share: float, cluster: Cluster
) -> None:
    now = timezone.now()
    served(cluster, **did, now=now)
    scope = Scope(tenant="vision", deployment="chat", pool="dra")
    window = (cluster, "errors", scope, now - timedelta(minutes=2), now)
    found = figures.measure(*window, statistic="ratio")
    assert found.state is State.LIVE
    assert found.value == pytest.approx(share)


def test_a_ratio_is_asked_of_ratios_only() -> None:
    """A counter's figure is a rate, which no share can be compared with."""
    for name, known in METRICS.items():
        if "ratio" in known.statistics and name != figures.ERRORS:
            assert CATALOGUE[name].kind in (Kind.RATIO, Kind.ROWS), name


@pytest.fixture
def weighing(migration: Migration, chat: Deployment) -> Migration:
    """At 30 % since two minutes."""
    reconcile_migration(migration.pk)
    since = timezone.now() - timedelta(minutes=2)
    migration.workloads.update(phase="weighing", step_since=since)
    ModelPool.objects.filter(deployment=chat, name="dra").update(weight=30)
    return migration


def sampled(migration: Migration, now: datetime) -> GateSample:
    move = migration.workloads.select_related("deployment").get()
    assert move.deployment is not None
    pools = {pool.name: pool for pool in move.deployment.pools.all()}
    settings = settings_from(migration.settings | {"gates": [GATE]})
    assert sampling.take(migration, settings, move, pools, now) == 1
    return migration.samples.get()


GATE = {"name": "errors", "metric": "errors", "at_most": 0.01, "window_seconds": 60}


@pytest.mark.parametrize(
    ("who", "sent", "running", "verdict"),
    [
        (BY_GATEWAY, 60, 0, "fail"),  # the picker is dead: everything was refused
        (BY_GATEWAY, 60, 3, "no-data"),  # long answers, none of which has ended yet
        (BY_GATEWAY, 20, 0, "no-data"),  # too few to say
        (BY_SERVERS, 60, 0, "no-data"),  # who counts what has ended cannot know of it
    ],
)
def test_what_the_gateway_sent_and_no_server_had_has_failed(
    who: str,
    sent: int,
    running: float,
    verdict: str,
    weighing: Migration,
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = timezone.now()
    served(cluster, running=running, now=now)
    seen = Figure(0.3, State.LIVE, f"{who}.", known=sent, total=200)

    def share_of(*_: Any) -> shares.Share:
        return shares.Share(seen, 200)

    monkeypatch.setattr(sampling, "share_of", share_of)
    sample = sampled(weighing, now)
    assert (sample.verdict, sample.reason) == (verdict, sample.reason)
    if verdict == "fail":
        assert (sample.candidate["value"], sample.candidate["requests"]) == (1.0, 60)
        assert "no server had one" in sample.candidate["detail"]
