"""The conditions of a Deployment: Available and Progressing."""

from typing import Any

from simulator.fleet.clock import parsed
from simulator.fleet.controllers.ownership import share_of

type Json = dict[str, Any]


def conditions_of(
    deployment: Json, current: Json | None, status: Json, *, now: str, patience: float
) -> list[Json]:
    """`status` holds the new counts; times stay where a condition did not change."""
    before = {
        item["type"]: item for item in (deployment.get("status") or {}).get("conditions") or []
    }
    kept = dict(before)
    kept["Available"] = _stamped(before.get("Available"), _available(deployment, status), now)
    progress = _progressing(deployment, current, status, before.get("Progressing"), now, patience)
    moved = _moved(deployment, status)
    kept["Progressing"] = _stamped(before.get("Progressing"), progress, now, renew=moved)
    failures = [
        item
        for item in ((current or {}).get("status") or {}).get("conditions") or []
        if item["type"] == "ReplicaFailure"
    ]
    kept.pop("ReplicaFailure", None)
    if failures:
        kept["ReplicaFailure"] = _stamped(before.get("ReplicaFailure"), failures[0], now)
    return list(kept.values())


def _available(deployment: Json, status: Json) -> Json:
    spec = deployment["spec"]
    wanted = int(spec.get("replicas", 1))
    rolling = (spec.get("strategy") or {}).get("rollingUpdate") or {}
    allowed = share_of(rolling.get("maxUnavailable", "25%"), wanted, up=False)
    if (spec.get("strategy") or {}).get("type") == "Recreate":
        allowed = 0
    if status["availableReplicas"] >= wanted - allowed:
        return {
            "type": "Available",
            "status": "True",
            "reason": "MinimumReplicasAvailable",
            "message": "Deployment has minimum availability.",
        }
    return {
        "type": "Available",
        "status": "False",
        "reason": "MinimumReplicasUnavailable",
        "message": "Deployment does not have minimum availability.",
    }


def _progressing(
    deployment: Json,
    current: Json | None,
    status: Json,
    before: Json | None,
    now: str,
    patience: float,
) -> Json:
    name = current["metadata"]["name"] if current else ""
    wanted = int(deployment["spec"].get("replicas", 1))
    condition = {"type": "Progressing", "status": "True"}
    complete = (
        status["updatedReplicas"] == status["availableReplicas"] == status["replicas"] == wanted
    )
    if complete and current:
        return condition | {
            "reason": "NewReplicaSetAvailable",
            "message": f'ReplicaSet "{name}" has successfully progressed.',
        }
    if (
        before is not None
        and before.get("reason") == "NewReplicaSetAvailable"
        and status["replicas"] == status["updatedReplicas"]
    ):
        # Complete once is complete until the template changes, whatever its pods do since.
        return {key: before[key] for key in ("type", "status", "reason", "message")}
    since = before.get("lastUpdateTime", now) if before else now
    known = before is not None and before.get("reason") != "NewReplicaSetAvailable"
    if known and not _moved(deployment, status) and parsed(now) - parsed(since) > patience:
        return {
            "type": "Progressing",
            "status": "False",
            "reason": "ProgressDeadlineExceeded",
            "message": f'ReplicaSet "{name}" has timed out progressing.',
        }
    if (
        before is not None
        and before.get("reason") == "ProgressDeadlineExceeded"
        and not _moved(deployment, status)
    ):
        return {key: before[key] for key in ("type", "status", "reason", "message")}
    return condition | {
        "reason": "ReplicaSetUpdated",
        "message": f'ReplicaSet "{name}" is progressing.',
    }


def _moved(deployment: Json, status: Json) -> bool:
    """More updated or available replicas, or fewer old ones, than the last status told."""
    before = deployment.get("status") or {}
    if before.get("observedGeneration") != status["observedGeneration"]:
        return True
    old_before = before.get("replicas", 0) - before.get("updatedReplicas", 0)
    old_now = status["replicas"] - status["updatedReplicas"]
    return bool(
        status["updatedReplicas"] > before.get("updatedReplicas", 0)
        or status["availableReplicas"] > before.get("availableReplicas", 0)
        or old_now < old_before
    )


def _stamped(before: Json | None, condition: Json, now: str, *, renew: bool = False) -> Json:
    same = before is not None and before.get("status") == condition["status"]
    equal = same and before is not None and before.get("reason") == condition.get("reason")
    kept = before if before is not None else {}
    return condition | {
        "lastTransitionTime": kept.get("lastTransitionTime", now) if same else now,
        "lastUpdateTime": kept.get("lastUpdateTime", now) if equal and not renew else now,
    }
