"""Replica after replica of workloads that do not ask by claims yet, put onto what is free now."""

from typing import Any

from domain.errors import InvalidValue
from domain.placement import Features, Fleet, explain
from domain.placement.sequence import Sequencer
from workers.placement.kinds import Deadline, Json, answers, claims
from workers.placement.shown import SHOWN_NODES, funnel_json
from workers.placement.warm import Snapshot

BUDGET_SECONDS = 10.0
MOST_REPLICAS = 5000
MOST_FUNNELS = 20


@answers("rehearse")
def rehearse(snapshot: Snapshot, question: Json) -> Json:
    """{"workloads": [{"key", "claims": [claim, …], "replicas"}]}, placed in this order.

    Each gets how many of its replicas fit beside everything before it, and the funnel of the first
    that does not. `looked_at` is less than `replicas` where the time was over.
    """
    deadline = Deadline(BUDGET_SECONDS)
    wanted = _wanted(question)
    fleet, features = snapshot.fleet, snapshot.features
    run = Sequencer(fleet, features, [fleet.nodes[name] for name in sorted(fleet.nodes)])
    found, left = [], MOST_FUNNELS
    for one in wanted:
        answer = _place(run, one, deadline)
        if answer["fits"] < answer["looked_at"] and left:
            left -= 1
            answer["funnels"] = _funnels(fleet, one["claims"], features)
        found.append(answer)
    return {
        "workloads": found,
        "partial": any(one["looked_at"] < one["replicas"] for one in found),
    }


def _wanted(question: Json) -> list[Json]:
    value = question.get("workloads")
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise InvalidValue("workloads must be a list of objects.", field="workloads")
    found, total = [], 0
    for one in value:
        replicas = one.get("replicas")
        if not isinstance(replicas, int) or replicas < 0:
            raise InvalidValue("replicas must be a whole number.", field="workloads.replicas")
        total += replicas
        found.append({"key": str(one.get("key")), "claims": claims(one), "replicas": replicas})
    if total > MOST_REPLICAS:
        raise InvalidValue(f"{MOST_REPLICAS} replicas at most.", field="workloads")
    return found


def _place(run: Sequencer, one: Json, deadline: Deadline) -> dict[str, Any]:
    fits, looked_at, reason = 0, 0, ""
    nodes: dict[str, int] = {}
    for _ in range(one["replicas"]):
        if deadline.is_over():
            break
        looked_at += 1
        decision = run.add(one["claims"])
        if not decision.fits:
            # The same again does not fit either: nothing is given back on the way.
            looked_at, reason = one["replicas"], decision.reason
            break
        fits += 1
        nodes[decision.node] = nodes.get(decision.node, 0) + 1
    shown = dict(sorted(nodes.items())[:SHOWN_NODES])
    return {
        "key": one["key"],
        "replicas": one["replicas"],
        "fits": fits,
        "looked_at": looked_at,
        "nodes": shown,
        "reason": reason,
    }


def _funnels(fleet: Fleet, asked: list[Json], features: Features) -> list[Json]:
    return [funnel_json(explain(fleet, claim, features)) for claim in asked]
