"""How soon a breach becomes a weight, and how many decisions a core makes.

`gates.breach_to_weight` begins when the deciding sample is stored and ends when the old pool has
its weight back in the rows, in the middle of a sweep over the other migrations. The look that takes
a sample decides on it too, so no queue lies between; a whole pause of the sweep is counted in all
the same, for a worker that dies in between.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from bench import sync
from bench.figures import Figure, measures

MIGRATIONS = tuple(
    int(word) for word in os.environ.get("BENCH_GATES_MIGRATIONS", "1,200").split(",")
)
SWEEP_SECONDS = 5.0
DECISIONS = 5000


@measures("gates.decide")
def deciding() -> Iterator[Figure]:
    """One decision on three moves in the middle of a canary, with nine gates each."""
    from domain.rollout.deciding import decide
    from domain.rollout.seen import Plan
    from domain.rollout.settings import Settings

    plan, now = Plan(Settings()), datetime.now(UTC)
    seen = _in_the_middle(now)
    samples = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(DECISIONS):
            decide(plan, seen, now)
        samples.append(DECISIONS / (time.perf_counter() - began))
    yield Figure("gates.decide", "decisions/s", samples)


def _in_the_middle(now: datetime) -> Any:
    from domain.figures import Figure as Measured
    from domain.figures import State as Known
    from domain.gates import Standing, Verdict
    from domain.rollout.seen import MoveSeen, PoolSeen, Seen
    from domain.rollout.settings import Settings
    from domain.rollout.words import Phase, Stage, State

    standings = tuple(
        Standing(gate.name, Verdict.PASS, True, False, "fine") for gate in Settings().gates
    )
    moves = tuple(
        MoveSeen(
            key=str(number),
            name=f"model-{number}",
            phase=Phase.WEIGHING,
            replicas=4,
            old=PoolSeen(True, 4, 4, 75, settled=True),
            new=PoolSeen(True, 4, 4, 25, settled=True),
            step=1,
            step_since=now,
            share=Measured(0.25, Known.LIVE),
            wished=0.25,
            requests=1000,
            standings=standings,
        )
        for number in range(3)
    )
    return Seen(stage=Stage.CANARY, state=State.RUNNING, moves=moves)


@measures("gates.breach_to_weight")
def breaching() -> Iterator[Figure]:
    """In a child, which has a database of its own."""
    with tempfile.TemporaryDirectory(prefix="claimyard-bench-") as folder:
        run = subprocess.run(
            [sys.executable, "-m", "bench.gates", folder], stdout=subprocess.PIPE, check=True
        )
    for line in run.stdout.splitlines():
        yield Figure(**orjson.loads(line))


def figures(folder: Path) -> Iterator[dict[str, Any]]:
    from embedded import postgres

    with postgres.running(folder / "postgres", fast=True) as url:
        sync.setup(url)
        for count in MIGRATIONS:
            samples = [SWEEP_SECONDS + _seconds(count) for _ in range(3 if count == 1 else 1)]
            yield {
                "name": "gates.breach_to_weight",
                "unit": "s",
                "samples": samples,
                "cell": "alone" if count == 1 else f"{count} under way",
            }


def _seconds(count: int) -> float:
    """Seconds from the deciding sample to the weight, after a look at each of the others."""
    from apps.deployments.models import ModelPool
    from apps.rollouts.models import GateSample
    from apps.rollouts.reconcile import reconcile_migration

    moves = _under_way(count)
    last = moves[-1]
    for move in moves[:-1]:
        reconcile_migration(move.migration_id)
    now = datetime.now(UTC)
    GateSample.objects.bulk_create(_failed(last, now - timedelta(seconds=n)) for n in (30, 15, 0))
    began = time.perf_counter()
    reconcile_migration(last.migration_id)
    seconds = time.perf_counter() - began
    weight = ModelPool.objects.get(deployment=last.deployment, name=last.new_pool).weight
    if weight != 0:
        raise RuntimeError(f"the weight is still {weight}: {last.migration}")
    return seconds


def _failed(move: Any, at: datetime) -> Any:
    from apps.rollouts.models import GateSample

    return GateSample(
        migration=move.migration,
        workload=move,
        gate="errors",
        stage="canary",
        weight=50,
        at=at,
        start=at - timedelta(seconds=60),
        end=at,
        verdict="fail",
        reason="all servers together: 0.2 is above 0.01",
    )


def _under_way(count: int) -> list[Any]:
    """So many migrations in the middle of their canary, each with both pools ready."""
    from apps.rollouts import services
    from apps.rollouts.models import Migration, Workload

    cluster, deployments = _deployments(count)
    Migration.objects.filter(ended_at=None).update(ended_at=datetime.now(UTC), state="left")
    found = []
    for row in deployments:
        migration = services.create_migration(
            actor=None,
            name=f"m{row.pk}-{time.monotonic_ns() % 10**9}",
            cluster=cluster,
            deployments=[row],
            content={"approvals": []},
        )
        services.start_migration(actor=None, migration=migration)
        for kind in ("plan", "preflight", "shadow"):
            migration.studies.create(kind=kind, state="done", body={"blockers": 0})
        Migration.objects.filter(pk=migration.pk).update(stage="canary")
        move = migration.workloads.get()
        _halfway(move)
        found.append(Workload.objects.select_related("migration", "deployment").get(pk=move.pk))
    return found


def _halfway(move: Any) -> None:
    from apps.deployments.models import Deployment, ModelPool
    from apps.inventory.models import Cluster
    from apps.rollouts.gathering import release_of

    before = datetime.now(UTC) - timedelta(seconds=50)
    deployment = move.deployment
    pods = [{"name": f"p{number}", "state": "Ready"} for number in range(2)]
    old = deployment.pools.get(name=move.old_pool)
    old.weight, old.pods = 50, pods
    old.save()
    ModelPool.objects.update_or_create(
        deployment=deployment,
        name=move.new_pool,
        defaults={
            "path": "dra",
            "pattern_version": old.pattern_version,
            "params": old.params,
            "charge": old.charge,
            "replicas": 2,
            "weight": 50,
            "pods": pods,
            "retiring_at": None,
        },
    )
    applied = {"type": "Applied", "status": "True", "reason": "Applied", "message": ""}
    row = Deployment.objects.get(pk=deployment.pk)
    Deployment.objects.filter(pk=row.pk).update(
        observed_generation=row.generation, conditions=[applied]
    )
    Cluster.objects.filter(pk=row.cluster_id).update(heard_at=datetime.now(UTC))
    move.phase, move.step, move.release = "weighing", 2, release_of(deployment)
    move.began_at = move.phase_since = move.step_since = before
    move.save()


def _deployments(count: int) -> tuple[Any, list[Any]]:
    """A tenant with so many deployments of two servers on the device-plugin path."""
    from apps.catalog.models import ClaimPattern, PatternVersion
    from apps.deployments.models import Deployment, ModelPool
    from apps.inventory.models import Cluster
    from apps.tenancy.models import Tenant, User

    user, _ = User.objects.get_or_create(username="bench")
    cluster, _ = Cluster.objects.get_or_create(
        slug="bench",
        defaults={"name": "Bench", "server": "https://127.0.0.1:1", "mode": "manage"},
    )
    tenant, _ = Tenant.objects.get_or_create(slug="bench", defaults={"name": "Bench"})
    pattern, _ = ClaimPattern.objects.get_or_create(slug="cards", defaults={"name": "Cards"})
    content = {
        "requests": [{"name": "gpus", "device_class": "h100", "count": 1}],
        "device_plugin": {"resource": "nvidia.com/gpu"},
    }
    version, _ = PatternVersion.objects.get_or_create(
        pattern=pattern,
        number=1,
        defaults={
            "content": content,
            "content_hash": "bench",
            "author": user,
            "state": "approved",
        },
    )
    rows = []
    for number in range(count):
        row, made = Deployment.objects.get_or_create(
            tenant=tenant,
            name=f"model-{number}",
            defaults={"cluster": cluster, "namespace": "bench", "image": "vllm"},
        )
        if made:
            ModelPool.objects.create(
                deployment=row,
                path="device-plugin",
                pattern_version=version,
                replicas=2,
                charge={"h100": 1},
            )
        rows.append(row)
    return cluster, rows


if __name__ == "__main__":
    for one in figures(Path(sys.argv[1])):
        sys.stdout.buffer.write(orjson.dumps(one) + b"\n")
        sys.stdout.flush()
