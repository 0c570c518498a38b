"""Why something in the cluster waits: every node's reason, every filter, and what would help."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from domain.errors import InvalidValue
from domain.placement import Features, Fleet
from domain.placement.fixes import nearest_fixes
from domain.placement.trials import Wanted, wanted_by
from workers.placement.answers import check_claims, check_pod
from workers.placement.kinds import Deadline, Json, answers, candidates, may_end, text
from workers.placement.layers import layers_json
from workers.placement.shown import fixes_json
from workers.placement.warm import Snapshot

MOVES_NOT = "whether pods that start anew elsewhere find cpu and memory there"


@answers("why")
def why(snapshot: Snapshot, question: Json) -> Json:
    """For a pod, or for a claim that no pod was found for: {"namespace", "pod"} or {…, "claim"}."""
    deadline = Deadline()
    namespace = text(question, "namespace")
    if "pod" in question:
        subject = {"kind": "Pod", "namespace": namespace, "name": text(question, "pod")}
        answer, wanted = _why_pod(snapshot, subject, deadline)
    else:
        subject = {"kind": "ResourceClaim", "namespace": namespace, "name": text(question, "claim")}
        answer, wanted = _why_claim(snapshot, subject, deadline)
    answer["subject"] = subject
    raw = snapshot.fleet.pods.get((namespace, subject["name"])) if "pod" in question else None
    seen = wanted if raw is None else replace(wanted, pod=raw.raw)
    answer["layers"] = layers_json(snapshot, subject, seen, answer)
    if answer["outcome"] == "no":
        found = nearest_fixes(
            snapshot.fleet,
            wanted,
            snapshot.features,
            candidates=candidates(question),
            may_end=may_end(question),
            is_over=deadline.is_over,
        )
        answer["fixes"] = fixes_json(found)
        if any(fix.kind == "move" for fix in found.found):
            answer["considered_not"] = [*answer["considered_not"], MOVES_NOT]
    return answer


def _why_pod(
    snapshot: Snapshot, subject: Mapping[str, str], deadline: Deadline
) -> tuple[Json, Wanted]:
    pod = snapshot.fleet.pods.get((subject["namespace"], subject["name"]))
    if pod is None:
        raise InvalidValue(
            f"There is no pod {subject['namespace']}/{subject['name']} in"
            f" {snapshot.cluster.name} any more.",
            field="pod",
        )
    raw: Json = dict(pod.raw)
    wanted = wanted_by(snapshot.fleet, raw)
    if pod.node_name or pod.is_over:
        said = f"It runs on {pod.node_name}." if not pod.is_over else "It has ended."
        return _settled(said, pod.node_name), wanted
    return check_pod(snapshot.fleet, raw, snapshot.features, deadline), wanted


def _why_claim(
    snapshot: Snapshot, subject: Mapping[str, str], deadline: Deadline
) -> tuple[Json, Wanted]:
    held = snapshot.fleet.claims.get((subject["namespace"], subject["name"]))
    if held is None:
        raise InvalidValue(
            f"There is no claim {subject['namespace']}/{subject['name']} in"
            f" {snapshot.cluster.name} any more.",
            field="claim",
        )
    wanted = Wanted((held.raw,))
    if held.is_allocated:
        return _settled("It has its devices.", ""), wanted
    return _claims(snapshot.fleet, wanted, snapshot.features, deadline), wanted


def _claims(fleet: Fleet, wanted: Wanted, features: Features, deadline: Deadline) -> Json:
    answer = check_claims(fleet, list(wanted.claims), features, deadline)
    answer["considered_not"] = [
        *answer["considered_not"],
        "the pod that will use it: its node selector, tolerations, cpu and memory",
    ]
    return answer


def _settled(message: str, node: str) -> Json:
    found: dict[str, Any] = {"fits": True, "outcome": "settled", "message": message}
    return found | {"nodes": [node] if node else [], "considered_not": []}
