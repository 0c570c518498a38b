"""A worker whose processes are killed with SIGKILL where a test says: `mortal.py`.

Each line of its input is a JSON object: {"do": "look" | "apply", "key": row, "dies": where,
"nth": of the writes, "now": ISO time, "errors": share of requests of the new pool that fail}. Each
is done by a process forked for it; the answer is one line, the number of the signal that ended it,
or 0.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def after(inner: Callable[..., Any], when: Callable[..., bool]) -> Callable[..., Any]:
    def outer(*arguments: Any, **named: Any) -> Any:
        found = inner(*arguments, **named)
        if when(*arguments):
            die()
        return found

    return outer


def measured(errors: float) -> None:
    """Requests follow the weights, and so many of those to the new pool fail."""
    from apps.rollouts import sampling, shares
    from apps.telemetry import measure
    from domain.figures import Figure, State

    def share_of(deployment: Any, pool: Any, start: datetime, end: datetime) -> Any:
        wished = shares.wished_of(deployment, pool)
        return shares.Share(Figure(wished, State.LIVE, total=1000), 1000) if end > start else None

    vars(shares).update(share_of=share_of)
    vars(sampling).update(share_of=share_of)
    vars(measure).update(
        measure=lambda *_, **__: Figure(errors, State.LIVE),
        requests=lambda *_, **__: Figure(1000.0, State.LIVE),
        per_pod=lambda *_, **__: {},
    )


def look(asked: dict[str, Any]) -> None:
    from apps.rollouts import acting, reconcile
    from domain.rollout.actions import Kind

    measured(asked["errors"])

    def acts(_migration: Any, _gathered: Any, action: Any, *_: Any) -> bool:
        return action.kind not in (Kind.WAIT, Kind.NOTHING)

    if asked["dies"] == "looked":  # samples are taken, nothing is decided
        reconcile._look = after(reconcile._look, lambda *_: True)
    elif asked["dies"] == "acting":  # pools and rows are changed, nothing is committed
        acting.record = after(acting.record, lambda _, action, *__: acts(0, 0, action))
    elif asked["dies"] == "acted":  # all is committed, nobody knows
        vars(reconcile).update(carry_out=after(acting.carry_out, acts))
    now = datetime.fromisoformat(asked["now"])
    reconcile.reconcile_migration(asked["key"], now=now)


def apply(asked: dict[str, Any]) -> None:
    from apps.common import leases
    from apps.deployments import reconcile, surge
    from kube.api import ApiCluster

    surge.WAIT_MS = 0  # no placement worker is there to answer

    if asked["dies"] == "writing":  # the cluster has some of the objects
        writes = iter(range(1, 1000))
        for name in ("apply", "delete", "patch_json"):
            inner = getattr(ApiCluster, name)
            setattr(ApiCluster, name, after(inner, lambda *_: next(writes) == asked["nth"]))
    elif asked["dies"] == "written":  # the cluster has all of them, the rows say nothing of it
        vars(reconcile).update(leases=SimpleNamespace(claim=leases.claim, finish=die))
    reconcile.reconcile_deployment(asked["key"])


def done_by_a_child(asked: dict[str, Any]) -> int:
    child = os.fork()
    if not child:
        {"look": look, "apply": apply}[asked["do"]](asked)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WEXITSTATUS(status):
        raise SystemExit(1)  # it failed before it could be killed, and has said why
    return os.WTERMSIG(status)


if __name__ == "__main__":
    import django

    django.setup()
    import apps.deployments.reconcile
    import apps.rollouts.reconcile  # noqa: F401 - so that no child has to

    for line in sys.stdin:
        sys.stdout.write(f"{done_by_a_child(json.loads(line))}\n")
        sys.stdout.flush()
